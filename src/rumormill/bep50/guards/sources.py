"""Whom an address belongs to: what it shares with others of the same owner.

Ports are free to choose and so are the lower 64 bits of an IPv6 address: neither makes another
owner. On loopback everybody has the same address, and the port tells them apart.
"""

from __future__ import annotations

from functools import lru_cache

from rumormill.core.addresses import owner_of
from rumormill.core.machine import Peer

REMEMBERED = 1 << 12
"""IPv6 addresses whose owner is kept at hand."""


def network_of(peer: Peer) -> str:
    """The IPv4 address, or the IPv6 network of 64 bits.

    >>> network_of("10.0.0.1:6881"), network_of("[2001:db8::7]:6881")
    ('10.0.0.1', '2001:db8::/64')
    """
    if peer[0] == "[":
        return _network6(peer)
    return peer[: peer.rindex(":")]


def source_of(peer: Peer) -> str:
    """The same, but on loopback everyone is a source of its own.

    >>> source_of("10.0.0.1:6881"), source_of("127.0.0.1:6881")
    ('10.0.0.1', '127.0.0.1:6881')
    """
    if peer.startswith(("127.", "[::1]")):
        return peer
    return network_of(peer)


@lru_cache(REMEMBERED)
def _network6(peer: Peer) -> str:
    return owner_of(peer[1 : peer.index("]")])
