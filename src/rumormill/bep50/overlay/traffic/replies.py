"""The packets that answer a query: values, an acknowledgement, an error."""

from __future__ import annotations

from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.wire.addresses import compact
from rumormill.bep50.wire.bencode import Dict
from rumormill.bep50.wire.krpc import VERSION, answer_packet, failure_packet
from rumormill.core.machine import Peer

ANSWER, VALUE, ERROR = "answer", "value", "error"


class Replies:
    """Answers in our name; each tells the peer what its address is (BEP 42)."""

    __slots__ = ("_id", "_outbox")

    def __init__(self, own_id: bytes, outbox: Outbox) -> None:
        self._id = own_id
        self._outbox = outbox

    def answer(self, peer: Peer, transaction: bytes, topic: bytes, values: Dict) -> None:
        """What was asked for."""
        packet = answer_packet(transaction, values, topic, compact(peer))
        self._outbox.send(peer, packet, VALUE if b"v" in values else ANSWER)

    def acknowledge(self, peer: Peer, transaction: bytes, topic: bytes) -> None:
        """The value of a put is ours now."""
        address = compact(peer)
        # What `answer_packet` would make of it, without a dict in between: there is one a put.
        packet = b"d1:c20:%b2:ip%d:%b1:rd2:id20:%be1:t%d:%b1:v4:%b1:y1:re" % (
            topic,
            len(address),
            address,
            self._id,
            len(transaction),
            transaction,
            VERSION,
        )
        self._outbox.send(peer, packet, ANSWER)

    def fail(
        self, peer: Peer, transaction: bytes, topic: bytes | None, code: int, text: str
    ) -> None:
        """An error."""
        packet = failure_packet(transaction, code, text, topic, compact(peer))
        self._outbox.send(peer, packet, ERROR)
