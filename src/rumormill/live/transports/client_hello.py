"""What a TLS client offers in the first thing that it sends, read before OpenSSL sees it.

A node that serves clients of two kinds at one port has to know the kind before it answers: a
context of Python's :mod:`ssl` can be pinned to one group, and has the certificates of one kind.

    offer = read_client_hello(b"".join(came_so_far))
    if offer is None:
        ...  # wait for more
    elif SECP256K1 in offer.groups:
        ...

Nothing here decides whether a hello is right. Of one that is odd nothing is known, and OpenSSL
says what is wrong with it.
"""

from __future__ import annotations

from typing import NamedTuple

HEADER = 5
"""Bytes before each record: its type, a version, its length."""

LARGEST_RECORD = 1 << 14
"""Bytes of a record that is not encrypted."""

HANDSHAKE, CLIENT_HELLO = 22, 1
SUPPORTED_GROUPS, SIGNATURE_ALGORITHMS = 10, 13

SECP256K1 = 22
"""The number of the group among the supported ones (RFC 8422)."""


class Offer(NamedTuple):
    """What a client offers; empty where it says nothing, or nothing that can be read."""

    groups: tuple[int, ...] = ()
    """Groups for the exchange of keys, by their number in TLS, the best first."""
    signature_algorithms: tuple[int, ...] = ()
    """Pairs of hash and signature, by their number in TLS, the best first."""


UNKNOWN = Offer()
"""Of a hello that is none, or is spread over several records."""


class _OddError(ValueError):
    """The bytes are no hello in one record."""


def read_client_hello(data: bytes | bytearray) -> Offer | None:
    """What the client offers; None if more bytes must come first, which are never many.

    >>> read_client_hello(bytes.fromhex("160301"))
    >>> read_client_hello(b"GET / HTTP/1.1")
    Offer(groups=(), signature_algorithms=())
    """
    if data[:1] and data[0] != HANDSHAKE:
        return UNKNOWN
    if len(data) < HEADER:
        return None
    end = HEADER + _number(data, 3, 2)
    if data[1] != 3 or end > HEADER + LARGEST_RECORD:
        return UNKNOWN
    if len(data) < end:
        return None
    try:
        return _offer(bytes(data[HEADER:end]))
    except _OddError:
        return UNKNOWN


def _offer(record: bytes) -> Offer:
    """Of the bytes in one record."""
    if record[:1] != bytes((CLIENT_HELLO,)):
        raise _OddError
    place, end = _part(record, 1, len(record), 3)
    place += 2 + 32  # the version and 32 random bytes
    for size in (1, 2, 1):  # the session, the cipher suites, the compressions
        _, place = _part(record, place, end, size)
    if place == end:  # before TLS 1.2 there may be no extensions at all
        return UNKNOWN
    place, end = _part(record, place, end, 2)
    groups: tuple[int, ...] = ()
    algorithms: tuple[int, ...] = ()
    while place < end:
        start, after = _part(record, place + 2, end, 2)
        kind = _number(record, place, 2)
        if kind == SUPPORTED_GROUPS:
            groups = _numbers(record, start, after)
        elif kind == SIGNATURE_ALGORITHMS:
            algorithms = _numbers(record, start, after)
        place = after
    return Offer(groups, algorithms)


def _part(record: bytes, place: int, end: int, size: int) -> tuple[int, int]:
    """Where a part begins and ends whose length is told by ``size`` bytes at ``place``."""
    start = place + size
    if start > end:
        raise _OddError
    after = start + _number(record, place, size)
    if after > end:
        raise _OddError
    return start, after


def _numbers(record: bytes, place: int, end: int) -> tuple[int, ...]:
    """A list of numbers of two bytes, after its length."""
    start, after = _part(record, place, end, 2)
    return tuple(_number(record, each, 2) for each in range(start, after - 1, 2))


def _number(data: bytes | bytearray, place: int, size: int) -> int:
    return int.from_bytes(data[place : place + size], "big")
