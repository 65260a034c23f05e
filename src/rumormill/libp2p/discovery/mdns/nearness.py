"""Which addresses are told on a link, and which of those that others tell there are dialed."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.reach import Reach, reach_of

EVERYWHERE = {"ip4": "0.0.0.0", "ip6": "::"}
"""Bound there, a node listens at all addresses of its machine."""

SAME_NETWORK = 64
"""Bits of IPv6 that hosts of one link share."""


def announced(listening: Iterable[Multiaddr], host: str) -> tuple[Multiaddr, ...]:
    """What we tell on a link where our own address is ``host``.

    Addresses there; if there are none but on loopback, then these: another node of this machine may
    hear it.

    >>> everywhere = [Multiaddr.parse("/ip4/0.0.0.0/tcp/4001")]
    >>> [str(each) for each in announced(everywhere, "192.168.1.7")]
    ['/ip4/192.168.1.7/tcp/4001']
    """
    family = "ip6" if ":" in host else "ip4"
    here: dict[Multiaddr, None] = {}
    own_machine: dict[Multiaddr, None] = {}
    for address in listening:
        if address.host == EVERYWHERE.get(address.family):
            if address.family == family and not ipaddress.ip_address(host).is_link_local:
                here[Multiaddr(family, host, address.port)] = None
        elif address.host == host:
            here[address] = None
        elif reach_of(address) is Reach.LOOPBACK:
            own_machine[address] = None
    return tuple(here or own_machine)


def dialable(
    addresses: Iterable[Multiaddr], sender: str, host: str, own: Iterable[Multiaddr] = ()
) -> tuple[Multiaddr, ...]:
    """Which of the addresses that ``sender`` told on a link are to be dialed.

    mDNS is about the local network: nobody is to make us dial the world. Loopback is the machine of
    whoever says it, so it counts if the sender is at our own address ``host``; an address of the
    world, if it is the sender's, or of the same network of IPv6 as one of our ``own``.

    >>> told = [Multiaddr.parse(f"/ip4/{host}/tcp/1") for host in ("10.0.0.9", "8.8.8.8")]
    >>> [str(each) for each in dialable(told, "10.0.0.9", "10.0.0.1")]
    ['/ip4/10.0.0.9/tcp/1']
    """
    allowed = {Reach.PRIVATE}
    if sender == host:
        allowed.add(Reach.LOOPBACK)
    networks = {_network(each) for each in own if each.family == "ip6"}
    return tuple(
        each
        for each in addresses
        if (reach := reach_of(each)) in allowed
        or (
            reach is Reach.PUBLIC
            and (each.host == sender or (each.family == "ip6" and _network(each) in networks))
        )
    )


def _network(address: Multiaddr) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    return ipaddress.ip_network(f"{address.host}/{SAME_NETWORK}", strict=False)
