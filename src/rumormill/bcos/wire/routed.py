"""What nodes of ours tell each other about nodes that are further away; a module of our own.

    hello     nothing: I speak this
    routes    for each node that has changed: id 64 | hops 1 | topic seq 8; no hops: not any more
    carried   hops left 1 | source 64 | destination 64 | protocol 4 | type 2 | seq 4 | payload

Nodes of other make ignore modules that they do not know.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from rumormill.bcos.wire.p2p_packet import P2PPacket
from rumormill.core.errors import RemoteProtocolError

ROUTED_MODULE: Final = 0x524D
ID_SIZE: Final = 64

_ROUTE: Final = Struct("!64sBQ")
_CARRIED: Final = Struct("!B64s64siHI")

MOST_IN_PACKET: Final = 1024
"""Routes of one packet."""


class RoutedType:
    """What a packet of this module is."""

    HELLO: Final = 1
    ROUTES: Final = 2
    CARRIED: Final = 3


class Route(NamedTuple):
    """How far a node is from who tells it; 0 hops: it cannot be reached any more."""

    node: str
    hops: int
    seq: int


class Carried(NamedTuple):
    """A packet for a node that is further away."""

    hops_left: int
    source: str
    destination: str
    packet: P2PPacket


def encode_routes(routes: Iterable[Route]) -> bytes:
    """Routes as they travel."""
    return b"".join(_ROUTE.pack(bytes.fromhex(r.node), r.hops, r.seq) for r in routes)


def decode_routes(payload: bytes) -> list[Route]:
    """Read them."""
    if len(payload) % _ROUTE.size or len(payload) > MOST_IN_PACKET * _ROUTE.size:
        raise RemoteProtocolError("bad_routes", f"{len(payload)} bytes")
    return [Route(node.hex(), hops, seq) for node, hops, seq in _ROUTE.iter_unpack(payload)]


def encode_carried(carried: Carried) -> bytes:
    """A packet in its wrapping."""
    hops_left, source, destination, packet = carried
    ends = bytes.fromhex(source), bytes.fromhex(destination)
    protocol, kind, seq, payload, _ = packet
    return _CARRIED.pack(hops_left, *ends, protocol, kind, seq) + payload


def decode_carried(payload: bytes) -> Carried:
    """Read it.

    >>> packet = P2PPacket(1, 0, 7, b"hello")
    >>> carried = Carried(8, "aa" * 64, "bb" * 64, packet)
    >>> decode_carried(encode_carried(carried)) == carried
    True
    """
    if len(payload) < _CARRIED.size:
        raise RemoteProtocolError("bad_carried", f"{len(payload)} bytes")
    hops_left, source, destination, protocol, kind, seq = _CARRIED.unpack_from(payload)
    packet = P2PPacket(protocol, kind, seq, payload[_CARRIED.size :])
    return Carried(hops_left, source.hex(), destination.hex(), packet)
