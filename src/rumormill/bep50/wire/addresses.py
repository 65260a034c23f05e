"""Addresses: as text, which is what a peer of this family is, and in the compact form of packets.

>>> compact("127.0.0.1:6881").hex(), from_compact(bytes(15) + b"\\x01\\x1a\\xe1")
('7f0000011ae1', '[::1]:6881')
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from typing import NamedTuple

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

ID_SIZE = 20
"""Bytes of a node id, and of a topic's target."""

NODE_SIZE = ID_SIZE + 6
"""Bytes of a node in ``nodes``."""

NODE6_SIZE = ID_SIZE + 18
"""Bytes of a node in ``nodes6``."""

REMEMBERED = 1 << 15
"""Addresses whose other form is kept at hand: each one is needed again and again."""

_ADDRESS = re.compile(r"(?:\[([^\[\]]{1,100})\]|([^:\[\]]{1,253})):([0-9]{1,5})", re.ASCII)
_NUMBERS = re.compile(r"[0-9.]+", re.ASCII)
_HOST_NAME = re.compile(r"[A-Za-z0-9_.-]{1,253}", re.ASCII)


class NodeInfo(NamedTuple):
    """A node as others tell of it: its id and where it is said to be."""

    id: bytes
    peer: str


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of an address as a user writes it; the host may be a name.

    >>> parse_address("localhost:6881"), parse_address("[0:0::1]:6881")
    (('localhost', 6881), ('::1', 6881))
    >>> parse_address("127.0.0.1")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.LocalProtocolError: cannot use the address '127.0.0.1': it must be HOST:PORT or [IPV6]:PORT
    """  # noqa: E501
    try:
        return _split(text, names=True)
    except ValueError as error:
        raise _not_an_address(text, error) from None


def parse_peer(text: str) -> tuple[str, int]:
    """IP address and port of a peer; a host name is refused, as nobody here can look it up.

    >>> parse_peer("[0::1]:6881")
    ('::1', 6881)
    """
    try:
        return _split(text, names=False)
    except ValueError as error:
        raise _not_an_address(text, error) from None


@lru_cache(REMEMBERED)
def peer_text(host: str, port: int) -> str:
    """The peer at an IP address, in the one form in which it is compared.

    >>> peer_text("0:0::1", 6881), peer_text("::ffff:127.0.0.1", 6881)
    ('[::1]:6881', '127.0.0.1:6881')
    """
    try:
        if not 0 <= port <= 0xFFFF:
            raise ValueError(f"the port {port} is not between 0 and 65535")
        host = _usual_host(host)
    except ValueError as error:
        raise _not_an_address(f"{host}:{port}", error) from None
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def is_ipv6(peer: str) -> bool:
    """Whether the peer is reached over IPv6.

    >>> is_ipv6("[::1]:6881"), is_ipv6("127.0.0.1:6881")
    (True, False)
    """
    return peer.startswith("[")


@lru_cache(REMEMBERED)
def compact(peer: str) -> bytes:
    """The address in 6 bytes (IPv4) or 18 (IPv6)."""
    host, port = parse_peer(peer)
    packed = IPv6Address(host).packed if ":" in host else IPv4Address(host).packed
    return packed + port.to_bytes(2, "big")


@lru_cache(REMEMBERED)
def from_compact(raw: bytes) -> str:
    """The peer of a compact address; :class:`RemoteProtocolError` if it has not 6 or 18 bytes."""
    port = int.from_bytes(raw[-2:], "big")
    if len(raw) == 6:
        return f"{raw[0]}.{raw[1]}.{raw[2]}.{raw[3]}:{port}"
    if len(raw) == 18:
        return peer_text(str(IPv6Address(raw[:16])), port)
    raise RemoteProtocolError("bad_address", f"an address of {len(raw)} bytes")


def is_usable(raw: bytes) -> bool:
    """Whether a compact address is that of one machine to which a datagram can be sent.

    Not so: port 0, multicast, unspecified, broadcast and reserved addresses, and those that mean
    something else to each machine (IPv4 inside IPv6, an IPv6 link without its name).

    >>> is_usable(compact("10.0.0.1:6881")), is_usable(compact("224.0.0.1:6881"))
    (True, False)
    """
    if raw[-2:] == b"\0\0":
        return False
    if len(raw) == 6:
        return 0 < raw[0] < 224
    if raw[0] == 0:
        # Of the addresses that begin so, only ::1 is a host's and not a form of IPv4.
        return raw.startswith(_LOOPBACK6)
    return raw[0] != 0xFF and not (raw[0] == 0xFE and raw[1] & 0xC0 == 0x80)


def compact_nodes(nodes: Iterable[NodeInfo]) -> bytes:
    """Nodes as they stand in ``nodes`` (all of them IPv4) or ``nodes6`` (all of them IPv6)."""
    return b"".join([node.id + compact(node.peer) for node in nodes])


def read_nodes(raw: bytes, ipv6: bool) -> list[NodeInfo]:
    """The nodes of ``nodes`` or ``nodes6``, without a broken tail and without unusable addresses.

    >>> read_nodes(b"n" * 20 + compact("10.0.0.1:6881") + b"tail", ipv6=False)
    [NodeInfo(id=b'nnnnnnnnnnnnnnnnnnnn', peer='10.0.0.1:6881')]
    """
    size = NODE6_SIZE if ipv6 else NODE_SIZE
    nodes = []
    for start in range(0, len(raw) - size + 1, size):
        middle = start + ID_SIZE
        address = raw[middle : start + size]
        if is_usable(address):
            nodes.append(NodeInfo(raw[start:middle], from_compact(address)))
    return nodes


_LOOPBACK6 = IPv6Address("::1").packed


def _split(text: str, *, names: bool) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ValueError("it must be HOST:PORT or [IPV6]:PORT")
    bracketed, plain, digits = found.groups()
    port = int(digits)
    if port > 0xFFFF:
        raise ValueError(f"the port {port} is not between 0 and 65535")
    if bracketed is not None:
        if ":" not in bracketed:
            raise ValueError("only an IPv6 address stands in brackets")
        return _usual_host(bracketed), port
    if _NUMBERS.fullmatch(plain):
        return _usual_host(plain), port
    if not names:
        raise ValueError(f"{plain!r} is not an IP address")
    if not _HOST_NAME.fullmatch(plain):
        raise ValueError(f"{plain!r} is not a host name")
    return plain, port


def _usual_host(host: str) -> str:
    """The usual spelling of an IP address; IPv4 inside IPv6 is IPv4 by another way."""
    if ":" not in host:
        return str(IPv4Address(host))
    address = IPv6Address(host)
    return str(address.ipv4_mapped or address)


def _not_an_address(text: str, problem: Exception) -> LocalProtocolError:
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    return LocalProtocolError(f"cannot use the address {shown!r}: {problem}")


def known_peers(addresses: Iterable[str]) -> list[str]:
    """Those of the addresses whose host is no name.

    >>> known_peers(["localhost:6881", "[0::1]:6881"])
    ['[::1]:6881']
    """
    found: list[str] = []
    for address in addresses:
        with contextlib.suppress(LocalProtocolError):
            found.append(peer_text(*parse_address(address)))
    return found
