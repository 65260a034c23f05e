"""Messages that are not delivered, and why: who pays, what is traced, who is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.inbound import prices
from rumormill.libp2p.wire.message import WireMessage

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub

REMEDIES = dict.fromkeys(
    ("unexpected_author", "unexpected_sequence"),
    "unsigned_authors=true takes messages that name an author without proof",
)
"""What a user may do who wants messages that are rejected for this reason."""


class Unwanted:
    """Sees to messages that are rejected, ignored or dropped.

    ``holders`` are all that have sent the very bytes of the message.
    """

    __slots__ = ("_pubsub", "_tell_ignored", "_tell_rejected")

    def __init__(self, pubsub: Pubsub) -> None:
        self._pubsub = pubsub
        self._tell_rejected = pubsub.listeners.rejected
        self._tell_ignored = pubsub.listeners.ignored

    def reject(
        self,
        message: WireMessage,
        source: Peer,
        holders: dict[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """Not passed on, and the peer pays as its router sees fit."""
        self.charge(source, "messages", prices.UNWANTED_MESSAGE)
        remedy = REMEDIES.get(reason)
        fields = {"reason": reason} if remedy is None else {"reason": reason, "detail": remedy}
        self._pubsub.emit(trace.REJECTED, message.topics[0], message.id or None, source, **fields)
        for tell in self._tell_rejected:
            tell(message, source, holders, reason, now)

    def ignore(
        self,
        message: WireMessage,
        source: Peer,
        holders: dict[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """Not passed on, and nobody pays but for the look at it."""
        self.charge(source, "messages", prices.UNWANTED_MESSAGE)
        self._pubsub.emit(
            trace.IGNORED, message.topics[0], message.id or None, source, reason=reason
        )
        for tell in self._tell_ignored:
            tell(message, source, holders, reason, now)

    def drop(
        self,
        message: WireMessage,
        source: Peer,
        holders: dict[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        """Not even looked at: there is no room, or no time."""
        self.charge(source, "messages", prices.UNWANTED_MESSAGE)
        self._pubsub.emit(
            trace.DROPPED, message.topics[0], message.id, source,
            what="message", reason=reason, count=1,
        )  # fmt: skip
        for tell in self._tell_ignored:
            tell(message, source, holders, reason, now)

    def charge(self, peer: Peer, kind: str, cost: float, blame: bool = True) -> None:
        """Let the peer pay, if it is still there."""
        state = self._pubsub.peers.get(peer)
        if state is not None:
            self._pubsub.toll.charge(peer, state, kind, cost, blame=blame)
