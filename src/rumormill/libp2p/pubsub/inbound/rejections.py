"""What rejected messages cost their sender where no router keeps a score: its connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Allowance
from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.wire.message import WireMessage

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.router import PubsubServices

REJECTIONS_RATE = 1.0
"""Rejected messages a second that cost a peer nothing: even an honest one passes some on."""


class RejectionLimit(Part):
    """Drops a peer after more than ``max_rejections`` rejected messages at once."""

    def __init__(self, pubsub: PubsubServices) -> None:
        self._pubsub = pubsub
        self._most = pubsub.parameters.max_rejections
        self._allowances: dict[Peer, Allowance] = {}
        """Of peers that have sent such: how many more they may."""

    def rejected(
        self,
        message: WireMessage,
        source: Peer,
        holders: Mapping[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """Count it; one too many ends the connection."""
        allowance = self._allowances.get(source)
        if allowance is None:
            allowance = self._allowances[source] = Allowance(REJECTIONS_RATE, self._most)
        if not allowance.take(1, now):
            detail = f"more than {self._most} rejected messages, last: {reason}"
            self._pubsub.punish(source, RemoteProtocolError("too_many_rejections", detail))

    def remove_peer(self, peer: Peer, now: float) -> None:
        """Forget what the peer had left."""
        self._allowances.pop(peer, None)

    def sizes(self) -> dict[str, int]:
        """Of how many peers there were rejections."""
        return {"rejections": len(self._allowances)}
