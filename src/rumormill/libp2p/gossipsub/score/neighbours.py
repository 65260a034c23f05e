"""P6: which peers share an address."""

from __future__ import annotations

import ipaddress

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.score.parameters import Colocation
from rumormill.libp2p.stack.multiaddr import Multiaddr

IPV6_GROUP = 64
"""Bits of an IPv6 address that everybody with one address has more of than he needs."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class Neighbours:
    """Who is where, as far as it counts: not on this machine, and not where anybody may be."""

    def __init__(self, colocation: Colocation) -> None:
        self._threshold = colocation.threshold
        self._allowed = [ipaddress.ip_network(each) for each in colocation.allowed]
        self._groups: dict[str, dict[Peer, None]] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, peer: Peer, address: str) -> tuple[str, ...]:
        """A peer is at an address; returns the groups that it is in."""
        groups = self._groups_of(address)
        for group in groups:
            self._groups.setdefault(group, {})[peer] = None
        return groups

    def remove(self, peer: Peer, groups: tuple[str, ...]) -> None:
        """A peer is forgotten."""
        for group in groups:
            peers = self._groups.get(group)
            if peers is not None:
                peers.pop(peer, None)
                if not peers:
                    del self._groups[group]

    def surplus(self, groups: tuple[str, ...]) -> float:
        """The squares of how many peers there are too many, of all the groups."""
        squares = 0.0
        for group in groups:
            surplus = len(self._groups.get(group, ())) - self._threshold
            if surplus > 0:
                squares += float(surplus * surplus)
        return squares

    def _groups_of(self, address: str) -> tuple[str, ...]:
        ip = ip_of(address)
        if ip is None or ip.is_loopback or any(ip in network for network in self._allowed):
            return ()
        if ip.version == 4:
            return (str(ip),)
        network = ipaddress.ip_network((ip, IPV6_GROUP), strict=False)
        return str(ip), str(network)


def ip_of(address: str) -> Address | None:
    """The IP address in a multiaddr; None if there is none.

    >>> ip_of("/ip6/::ffff:192.0.2.7/tcp/4001"), ip_of("/dns4/example.org/tcp/1"), ip_of("")
    (IPv4Address('192.0.2.7'), None, None)
    """
    try:
        parsed = Multiaddr.parse(address)
        ip = ipaddress.ip_address(parsed.host)
    except (LocalProtocolError, ValueError):
        return None
    if isinstance(ip, ipaddress.IPv6Address) and ip.ipv4_mapped is not None:
        return ip.ipv4_mapped  # one machine, two ways to write it
    return ip
