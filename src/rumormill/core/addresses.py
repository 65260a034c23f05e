"""How a family writes addresses: what a transport needs to know of them, and no more.

Addresses are text in the family's own notation. Whoever opens sockets, or makes up addresses for a
simulation, asks the family to read and write them.
"""

from __future__ import annotations

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
