"""How a family writes addresses: what a transport needs to know of them, and no more.

Addresses are text in the family's own notation. Whoever opens sockets, or makes up addresses for a
simulation, asks the family to read and write them.
"""

from __future__ import annotations

import ipaddress
from typing import NamedTuple, Protocol

from rumormill.core.errors import LocalProtocolError


class Endpoint(NamedTuple):
    """Where an address leads."""

    host: str
    """An IP address or a name."""
    port: int
    version: int | None = None
    """The version of IP that the address asks for, 4 or 6; None where a name may have both."""


class Addresses(Protocol):
    """The notation of one family."""

    def parse(self, text: str) -> Endpoint:
        """Read an address as a user writes it.

        Raises :class:`~rumormill.core.errors.LocalProtocolError` for what is none.
        """
        ...

    def text(self, host: str, port: int) -> str:
        """The address of an IP address and a port, in the one form in which it is compared."""
        ...


class HostPort:
    """The plainest notation: ``10.0.0.1:4001``, and ``[::1]:4001`` for IPv6.

    >>> HostPort().parse("[::1]:4001"), HostPort().text("10.0.0.1", 4001)
    (Endpoint(host='::1', port=4001, version=6), '10.0.0.1:4001')
    """

    def parse(self, text: str) -> Endpoint:
        """Read an address; whether its host exists is for others to find out."""
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 0xFFFF:
            raise LocalProtocolError(f"cannot use the address {text[:200]!r}: it must be HOST:PORT")
        if host.startswith("[") and host.endswith("]"):
            return Endpoint(host[1:-1], int(port), 6)
        return Endpoint(host, int(port), 4 if host.replace(".", "").isdecimal() else None)

    def text(self, host: str, port: int) -> str:
        """Write an address."""
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def owner_of(host: str) -> str:
    """What an IP address shares with others of the same owner: IPv4 as it is, IPv6 its /64.

    The lower half of an IPv6 address is free to choose, and makes no other owner. What is no IP
    address owns itself.

    >>> owner_of("192.0.2.1"), owner_of("2001:db8::1:2"), owner_of("::ffff:192.0.2.1")
    ('192.0.2.1', '2001:db8::/64', '192.0.2.1')
    """
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))
