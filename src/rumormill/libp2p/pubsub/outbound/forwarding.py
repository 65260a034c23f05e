"""Passing on: the messages of others, to whom the router names and who wants a copy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.outbound.lane import Parcel
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.rpc import message_frame

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


class Forwarding:
    """Passes messages on."""

    __slots__ = ("_pubsub", "_refusals")

    def __init__(self, pubsub: Pubsub) -> None:
        self._pubsub = pubsub
        self._refusals = pubsub.outbox.refusals

    def forward(
        self, message: WireMessage, source: Peer, holders: dict[Peer, None], now: float
    ) -> int:
        """Pass on a message of another to whom the router names and who does not have it.

        Returns to how many.
        """
        parcel: Parcel | None = None
        sent, outbox = 0, self._pubsub.outbox
        targets = self._pubsub.router.targets(message, False, now)
        if len(message.topics) > 1:
            targets = dict.fromkeys(targets)
        if self._refusals and message.id in self._refusals:
            targets = self.willing(message, targets, holders)
        for peer in targets:
            if peer not in holders:
                parcel = parcel or (message_frame(message), message.id, message.topics[0])
                outbox.send(peer, parcel, source)
                sent += 1
        return sent

    def willing(
        self, message: WireMessage, targets: Iterable[Peer], holders: Mapping[Peer, None]
    ) -> list[Peer]:
        """The targets without those that said that they want no copy of the message."""
        refused = self._refusals.get(message.id, ())
        willing: list[Peer] = []
        for peer in targets:
            if peer not in refused:
                willing.append(peer)
            elif peer not in holders:
                self._pubsub.emit(
                    trace.SPARED, message.topics[0], message.id, peer, reason="not_queued"
                )
        return willing
