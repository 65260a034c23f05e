"""What nodes tell each other on a topic's control topic: trust edges, sealed keys, questions.

message Control {
    repeated bytes edges = 1;      // TrustEdge
    optional bytes known = 2;      // a digest of all edges that the sender knows
    optional SealedKeys keys = 3;
    repeated KeyAsk asks = 4;
}
message SealedKeys { uint64 epoch = 1; bytes id = 2; bytes sender = 3; bytes entries = 4; }
message KeyAsk { bytes author = 1; bytes id = 2; uint64 newest = 3; }

Its author is that of the pubsub message that it stands in, by that message's signature.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, VARINT, bytes_field, fields, varint_field
from rumormill.libp2p.descriptor.edges import LARGEST_NUMBER, TrustEdge, decode_edge
from rumormill.libp2p.descriptor.sealed_data import KEY_ID_SIZE
from rumormill.libp2p.descriptor.sealed_keys import ENTRY_SIZE, SENDER_SIZE, SealedKey
from rumormill.libp2p.stack.peer_id import check_peer_id

SUFFIX: Final = "/trust"
"""Behind a topic's id: its control topic."""

LARGEST_CONTROL: Final = 60 * 1024
"""Bytes: what fits into an RPC of every implementation, rust's with 64 KiB being the smallest."""
MOST_EDGES: Final = 128
"""In one message."""
MOST_ASKS: Final = 8
KNOWN_SIZE: Final = 16

BAD: Final = "bad_trust_message"


class KeyAsk(NamedTuple):
    """A reader lacks the key ``id`` of ``author``; ``newest`` is the last epoch that it knows."""

    author: bytes
    id: bytes
    newest: int = 0


class EpochKey(NamedTuple):
    """The key of an author's epoch, sealed to its readers."""

    epoch: int
    id: bytes
    sealed: SealedKey


class Control(NamedTuple):
    """One message."""

    edges: tuple[TrustEdge, ...] = ()
    known: bytes = b""
    keys: EpochKey | None = None
    asks: tuple[KeyAsk, ...] = ()


def known_digest(edges: Iterable[TrustEdge]) -> bytes:
    """Equal if two nodes know the same edges; they must be sorted.

    >>> known_digest([]).hex()[:8]
    'e3b0c442'
    """
    digest = hashlib.sha256()
    for edge in edges:
        digest.update(edge.encode())
    return digest.digest()[:KNOWN_SIZE]


def encode_control(control: Control) -> bytes:
    """The message as it is published.

    >>> decode_control(encode_control(Control(known=bytes(16)))) == Control(known=bytes(16))
    True
    """
    parts = [bytes_field(1, edge.encode()) for edge in control.edges]
    if control.known:
        parts.append(bytes_field(2, control.known))
    if control.keys is not None:
        parts.append(bytes_field(3, _encode_keys(control.keys)))
    parts += [bytes_field(4, _encode_ask(ask)) for ask in control.asks]
    return b"".join(parts)


def _encode_keys(keys: EpochKey) -> bytes:
    return b"".join(
        (
            varint_field(1, keys.epoch),
            bytes_field(2, keys.id),
            bytes_field(3, keys.sealed.sender),
            bytes_field(4, keys.sealed.entries),
        )
    )


def _encode_ask(ask: KeyAsk) -> bytes:
    return bytes_field(1, ask.author) + bytes_field(2, ask.id) + varint_field(3, ask.newest)


def decode_control(raw: bytes) -> Control:
    """Read a message; :class:`RemoteProtocolError` for any bytes that are none."""
    if len(raw) > LARGEST_CONTROL:
        raise RemoteProtocolError(BAD, f"{len(raw)} bytes, {LARGEST_CONTROL} allowed")
    try:
        return _read(raw)
    except RemoteProtocolError as error:
        raise RemoteProtocolError(BAD, error.detail or error.reason) from None


def _read(raw: bytes) -> Control:
    edges: list[TrustEdge] = []
    asks: list[KeyAsk] = []
    known, keys = b"", None
    for number, kind, start, end in fields(raw, 0, len(raw), most=MOST_EDGES + MOST_ASKS + 8):
        if kind != LENGTH_DELIMITED:
            continue
        if number == 1:
            if len(edges) >= MOST_EDGES:
                raise RemoteProtocolError(BAD, f"more than {MOST_EDGES} edges")
            edges.append(decode_edge(raw[start:end]))
        elif number == 2:
            known = _sized(raw[start:end], KNOWN_SIZE)
        elif number == 3:
            keys = _read_keys(raw, start, end)
        elif number == 4:
            if len(asks) >= MOST_ASKS:
                raise RemoteProtocolError(BAD, f"more than {MOST_ASKS} questions")
            asks.append(_read_ask(raw, start, end))
    return Control(tuple(edges), known, keys, tuple(asks))


def _read_keys(raw: bytes, start: int, end: int) -> EpochKey:
    number, found = _read_fields(raw, start, end)
    entries = found.get(4, b"")
    if len(entries) % ENTRY_SIZE:
        raise RemoteProtocolError(BAD, "a sealed key is cut short")
    key_id = _sized(found.get(2, b""), KEY_ID_SIZE)
    sender = _sized(found.get(3, b""), SENDER_SIZE)
    return EpochKey(number.get(1, 0), key_id, SealedKey(sender, entries))


def _read_ask(raw: bytes, start: int, end: int) -> KeyAsk:
    number, found = _read_fields(raw, start, end)
    author = check_peer_id(found.get(1, b""))
    return KeyAsk(author, _sized(found.get(2, b""), KEY_ID_SIZE), number.get(3, 0))


def _read_fields(raw: bytes, start: int, end: int) -> tuple[dict[int, int], dict[int, bytes]]:
    """The numbers and the texts of a small message."""
    numbers: dict[int, int] = {}
    texts: dict[int, bytes] = {}
    for number, kind, first, last in fields(raw, start, end, most=8):
        if kind == VARINT:
            if first > LARGEST_NUMBER:
                raise RemoteProtocolError(BAD, "a number is too large")
            numbers[number] = first
        elif kind == LENGTH_DELIMITED:
            texts[number] = raw[first:last]
    return numbers, texts


def _sized(value: bytes, size: int) -> bytes:
    if len(value) != size:
        raise RemoteProtocolError(BAD, f"{len(value)} bytes instead of {size}")
    return value
