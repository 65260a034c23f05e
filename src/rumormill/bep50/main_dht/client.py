"""A read-only client of the main DHT: reads mutable items there and puts them.

It asks and does not answer: every query says ``ro`` (BEP 43). It never sends ``c``: on the main DHT
there are no topics. The overlay's node owns the socket and hands over each answer without ``c``.

Not every node minds ``ro``: libtorrent takes whoever puts into its table, bittorrent-dht whoever
asks. So we ask under an id that is as far from the item as can be: there the tables of the nodes
that we ask are full, and who searches for the item is not led to us.

>>> from random import Random
>>> client = MainClient(bytes(20), MainParameters(), Random(1))
>>> client.handle(MainContact(("10.0.0.1:6881",)), 0.0)
[]
>>> [type(effect).__name__ for effect in client.handle(ReadItem(1, bytes(32)), 0.0)]
['Send']
>>> client.wake(client.next_wake())  # nobody answered
[ItemRead(token=1, item=None, answered=0)]
"""

from __future__ import annotations

from collections import deque
from random import Random

from rumormill.bep50.main_dht.contacts import MainContacts
from rumormill.bep50.main_dht.effects import (
    ClientEffect,
    ClientInput,
    ItemRead,
    ItemSeen,
    ItemWritten,
    MainContact,
    ReadItem,
    WriteItem,
)
from rumormill.bep50.main_dht.errand import Errand, Put
from rumormill.bep50.main_dht.parameters import MainParameters
from rumormill.bep50.overlay.traffic.transactions import Pending, Transactions
from rumormill.bep50.wire.addresses import NodeInfo, is_ipv6, read_nodes
from rumormill.bep50.wire.bencode import Value, decode
from rumormill.bep50.wire.krpc import Answer, Failure, Query, query_packet, read_packet
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import Received, Send
from rumormill.core.message import NO_FIELDS
from rumormill.core.trace import TraceEvent, type_of_field

MOST_NODES = 16
"""Nodes that are taken from one answer; eight is the custom."""

GET, PUT = "get", "put"


