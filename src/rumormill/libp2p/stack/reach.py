"""From where an address can be reached: from everywhere, from its own network, its own machine."""

from __future__ import annotations

import enum
import ipaddress

from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.stack.multiaddr import Multiaddr


class Reach(enum.Enum):
    """How far an address is known."""

    PUBLIC = "public"
    PRIVATE = "private"
    """A network of somebody's own, ours perhaps, or one that means nothing outside of it."""
    LOOPBACK = "loopback"
    """The machine of whoever says it."""
    NOWHERE = "nowhere"
    """Nobody can be dialed there."""


def reach_of(address: Multiaddr) -> Reach:
    """From where the address can be reached, as far as its text tells: no name is looked up.

    >>> [reach_of(Multiaddr.parse(f"/ip4/{host}/tcp/1")).value for host in ("8.8.8.8", "10.0.0.1")]
    ['public', 'private']
    >>> reach_of(Multiaddr.parse("/dns4/localhost/tcp/1")), reach_of(Multiaddr("ip4", "8.8.8.8", 0))
    (<Reach.LOOPBACK: 'loopback'>, <Reach.NOWHERE: 'nowhere'>)
    """
    if not address.port:
        return Reach.NOWHERE
    if address.family not in ("ip4", "ip6"):
        return _reach_of_name(address.host.lower().rstrip("."))
    host: ipaddress.IPv4Address | ipaddress.IPv6Address = ipaddress.ip_address(address.host)
    if isinstance(host, ipaddress.IPv6Address) and host.ipv4_mapped is not None:
        host = host.ipv4_mapped
    if host.is_loopback:
        return Reach.LOOPBACK
    if host.is_unspecified or host.is_multicast or host.is_link_local or host.is_reserved:
        return Reach.NOWHERE
    return Reach.PUBLIC if host.is_global else Reach.PRIVATE


def _reach_of_name(name: str) -> Reach:
    last = name.rpartition(".")[2]
    if last == "localhost":
        return Reach.LOOPBACK
    return Reach.PUBLIC if "." in name and last not in ("local", "internal") else Reach.PRIVATE


def reach_of_text(text: str) -> Reach:
    """The same of an address as text; what is none of ours is nowhere.

    >>> reach_of_text("/ip4/127.0.0.1/tcp/4001"), reach_of_text("")
    (<Reach.LOOPBACK: 'loopback'>, <Reach.NOWHERE: 'nowhere'>)
    """
    try:
        return reach_of(Multiaddr.parse(text))
    except LocalProtocolError:
        return Reach.NOWHERE
