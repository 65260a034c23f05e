"""How faces are addressed: ``tcp://HOST:PORT``, ``udp://HOST:PORT`` and ``unix:///PATH``.

``tcp4://``, ``tcp6://``, ``udp4://`` and ``udp6://``, as other forwarders write them, are read
alike and ask for that version of IP. Without a port it is 6363, which is NDN's. Who connects to a
Unix socket of ours has no address of its own: it is called by ours and a number,
``unix:///run/ndn.sock#3``.

:data:`TCP` and :data:`UDP` are what a transport reads and writes addresses with; paths of Unix
sockets it knows by itself.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from rumormill.core.addresses import Endpoint, HostPort, owner_of
from rumormill.core.errors import LocalProtocolError

Scheme = Literal["tcp", "udp", "unix"]

PORT: Final = 6363
"""Of NDN, where an address names none."""

MOST_TEXT: Final = 1000
"""Characters of an address. Names of hosts have 253 at most, paths of sockets hardly more than a
hundred."""

SCHEMES: Final[dict[str, tuple[Scheme, int | None]]] = {
    "tcp": ("tcp", None),
    "tcp4": ("tcp", 4),
    "tcp6": ("tcp", 6),
    "udp": ("udp", None),
    "udp4": ("udp", 4),
    "udp6": ("udp", 6),
    "unix": ("unix", None),
}
"""What stands before ``://``: the kind of socket, and the version of IP."""

REMEMBERED: Final = 1 << 12
"""Addresses of which it is kept at hand what they say."""

_HOST_PORT: Final = HostPort()


class Place(NamedTuple):
    """Where an address leads."""

    scheme: Scheme
    host: str
    """An IP address or a name; the path, for a Unix socket."""
    port: int
    version: int | None
    """The version of IP; None where a name may have both."""


def read_address(text: str) -> Place:
    """What an address says. :class:`LocalProtocolError` for what is none.

    >>> read_address("udp4://localhost")
    Place(scheme='udp', host='localhost', port=6363, version=4)
    >>> read_address("unix:///run/nfd/nfd.sock").host
    '/run/nfd/nfd.sock'
    >>> read_address("unix://nfd.sock")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.LocalProtocolError: cannot use the address 'unix://nfd.sock': it must \
be unix:///PATH, with a whole path
    """
    prefix, separator, rest = text.partition("://")
    known = SCHEMES.get(prefix)
    if known is None or not separator or len(text) > MOST_TEXT or not text.isprintable():
        raise _unusable(text, "it must be tcp://HOST:PORT, udp://HOST:PORT or unix:///PATH")
    scheme, version = known
    if scheme == "unix":
        if not rest.startswith("/") or rest.endswith("/"):
            raise _unusable(text, "it must be unix:///PATH, with a whole path")
        return Place("unix", rest, 0, None)
    host, port, found = _host_and_port(text, rest)
    if version is not None and found is not None and version != found:
        raise _unusable(text, f"it is an address of IPv{found}")
    return Place(scheme, host, port, found or version)


def _host_and_port(text: str, rest: str) -> Endpoint:
    if rest.endswith("]") or ":" not in rest:
        rest = f"{rest}:{PORT}"
    try:
        host, port, version = _HOST_PORT.parse(rest)
    except LocalProtocolError:
        raise _unusable(text, "there must be a HOST, or HOST:PORT, behind ://") from None
    literal = _literal(host)
    if literal is None:
        if version is not None or not host or any(mark in host for mark in ":/@[]?# "):
            raise _unusable(text, f"{host[:200]!r} is no host")
        return Endpoint(host.lower(), port)
    if ":" in host and version != 6:
        raise _unusable(text, "an address of IPv6 stands in brackets: tcp://[::1]:6363")
    return Endpoint(str(literal), port, literal.version)


def _literal(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _unusable(text: str, problem: str) -> LocalProtocolError:
    return LocalProtocolError(f"cannot use the address {text[:200]!r}: {problem}")


class IpAddresses:
    """The addresses of one kind of sockets: see :class:`~rumormill.core.addresses.Addresses`.

    >>> TCP.parse("tcp6://[::1]:6363"), UDP.text("127.0.0.1", 6363)
    (Endpoint(host='::1', port=6363, version=6), 'udp://127.0.0.1:6363')
    """

    __slots__ = ("_scheme",)

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme

    def parse(self, text: str) -> Endpoint:
        """Read an address as a user writes it."""
        scheme, host, port, version = read_address(text)
        if scheme != self._scheme:
            raise _unusable(text, f"it must be {self._scheme}://HOST:PORT")
        return Endpoint(host, port, version)

    def text(self, host: str, port: int) -> str:
        """Write an address, in the one form in which it is compared."""
        return f"{self._scheme}://{_HOST_PORT.text(host, port)}"


TCP: Final = IpAddresses("tcp")
UDP: Final = IpAddresses("udp")


def canonical(text: str) -> str:
    """An address in the one form in which it is compared.

    >>> canonical("udp4://127.0.0.1"), canonical("tcp://[0:0::1]:80")
    ('udp://127.0.0.1:6363', 'tcp://[::1]:80')
    """
    scheme, host, port, version = read_address(text)
    if scheme == "unix":
        return text
    of_name = version is not None and _literal(host) is None
    return f"{scheme}{version if of_name else ''}://{_HOST_PORT.text(host, port)}"


@lru_cache(REMEMBERED)
def is_local(text: str) -> bool:
    """Whether who has an address is on this machine, as far as the address tells.

    >>> is_local("unix:///run/nfd.sock"), is_local("tcp://127.0.0.1:6363")
    (True, True)
    >>> is_local("udp://[::ffff:127.0.0.1]:6363"), is_local("tcp://192.0.2.1:6363")
    (True, False)
    """
    scheme, host, _, _ = read_address(text)
    if scheme == "unix":
        return True
    literal = _literal(host)
    if isinstance(literal, ipaddress.IPv6Address) and literal.ipv4_mapped is not None:
        literal = literal.ipv4_mapped
    return literal is not None and literal.is_loopback


@lru_cache(REMEMBERED)
def source_of(text: str) -> str:
    """Whom an address belongs to: what it shares with others of the same owner.

    On this machine everybody has the same address: there each is a source of its own.

    >>> source_of("udp://192.0.2.7:51000"), source_of("udp://127.0.0.1:51000")
    ('192.0.2.7', 'udp://127.0.0.1:51000')
    """
    return text if is_local(text) else owner_of(read_address(text).host)
