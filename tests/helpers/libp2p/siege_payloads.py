"""What hostile peers send: the byte streams of the siege, built once and sent as fast as one can.

Pure functions, shared by those who send them over sockets (``bench/siege``) and by tests that feed
them to a machine in virtual time. Each returns whole frames as they stand on a pubsub stream,
small enough for everybody's default limits: rust reads RPCs of 64 KiB, of which subscriptions and
control may be 16 KiB together. Of whoever sends it more it reads nothing any more, so an attack
that does would be none.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rumormill.core.protobuf import bytes_field, varint_field
from rumormill.libp2p.stack.yamux.frames import DATA, PING, SYN, WINDOW_UPDATE, encode_header
from rumormill.libp2p.wire.frames import length_prefixed

TOPIC = "siege"
"""Where the honest pair speaks, and most of the attacks are."""

MOST = 5000
"""Entries of one RPC: as many as we, go and js take at once."""

MOST_BYTES = 16_000
"""Of subscriptions and control in one RPC: what rust takes at once."""

_CONTROL = 3
_IWANT, _GRAFT, _PRUNE = 2, 3, 4


class Payload(NamedTuple):
    """Bytes of a flood, and how many of the things that it is made of are in them."""

    data: bytes
    units: int

    def times(self, count: int) -> Payload:
        """So many of them, one behind the other."""
        return Payload(self.data * count, self.units * count)


# ---- control and subscriptions


def iwant(count: int = MOST_BYTES // 4, first: int = 0) -> Payload:
    """One RPC: IWANT of ids of two bytes that nobody has.

    >>> iwant(2).data.hex(" ")
    '0c 1a 0a 12 08 0a 02 00 00 0a 02 00 01'
    """
    ids = [struct.pack(">H", (first + number) % 65536) for number in range(count)]
    return Payload(iwant_of(ids), count)


def iwant_of(ids: Iterable[bytes]) -> bytes:
    """One RPC: IWANT of these ids."""
    return _control(bytes_field(_IWANT, b"".join([bytes_field(1, each) for each in ids])))


def empty_subscriptions(count: int = MOST) -> Payload:
    """One RPC full of subscription entries with nothing in them.

    >>> empty_subscriptions(2).data.hex(" ")
    '04 0a 00 0a 00'
    """
    return Payload(length_prefixed(bytes_field(1, b"") * count), count)


def unknown_grafts(count: int = MOST_BYTES // 10) -> Payload:
    """One RPC: GRAFT of topics that nobody has heard of."""
    return Payload(_control(b"".join([graft(f"u{number:05}") for number in range(count)])), count)


def backoff_grafts(topic: str = TOPIC, count: int | None = None) -> Payload:
    """One RPC: a PRUNE with a backoff, and then GRAFT upon GRAFT within it."""
    entry = graft(topic)
    count = MOST_BYTES // len(entry) - 1 if count is None else count
    return Payload(_control(prune(topic, 60) + entry * (count - 1)), count)


def toggles(topic: str = TOPIC, count: int | None = None) -> Payload:
    """One RPC: subscribe, unsubscribe, subscribe..."""
    both = subscription(topic, True) + subscription(topic, False)
    count = MOST_BYTES // len(both) * 2 if count is None else count
    return Payload(length_prefixed(both * (count // 2)), count // 2 * 2)


def subscribe(topic: str = TOPIC) -> bytes:
    """One RPC: listen to a topic."""
    return length_prefixed(subscription(topic, True))


def graft(topic: str) -> bytes:
    """An entry of control."""
    return bytes_field(_GRAFT, bytes_field(1, topic.encode()))


def prune(topic: str, backoff: int) -> bytes:
    """An entry of control."""
    return bytes_field(_PRUNE, bytes_field(1, topic.encode()) + varint_field(3, backoff))


def subscription(topic: str, wanted: bool) -> bytes:
    """An entry of an RPC."""
    return bytes_field(1, varint_field(1, int(wanted)) + bytes_field(2, topic.encode()))


def _control(entries: bytes) -> bytes:
    return length_prefixed(bytes_field(_CONTROL, entries))


# ---- messages


class Signer(NamedTuple):
    """Somebody who signs messages: the id, what stands in ``key``, and how."""

    peer_id: bytes
    key: bytes
    """Empty where the id holds it."""
    sign: Callable[[bytes], bytes]


SIGNED_PREFIX = b"libp2p-pubsub:"


def message(signer: Signer, number: int, topic: str, data: bytes) -> bytes:
    """One RPC: a message in the order of fields that everybody signs."""
    unsigned = b"".join(
        (
            bytes_field(1, signer.peer_id),
            bytes_field(2, data),
            bytes_field(3, number.to_bytes(8, "big")),
            bytes_field(4, topic.encode()),
        )
    )
    signature = bytes_field(5, signer.sign(SIGNED_PREFIX + unsigned))
    key = bytes_field(6, signer.key) if signer.key else b""
    return length_prefixed(bytes_field(2, unsigned + signature + key))


def messages(
    signer: Signer, first: int, count: int, topic: str = TOPIC, size: int = 64
) -> list[bytes]:
    """Messages that differ, each an RPC of its own."""
    return [
        message(signer, number, topic, number.to_bytes(8, "big").ljust(size, b"."))
        for number in range(first, first + count)
    ]


def packed(frames: list[bytes], size: int = 60_000) -> list[Payload]:
    """Frames behind one another, in pieces of about so many bytes."""
    pieces: list[Payload] = []
    held: list[bytes] = []
    length = 0
    for frame in frames:
        held.append(frame)
        length += len(frame)
        if length >= size:
            pieces.append(Payload(b"".join(held), len(held)))
            held, length = [], 0
    if held:
        pieces.append(Payload(b"".join(held), len(held)))
    return pieces


# ---- yamux


def one_byte_frames(stream: int, count: int) -> Payload:
    """Data frames of one byte each; on a pubsub stream each is an RPC with nothing in it."""
    return Payload((encode_header(DATA, 0, stream, 1) + b"\0") * count, count)


def window_updates(stream: int, count: int) -> Payload:
    """Window updates that grant nothing."""
    return Payload(encode_header(WINDOW_UPDATE, 0, stream, 0) * count, count)


def pings(count: int) -> Payload:
    """Pings, each of which wants an answer."""
    return Payload(b"".join([encode_header(PING, SYN, 0, each) for each in range(count)]), count)
