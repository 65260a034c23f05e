"""Packets of the bare producer and consumer: as few bytes looked at as will do.

It reads what a forwarder sends that is known to work; nothing here is fit for strangers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

INTEREST, DATA, LINK = 0x05, 0x06, 0x64
FRAGMENT, TOKEN = 0x50, 0x62
NACK = b"\xfd\x03\x20"
PREFIX = b"\x08\x05bench"
_NUMBER = struct.Struct(">Q")
_LIFETIME = b"\x0c\x02\x0f\xa0"
_DIGEST_INFO = b"\x16\x03\x1b\x01\x00"


def element(type: int, value: bytes) -> bytes:
    """One element, its type below 253.

    >>> element(8, b"hi").hex()
    '08026869'
    """
    size = len(value)
    if size < 253:
        return bytes((type, size)) + value
    return bytes((type, 253)) + size.to_bytes(2, "big") + value


def _head(data: bytes | bytearray, at: int) -> tuple[int, int, int]:
    """The type at a place, and where its value begins and ends."""
    type, at = data[at], at + 1
    if type == 253:
        type, at = int.from_bytes(data[at : at + 2], "big"), at + 2
    size, at = data[at], at + 1
    if size == 253:
        size, at = int.from_bytes(data[at : at + 2], "big"), at + 2
    return type, at, at + size


def packets(pending: bytearray) -> Iterator[bytes]:
    """Cut whole packets off the front."""
    at, end = 0, len(pending)
    while end - at >= 4:
        stop = _head(pending, at)[2]
        if stop > end:
            break
        yield bytes(pending[at:stop])
        at = stop
    del pending[:at]


class Packet(NamedTuple):
    """What was in a packet of the link, or in one without."""

    network: bytes
    token: bytes
    """The whole element, to be sent back."""
    nack: bool


def opened(raw: bytes) -> Packet:
    """The network packet in what came."""
    if raw[0] != LINK:
        return Packet(raw, b"", False)
    _, at, end = _head(raw, 0)
    token, network = b"", b""
    while at < end:
        begin = at
        type, start, at = _head(raw, at)
        if type == TOKEN:
            token = raw[begin:at]
        elif type == FRAGMENT:
            network = raw[start:at]
    return Packet(network, token, NACK in raw[:end] and network[:1] == bytes((INTEREST,)))


def base_name(size: int) -> bytes:
    """The name below which Data of so many bytes are asked for."""
    return PREFIX + element(8, b"%d" % size)


def interest(base: bytes, number: int) -> bytes:
    """An Interest for the Data of a number: no two have one name."""
    packed = _NUMBER.pack(number)
    name = base + b"\x08\x08" + packed
    return element(INTEREST, element(7, name) + b"\x0a\x04" + packed[4:] + _LIFETIME)


def name_of(network: bytes) -> bytes:
    """The name in an Interest or a Data."""
    _, at, _ = _head(network, 0)
    _, start, end = _head(network, at)
    return network[start:end]


def number_of(network: bytes) -> int:
    """The number in the name.

    >>> number_of(interest(base_name(100), 7))
    7
    """
    return int(_NUMBER.unpack(name_of(network)[-8:])[0])


class Answers:
    """Data of one size."""

    def __init__(self, size: int) -> None:
        self._rest = element(0x15, bytes(size)) + _DIGEST_INFO

    def to(self, name: bytes, token: bytes) -> bytes:
        """The Data of this name, in a packet of the link if the Interest came with a token."""
        signed = element(7, name) + self._rest
        data = element(DATA, signed + b"\x17\x20" + sha256(signed).digest())
        return element(LINK, token + element(FRAGMENT, data)) if token else data
