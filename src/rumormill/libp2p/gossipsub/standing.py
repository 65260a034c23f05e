"""What a peer's conduct is worth: the question that mesh, gossip and gate ask before they trust it.

gossipsub 1.0 knows no difference between peers, and neither does :class:`Standing` itself: every
peer stands at 0. A score derives from it and overrides :meth:`~Standing.of`; whoever notices good
or bad conduct tells it, whether or not anybody keeps count.
"""

from __future__ import annotations

from dataclasses import dataclass

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart


@dataclass(frozen=True, slots=True)
class Thresholds:
    """From which score on a peer is treated how; each is at or below the one before it.

    >>> Thresholds().graylist
    -80.0
    """

    gossip: float = -10.0
    """Below this, a peer is told of no messages, and what it tells is not believed."""
    publish: float = -50.0
    """Below this, it does not get our own messages by flooding or fanout."""
    graylist: float = -80.0
    """Below this, nothing of it is read."""
    accept_exchange: float = 0.0
    """From this on, we dial the peers that it names when it prunes us."""
    opportunistic_graft: float = 0.0
    """If the median of a mesh is below this, better peers are taken in."""


class Standing(HeartbeatPart):
    """Everybody is worth the same: what a router without a score has."""

    thresholds: Thresholds = Thresholds()

    def of(self, peer: Peer) -> float:
        """The peer's score now. Cheap: asked for several times a heartbeat and peer."""
        return 0.0

    def penalise(self, peer: Peer, reason: str, count: int = 1) -> None:
        """The peer broke a rule that is no matter of messages: P7 of the specification."""

    def grafted(self, peer: Peer, topic: str, now: float) -> None:
        """The peer came into our mesh of the topic."""

    def pruned(self, peer: Peer, topic: str, now: float) -> None:
        """The peer left our mesh of the topic, for whatever reason."""

    def slow(self, peer: Peer, lost: int) -> None:
        """So many messages were lost because the peer takes less than it is sent."""
