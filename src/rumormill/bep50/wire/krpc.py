"""KRPC, the packets of the DHT: a datagram is one bencoded dict, a query, an answer or an error.

A packet of a topic's overlay has the topic in ``c``, be it a query, an answer or an error. Keys
that we do not know are passed over everywhere: other implementations add some.

>>> raw = query_packet(b"aa", "ping", {b"id": b"n" * 20}, topic=b"t" * 20)
>>> read_packet(raw).method, len(raw)
('ping', 91)
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.bep50.wire.addresses import ID_SIZE
from rumormill.bep50.wire.arguments import (
    BAD_SIGNATURE,
    CAS_MISMATCH,
    GENERIC,
    METHOD_UNKNOWN,
    PROTOCOL,
    SALT_TOO_BIG,
    SEQ_TOO_LOW,
    SERVER,
    VALUE_TOO_BIG,
    BadArgument,
    bytes_of,
    int_of,
)
from rumormill.bep50.wire.bencode import Dict, Value, decode, encode
from rumormill.bep50.wire.items import Item
from rumormill.core.errors import RemoteProtocolError

LARGEST_PACKET = 4096
"""Bytes of a datagram that we read: the largest put has 1358."""

SMALLEST_QUERY = 54
"""Bytes of the shortest query that can be answered. To less than that there is no answer, not even
an error: it would be larger than what it answers, and the sender's address may be forged."""

LONGEST_TRANSACTION = 64
"""Bytes of a transaction id that we give back; others take 2 to 20."""

LONGEST_METHOD = 32
"""Bytes of a method's name."""

LONGEST_TEXT = 200
"""Characters of an error's text that we keep."""

VERSION = b"RM\x00\x01"
"""Who wrote a packet, in the form of BEP 20: client and version."""


class Query(NamedTuple):
    """A question of a peer; ``arguments`` has an ``id`` of 20 bytes."""

    transaction: bytes
    method: str
    arguments: Dict
    topic: bytes | None
    read_only: bool
    """The sender answers no queries and belongs in nobody's table (BEP 43)."""


class Answer(NamedTuple):
    """Perhaps the answer to a query of ours; ``values`` has an ``id`` of 20 bytes."""

    transaction: bytes
    values: Dict
    topic: bytes | None
    ip: bytes | None
    """Our compact address as the peer sees it, if it says so."""


class Failure(NamedTuple):
    """An error in place of an answer."""

    transaction: bytes
    code: int
    text: str
    topic: bytes | None


class BadQuery(BadArgument):
    """A query in a topic whose form is wrong: it gets an error as its answer."""

    def __init__(self, code: int, text: str, transaction: bytes, topic: bytes | None) -> None:
        super().__init__(code, text)
        self.transaction = transaction
        self.topic = topic
        """None if the topic itself was what was wrong."""


# ---- reading


def read_packet(raw: bytes) -> Query | Answer | Failure:
    """What a datagram says.

    :class:`BadQuery` is raised for a query in a topic that deserves an error, and
    :class:`RemoteProtocolError` for all that deserves silence: bytes that are no packet, bad
    answers and errors, and bad queries that have no topic or are shorter than any good one.
    """
    if len(raw) > LARGEST_PACKET:
        raise RemoteProtocolError(
            "packet_too_large", f"{len(raw)} bytes, {LARGEST_PACKET} are allowed"
        )
    packet = decode(raw)
    if type(packet) is not dict:
        raise RemoteProtocolError("bad_packet", "it is not a dict")
    transaction = packet.get(b"t")
    if type(transaction) is not bytes or len(transaction) > LONGEST_TRANSACTION:
        raise RemoteProtocolError("bad_packet", "t is not a short string")
    kind = packet.get(b"y")
    if kind == b"q":
        return _read_query(packet, transaction, len(raw))
    if kind == b"r":
        return _read_answer(packet, transaction)
    if kind == b"e":
        return _read_failure(packet, transaction)
    raise RemoteProtocolError("bad_packet", "y is none of q, r and e")


def _read_query(packet: Dict, transaction: bytes, size: int) -> Query:
    topic = None
    try:
        topic = _topic(packet)
        method = bytes_of(packet, b"q")
        if len(method) > LONGEST_METHOD:
            raise BadArgument(METHOD_UNKNOWN, "method unknown")
        arguments = packet.get(b"a")
        if type(arguments) is not dict:
            raise BadArgument(PROTOCOL, "a must be a dict")
        bytes_of(arguments, b"id", ID_SIZE)
    except BadArgument as error:
        if b"c" not in packet or size < SMALLEST_QUERY:
            raise RemoteProtocolError("bad_query", error.text) from None
        raise BadQuery(error.code, error.text, transaction, topic) from None
    read_only = packet.get(b"ro") == 1
    return Query(transaction, method.decode("latin-1"), arguments, topic, read_only)


