"""What each foreign event becomes: the one place that says so, for every format.

Readers decode; they call the method for what they found, with names already checked. Each call
adds whole rows or none.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from rumormill.capture.foreign.names import Cache, author_of, peer_name
from rumormill.capture.foreign.rows import Row
from rumormill.core import trace

IGNORED_REASONS: Final = frozenset({"validation ignored"})
"""Reasons of a REJECT_MESSAGE that is no rejection: the validator wanted nobody to pay."""

COUNTED: Final = ("subscriptions", "messages", "ihave", "iwant", "graft", "prune", "idontwant")
"""What is counted of a packet, as names of fields; a count of zero is not written."""


class Packet(NamedTuple):
    """What a foreign trace says about the contents of a packet."""

    counts: tuple[int, ...] = ()
    """In the order of :data:`COUNTED`; those at the end may be missing."""
    subscriptions: Sequence[tuple[bool, str | None]] = ()
    wanted: Sequence[bytes] = ()
    """The message ids of its IWANTs."""
    unknown: int = 0
    """Fields in it that the reader does not know."""


class Translator:
    """Makes rows; ``rows`` holds them until the reader takes them away.

    >>> translator = Translator()
    >>> translator.delivered(1_000, "node-a", "weather", b"id", "node-b")
    >>> translator.rows[0][:6]
    (1000, 'node-a', 'delivered', 'weather', b'id', 'node-b')
    """

    def __init__(self) -> None:
        self.rows: list[Row] = []
        names = Cache(peer_name)
        self._authors = Cache(lambda message_id: names[author_of(message_id)])
        self._fields = Cache(_counts_as_json)
        self._fields_of_dropped = Cache(lambda counts: _counts_as_json(counts, what="packet"))

    def take(self) -> list[Row]:
        """The rows since last time."""
        rows, self.rows = self.rows, []
        return rows

    # ---- messages

    def published(self, time: int, node: str, topic: str | None, message_id: bytes | None) -> None:
        """PUBLISH_MESSAGE."""
        self.rows.append(
            (time, node, trace.PUBLISHED, topic, message_id, None, None, None, None, None, None)
        )

    def delivered(
        self,
        time: int,
        node: str,
        topic: str | None,
        message_id: bytes | None,
        peer: str | None,
        size: int | None = None,
    ) -> None:
        """DELIVER_MESSAGE; a message of the node itself comes from nobody."""
        if peer == node:
            peer = None
        sender = self._authors[message_id]
        self.rows.append(
            (time, node, trace.DELIVERED, topic, message_id, peer, size, None, None, sender, None)
        )

    def duplicate(
        self,
        time: int,
        node: str,
        topic: str | None,
        message_id: bytes | None,
        peer: str | None,
        size: int | None = None,
    ) -> None:
        """DUPLICATE_MESSAGE."""
        self.rows.append(
            (time, node, trace.DUPLICATE, topic, message_id, peer, size, None, None, None, None)
        )

    def rejected(
        self,
        time: int,
        node: str,
        topic: str | None,
        message_id: bytes | None,
        peer: str | None,
        reason: str | None,
        size: int | None = None,
    ) -> None:
        """REJECT_MESSAGE, with the reason in the words of the one who gave it."""
        event = trace.IGNORED if reason in IGNORED_REASONS else trace.REJECTED
        self.rows.append(
            (time, node, event, topic, message_id, peer, size, None, reason, None, None)
        )

    def undelivered(
        self, time: int, node: str, topic: str | None, message_id: bytes | None, peer: str | None
    ) -> None:
        """UNDELIVERABLE_MESSAGE: the application was too slow."""
        self.rows.append(
            (time, node, trace.DROPPED, topic, message_id, peer, None, 1, "subscription_full",
             None, '{"what":"delivery"}')
        )  # fmt: skip

    # ---- topics and peers

    def subscribed(self, time: int, node: str, topic: str | None) -> None:
        """JOIN."""
        self._plain(time, node, trace.SUBSCRIBED, topic, None)

    def unsubscribed(self, time: int, node: str, topic: str | None) -> None:
        """LEAVE."""
        self._plain(time, node, trace.UNSUBSCRIBED, topic, None)

    def grafted(self, time: int, node: str, topic: str | None, peer: str | None) -> None:
        """GRAFT; who wanted it is not said."""
        self._plain(time, node, trace.GRAFTED, topic, peer)

    def pruned(self, time: int, node: str, topic: str | None, peer: str | None) -> None:
        """PRUNE; who wanted it is not said."""
        self._plain(time, node, trace.PRUNED, topic, peer)

    def peer_joined(self, time: int, node: str, peer: str | None, protocol: str | None) -> None:
        """ADD_PEER, ON_NEW_OUTBOUND_STREAM."""
        fields = None if protocol is None else _json(protocol=protocol)
        self._plain(time, node, trace.PEER_JOINED, None, peer, fields)

    def peer_left(self, time: int, node: str, peer: str | None) -> None:
        """REMOVE_PEER, ON_CLOSED_OUTBOUND_STREAM."""
        self._plain(time, node, trace.PEER_LEFT, None, peer)

    def connected(
        self, time: int, node: str, peer: str | None, address: str | None, outbound: bool | None
    ) -> None:
        """CONNECTED."""
        fields = _json(address=address, outbound=outbound)
        self._plain(time, node, trace.CONNECTION_OPENED, None, peer, fields)

    def disconnected(self, time: int, node: str, peer: str | None, address: str | None) -> None:
        """DISCONNECTED."""
        fields = _json(address=address)
        self._plain(time, node, trace.CONNECTION_CLOSED, None, peer, fields)

    # ---- packets

    def received(self, time: int, node: str, peer: str | None, packet: Packet) -> None:
        """RECV_RPC, and what it says about the peer's subscriptions."""
        self._packet(time, node, trace.PACKET_RECEIVED, peer, packet)
        for subscribe, topic in packet.subscriptions:
            event = trace.PEER_SUBSCRIBED if subscribe else trace.PEER_UNSUBSCRIBED
            self._plain(time, node, event, topic, peer)

    def sent(self, time: int, node: str, peer: str | None, packet: Packet) -> None:
        """SEND_RPC, and what it asks for."""
        self._packet(time, node, trace.PACKET_SENT, peer, packet)
        for message_id in packet.wanted:
            self.asked(time, node, peer, message_id)

    def asked(self, time: int, node: str, peer: str | None, message_id: bytes | None) -> None:
        """One message id of an IWANT that was sent."""
        self.rows.append(
            (time, node, trace.ASKED, None, message_id, peer, None, None, None, None, None)
        )

    def dropped(self, time: int, node: str, peer: str | None, packet: Packet) -> None:
        """DROP_RPC: the peer's queue was full."""
        fields = self._fields_of_dropped[packet.counts]
        self.rows.append(
            (time, node, trace.DROPPED, None, None, peer, None, 1, "queue_full", None, fields)
        )

    def _packet(self, time: int, node: str, event: str, peer: str | None, packet: Packet) -> None:
        fields = self._fields[packet.counts]
        self.rows.append((time, node, event, None, None, peer, None, None, None, None, fields))

    def _plain(
        self,
        time: int,
        node: str,
        event: str,
        topic: str | None,
        peer: str | None,
        fields: str | None = None,
    ) -> None:
        self.rows.append((time, node, event, topic, None, peer, None, None, None, None, fields))


def _counts_as_json(counts: tuple[int, ...], what: str | None = None) -> str | None:
    """The counts that are not zero."""
    found = {name: count for name, count in zip(COUNTED, counts, strict=False) if count}
    return _json(what=what, **found)


def _json(**fields: str | int | None) -> str | None:
    found = {name: value for name, value in fields.items() if value is not None}
    return json.dumps(found, separators=(",", ":")) if found else None