class MainClient:
    """The client of one socket; the addresses it is given are of that socket's family.

    Inputs: :class:`MainContact`, :class:`ReadItem`, :class:`WriteItem`, ``Received``. Effects:
    ``Send``, :class:`ItemSeen`, :class:`ItemRead`, :class:`ItemWritten`, trace events.
    """

    def __init__(
        self, own_id: bytes, parameters: MainParameters, random: Random, node: str = ""
    ) -> None:
        self.node = node
        """Our name in trace events."""
        self._own_id = own_id
        self._parameters = parameters
        self._contacts = MainContacts(parameters.main_most_contacts)
        self._own: tuple[str, ...] = ()
        self._transactions: Transactions[Errand] = Transactions(random)
        self._active: dict[Errand, None] = {}
        self._waiting: deque[Errand] = deque()
        self._effects: list[ClientEffect] = []
        self._now = 0.0

    # ---- the machine

    def handle(self, input: ClientInput, now: float) -> list[ClientEffect]:
        """Take one input; return what follows from it."""
        self._now = now
        if isinstance(input, Received):
            self._received(input.peer, input.packet)
        elif isinstance(input, ReadItem | WriteItem):
            self._take_order(Errand(input, self._parameters))
        elif isinstance(input, MainContact):
            self._own = input.own or self._own
            for peer in input.peers:
                self._contacts.given(peer)
        else:
            raise LocalProtocolError(f"the main DHT's client does not know {input!r}")
        return self._done()

    def answered(self, peer: str, packet: Answer | Failure, now: float) -> list[ClientEffect]:
        """Take an answer or an error without ``c`` that has been read already."""
        self._now = now
        self._take(peer, packet)
        return self._done()

    def awaits(self, peer: str, transaction: bytes) -> bool:
        """Whether an answer of ``peer`` with this id would belong to a query of ours."""
        return self._transactions.awaits(peer, transaction)

    def wake(self, now: float) -> list[ClientEffect]:
        """Give up on queries that are overdue."""
        self._now = now
        for pending in self._transactions.expired(now):
            self._contacts.failed(pending.peer)
            self._query_failed(pending)
        return self._done()

    def next_wake(self) -> float | None:
        """When the next query is overdue."""
        return self._transactions.next_deadline()

    def sizes(self) -> dict[str, int]:
        """How much each table holds."""
        return {
            "main_contacts": len(self._contacts),
            "main_queries": len(self._transactions),
            "main_searches": len(self._active),
            "main_waiting": len(self._waiting),
            "main_candidates": sum(len(errand.lookup) for errand in self._active),
        }

    def _done(self) -> list[ClientEffect]:
        effects, self._effects = self._effects, []
        return effects

    # ---- errands

    def _take_order(self, errand: Errand) -> None:
        if len(self._active) < self._parameters.main_searches:
            self._begin(errand)
        elif len(self._waiting) < self._parameters.main_most_waiting:
            self._waiting.append(errand)
        else:
            self._emit(trace.DROPPED, what="main_search", reason="too_many", count=1)
            self._effects.append(errand.result())

    def _begin(self, errand: Errand) -> None:
        self._active[errand] = None
        for contact in self._contacts.nearest(errand.target, self._parameters.main_closest):
            errand.lookup.add(contact.peer, contact.id or None)
        self._go_on(errand)

    def _go_on(self, errand: Errand) -> None:
        """Do the next step of an errand, if it waits for nothing."""
        if not errand.writing:
            for peer in errand.lookup.to_ask():
                self._send_get(errand, peer)
            if not errand.lookup.finished:
                return
            for put in errand.puts():
                self._send_put(errand, put)
        if errand.finished and self._active.pop(errand, 0) is None:
            self._effects.append(errand.result())
            if self._waiting:
                self._begin(self._waiting.popleft())

    # ---- queries

    def _send_get(self, errand: Errand, peer: str) -> None:
        arguments: dict[bytes, Value] = {b"target": errand.target}
        if errand.own_seq is not None:
            arguments[b"seq"] = errand.own_seq
        self._send(errand, peer, GET, arguments)

    def _send_put(self, errand: Errand, put: Put) -> None:
        order = errand.order
        assert isinstance(order, WriteItem)
        item = order.item
        arguments: dict[bytes, Value] = {
            b"k": item.public_key,
            b"seq": item.seq,
            b"sig": item.signature,
            b"token": put.token,
            b"v": decode(item.value),
        }
        if item.salt:
            arguments[b"salt"] = item.salt
        if put.cas is not None:
            arguments[b"cas"] = put.cas
        self._send(errand, put.peer, PUT, arguments)

    def _send(self, errand: Errand, peer: str, kind: str, arguments: dict[bytes, Value]) -> None:
        deadline = self._now + self._parameters.main_query_timeout
        transaction = self._transactions.begin(peer, kind, errand, deadline)
        # Cannot be full: searches at once, and queries of each, are few.
        assert transaction is not None
        arguments[b"id"] = _far_id(self._own_id, errand.target)
        packet = query_packet(transaction, kind, arguments, read_only=True)
        self._effects.append(Send(peer, packet))

    # ---- answers

    def _received(self, peer: str, raw: bytes) -> None:
        try:
            packet = read_packet(raw)
        except RemoteProtocolError as error:
            self._emit(trace.PROTOCOL_ERROR, peer=peer, reason=error.reason, detail=error.detail)
            return
        if isinstance(packet, Query):
            self._emit(trace.IGNORED, peer=peer, reason="read_only")
        else:
            self._take(peer, packet)

    def _take(self, peer: str, packet: Answer | Failure) -> None:
        pending = self._transactions.finish(peer, packet.transaction)
        if pending is None:
            self._emit(trace.IGNORED, peer=peer, reason="unasked_answer")
        elif isinstance(packet, Failure):
            self._query_failed(pending, packet.code)
        elif pending.kind == PUT:
            pending.context.put_stored()
            self._go_on(pending.context)
        else:
            self._got(pending, packet)

    def _got(self, pending: Pending[Errand], answer: Answer) -> None:
        errand, peer = pending.context, pending.peer
        id = answer.values.get(b"id")
        if not isinstance(id, bytes) or len(id) != len(self._own_id):
            self._emit(trace.PROTOCOL_ERROR, peer=peer, reason="bad_id", detail="in an answer")
            self._query_failed(pending)
            return
        self._contacts.answered(peer, id)
        try:
            newer = errand.answered(peer, answer, id)
        except RemoteProtocolError as error:
            self._emit(trace.REJECTED, peer=peer, reason=error.reason, detail=error.detail)
            newer = None
        if newer is not None:
            self._effects.append(ItemSeen(errand.token, newer))
        for node in _nodes_of(peer, answer):
            if node.peer not in self._own:
                errand.lookup.add(node.peer, node.id)
        self._go_on(errand)

    def _query_failed(self, pending: Pending[Errand], code: int | None = None) -> None:
        """A query brought nothing: an error with this code, or silence."""
        errand = pending.context
        if pending.kind == GET:
            errand.lookup.failed(pending.peer)
        elif code is None:
            errand.put_silent()
        else:
            errand.put_refused(code)
        self._go_on(errand)

    def _emit(self, event: str, peer: str | None = None, **fields: type_of_field) -> None:
        self._effects.append(
            TraceEvent(self._now, self.node, event, peer=peer, fields=fields or NO_FIELDS)
        )


def _far_id(own_id: bytes, target: bytes) -> bytes:
    """Our id, in the half of all ids that ``target`` is not in.

    >>> _far_id(b"\\xff" * 20, b"\\xaa" * 20)[0], _far_id(b"\\x0f" * 20, b"\\x00" * 20)[0]
    (127, 143)
    """
    return bytes([own_id[0] & 0x7F | ~target[0] & 0x80]) + own_id[1:]


def _nodes_of(peer: str, answer: Answer) -> list[NodeInfo]:
    """The nodes that an answer names, of the family of the one who gave it."""
    ipv6 = is_ipv6(peer)
    raw = answer.values.get(b"nodes6" if ipv6 else b"nodes")
    if not isinstance(raw, bytes):
        return []
    return read_nodes(raw[: MOST_NODES * (38 if ipv6 else 26)], ipv6)


__all__ = [
    "ItemRead", "ItemSeen", "ItemWritten", "MainClient", "MainContact", "MainParameters",
    "ReadItem", "WriteItem",
]  # fmt: skip