def _read_answer(packet: Dict, transaction: bytes) -> Answer:
    values = packet.get(b"r")
    if type(values) is not dict:
        raise RemoteProtocolError("bad_answer", "r must be a dict")
    bytes_of(values, b"id", ID_SIZE)
    ip = packet.get(b"ip")
    if type(ip) is not bytes or len(ip) not in (6, 18):
        ip = None
    return Answer(transaction, values, _topic(packet), ip)


def _read_failure(packet: Dict, transaction: bytes) -> Failure:
    problem = packet.get(b"e")
    if type(problem) is not list or len(problem) < 2:
        raise RemoteProtocolError("bad_error", "e must be a list of code and text")
    code, text = problem[:2]
    if type(code) is not int or not 0 <= code < 1000 or type(text) is not bytes:
        raise RemoteProtocolError("bad_error", "e must be a list of code and text")
    words = text[: 4 * LONGEST_TEXT].decode("utf-8", "replace")[:LONGEST_TEXT]
    return Failure(transaction, code, words, _topic(packet))


def _topic(packet: Dict) -> bytes | None:
    return bytes_of(packet, b"c", ID_SIZE) if b"c" in packet else None


# ---- writing


def query_packet(
    transaction: bytes,
    method: str,
    arguments: Dict,
    topic: bytes | None = None,
    read_only: bool = False,
) -> bytes:
    """The datagram of a query; ``arguments`` has our ``id`` in it."""
    packet: Dict = {
        b"a": arguments,
        b"q": method.encode("latin-1"),
        b"t": transaction,
        b"v": VERSION,
        b"y": b"q",
    }
    if topic is not None:
        packet[b"c"] = topic
    if read_only:
        packet[b"ro"] = 1
    return encode(packet)


def answer_packet(
    transaction: bytes, values: Dict, topic: bytes | None = None, ip: bytes | None = None
) -> bytes:
    """The datagram of an answer; ``values`` has our ``id``, ``ip`` is who asked, compact."""
    packet: Dict = {b"r": values, b"t": transaction, b"v": VERSION, b"y": b"r"}
    if topic is not None:
        packet[b"c"] = topic
    if ip is not None:
        packet[b"ip"] = ip
    return encode(packet)


def failure_packet(
    transaction: bytes,
    code: int,
    text: str,
    topic: bytes | None = None,
    ip: bytes | None = None,
) -> bytes:
    """The datagram of an error."""
    problem: Value = [code, text.encode("utf-8")]
    packet: Dict = {b"e": problem, b"t": transaction, b"v": VERSION, b"y": b"e"}
    if topic is not None:
        packet[b"c"] = topic
    if ip is not None:
        packet[b"ip"] = ip
    return encode(packet)


class PutTemplate:
    """A put of one item to many peers: what is the same for all of them is bencoded once."""

    __slots__ = ("_after_token", "_before_token", "_end")

    def __init__(
        self, own_id: bytes, item: Item, topic: bytes | None = None, read_only: bool = False
    ) -> None:
        salt = b"4:salt%d:%b" % (len(item.salt), item.salt) if item.salt else b""
        self._before_token = b"2:id20:%b1:k32:%b%b3:seqi%de3:sig64:%b5:token" % (
            own_id,
            item.public_key,
            salt,
            item.seq,
            item.signature,
        )
        self._after_token = b"1:v%be%b1:q3:put%b1:t" % (
            item.value,
            b"" if topic is None else b"1:c20:%b" % topic,
            b"2:roi1e" if read_only else b"",
        )
        self._end = b"1:v%d:%b1:y1:qe" % (len(VERSION), VERSION)

    def packet(self, transaction: bytes, token: bytes, cas: int | None = None) -> bytes:
        """The datagram for one peer, byte for byte what :func:`query_packet` makes of it."""
        return b"%b%b%d:%b%b%d:%b%b" % (
            b"d1:ad" if cas is None else b"d1:ad3:casi%de" % cas,
            self._before_token,
            len(token),
            token,
            self._after_token,
            len(transaction),
            transaction,
            self._end,
        )


__all__ = [
    "BAD_SIGNATURE", "CAS_MISMATCH", "GENERIC", "LARGEST_PACKET", "METHOD_UNKNOWN", "PROTOCOL",
    "SALT_TOO_BIG", "SEQ_TOO_LOW", "SERVER", "SMALLEST_QUERY", "VALUE_TOO_BIG", "VERSION",
    "Answer", "BadArgument", "BadQuery", "Failure", "PutTemplate", "Query", "answer_packet",
    "bytes_of", "failure_packet", "int_of", "query_packet", "read_packet",
]  # fmt: skip
