"""Slow peers: who takes less than it is sent, told once a heartbeat."""

from __future__ import annotations

from rumormill.core import trace
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices


class SlowPeers(HeartbeatPart):
    """Tells the score and the user of peers whose queue has lost something."""

    def __init__(self, pubsub: PubsubServices, standing: Standing) -> None:
        self._pubsub = pubsub
        self._standing = standing

    def heartbeat(self, now: float) -> None:
        """Each loss was traced when it happened; this sums them up, peer by peer."""
        for peer, lost in self._pubsub.outbox.take_losses().items():
            self._standing.slow(peer, lost)
            self._pubsub.emit(trace.SLOW_PEER, peer=peer, lost=lost)
