"""What a packet holds, counted without reading it: for traces of packets that we send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from rumormill.core.protobuf import LENGTH_DELIMITED, decode_varint, fields
from rumormill.libp2p.wire.control import ControlKind

SUBSCRIPTION, MESSAGE, CONTROL = 1, 2, 3
"""Fields of an RPC."""


def contents_of(packet: bytes, kinds: Iterable[ControlKind[Any]]) -> dict[str, int]:
    """How many subscriptions, messages and entries of each kind whole frames of our own hold.

    >>> contents_of(bytes.fromhex("0d0a0b0801120777656174686572"), ())
    {'subscriptions': 1, 'messages': 0}
    """
    found: Counter[int] = Counter()
    said: Counter[int] = Counter()
    offset, size = 0, len(packet)
    while offset < size:
        length, offset = decode_varint(packet, offset, size)
        for number, wire_type, start, end in fields(packet, offset, offset + length, size):
            found[number] += 1
            if number == CONTROL and wire_type == LENGTH_DELIMITED:
                said.update(entry[0] for entry in fields(packet, start, end, size))
        offset += length
    return {
        "subscriptions": found[SUBSCRIPTION],
        "messages": found[MESSAGE],
        **{kind.name: said[kind.number] for kind in kinds},
    }
