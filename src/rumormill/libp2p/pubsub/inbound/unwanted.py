"""Messages that are not delivered, and why: who pays, what is traced, who is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.core.trace import type_of_field
from rumormill.libp2p.pubsub.inbound import prices
from rumormill.libp2p.wire.message import WireMessage

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub

REMEDIES = dict.fromkeys(
    ("unexpected_author", "unexpected_sequence"),
    "unsigned_authors=true takes messages that name an author without proof",
)
"""What a user may do who wants messages that are rejected for this reason."""

Listener = Callable[[WireMessage, Peer, dict[Peer, None], str, float], None]
"""Hears of a message, its source, all who sent it, the reason, and the time."""


class Unwanted:
    """Sees to messages that are rejected, ignored or dropped.

    ``holders`` are all that have sent the very bytes of the message.
    """

    __slots__ = ("_pubsub", "drop", "ignore", "reject")

    def __init__(self, pubsub: Pubsub) -> None:
        self._pubsub = pubsub
        heard = pubsub.listeners
        self.reject = partial(self._turn_away, trace.REJECTED, heard.rejected)
        """Not passed on, and the peer pays as its router sees fit."""
        self.ignore = partial(self._turn_away, trace.IGNORED, heard.ignored)
        """Not passed on, and nobody pays but for the look at it."""
        self.drop = partial(self._turn_away, trace.DROPPED, heard.ignored)
        """Not even looked at: there is no room, or no time."""

    def _turn_away(
        self,
        event: str,
        listeners: Sequence[Listener],
        message: WireMessage,
        source: Peer,
        holders: dict[Peer, None],
        reason: str,
        now: float,
    ) -> None:
        self.charge(source, "messages", prices.UNWANTED_MESSAGE)
        fields: dict[str, type_of_field] = {"reason": reason}
        if event == trace.DROPPED:
            fields = {"what": "message", "reason": reason, "count": 1}
        elif event == trace.REJECTED and reason in REMEDIES:
            fields["detail"] = REMEDIES[reason]
        self._pubsub.emit(event, message.topics[0], message.id or None, source, **fields)
        for tell in listeners:
            tell(message, source, holders, reason, now)

    def charge(self, peer: Peer, kind: str, cost: float, blame: bool = True) -> None:
        """Let the peer pay, if it is still there."""
        state = self._pubsub.peers.get(peer)
        if state is not None:
            self._pubsub.toll.charge(peer, state, kind, cost, blame=blame)
