"""Addresses of libp2p: ``/ip4/127.0.0.1/tcp/4001/p2p/12D3KooW...``, as text and as bytes.

Only what we can dial or listen on is an address here: a host, a TCP port, and perhaps the peer that
is to answer. Anything else (udp, quic, relays, zones) is refused with a sentence that names it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.protobuf import decode_varint, encode_varint
from rumormill.libp2p.stack import peer_id

LONGEST_ADDRESS = 512
"""Bytes or characters; a host name has at most 253, a peer id at most 44 bytes."""

_CODES = {"ip4": 4, "tcp": 6, "ip6": 41, "dns": 53, "dns4": 54, "dns6": 55, "p2p": 421}
_NAMES = {code: name for name, code in _CODES.items()}
_SIZES = {"ip4": 4, "tcp": 2, "ip6": 16}  # the others have their length before them
_FAMILIES = ("ip4", "ip6", "dns", "dns4", "dns6")
_HOST_NAME = re.compile(r"[A-Za-z0-9_.-]{1,253}")
_PORT = re.compile(r"[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Multiaddr:
    """Where a peer can be reached. Equal addresses are equal, however they were written.

    >>> address = Multiaddr.parse("/ip6/0:0:0:0:0:0:0:1/tcp/4001")
    >>> str(address), address.to_bytes().hex()
    ('/ip6/::1/tcp/4001', '2900000000000000000000000000000001060fa1')
    """

    family: str
    """One of ``ip4``, ``ip6``, ``dns``, ``dns4``, ``dns6``."""
    host: str
    port: int
    peer: str | None = None
    """Who is to answer there, as a base58 peer id."""

    def __post_init__(self) -> None:
        try:
            # Frozen, but one host and one peer have several spellings: keep the usual one.
            object.__setattr__(self, "host", _usual_host(self.family, self.host))
            if not 0 <= self.port <= 0xFFFF:
                raise ValueError(f"the port {self.port} is not between 0 and 65535")
            if self.peer is not None:
                object.__setattr__(self, "peer", peer_id.to_text(peer_id.from_text(self.peer)))
        except (ValueError, LocalProtocolError) as error:
            raise _not_an_address(str(self), error) from None

    @classmethod
    def parse(cls, text: str) -> Multiaddr:
        """Read an address as a user writes it; :class:`LocalProtocolError` if we cannot use it.

        >>> Multiaddr.parse("/dns4/example.org/tcp/4001").host
        'example.org'
        """
        try:
            return cls._from_parts(_text_parts(text))
        except ValueError as error:
            raise _not_an_address(text, error) from None

    @classmethod
    def from_bytes(cls, raw: bytes) -> Multiaddr:
        """Read an address as a peer sends it; :class:`RemoteProtocolError` if we cannot use it."""
        try:
            address = cls._from_parts(_binary_parts(raw))
        except (ValueError, LocalProtocolError, RemoteProtocolError) as error:
            raise RemoteProtocolError("bad_address", str(error)) from None
        if address.to_bytes() != raw:
            raise RemoteProtocolError("bad_address", f"{address} in a longer form than need be")
        return address

    @classmethod
    def _from_parts(cls, parts: Iterator[tuple[str, str]]) -> Multiaddr:
        """Host, port and perhaps peer, in this order and nothing else."""
        family, host = next(parts, ("", ""))
        if family not in _FAMILIES:
            raise ValueError(f"it must begin with one of {', '.join(_FAMILIES)}")
        transport, port = next(parts, ("", ""))
        if transport != "tcp":
            raise ValueError("a tcp port must follow the host")
        if not _PORT.fullmatch(port):
            raise ValueError(f"{port!r} is not a port")
        name, peer = next(parts, ("p2p", None))
        if name != "p2p" or next(parts, None) is not None:
            raise ValueError("only a p2p peer id may follow the port")
        return cls(family, host, int(port), peer)

    def to_bytes(self) -> bytes:
        """The address as it is sent to peers."""
        host = self.host.encode("ascii")
        if self.family == "ip4":
            host = ipaddress.IPv4Address(self.host).packed
        elif self.family == "ip6":
            host = ipaddress.IPv6Address(self.host).packed
        raw = _binary_part(self.family, host) + _binary_part("tcp", self.port.to_bytes(2, "big"))
        if self.peer is not None:
            raw += _binary_part("p2p", peer_id.from_text(self.peer))
        return raw

    def __str__(self) -> str:
        text = f"/{self.family}/{self.host}/tcp/{self.port}"
        return text if self.peer is None else f"{text}/p2p/{self.peer}"

    def with_peer(self, peer: str) -> Multiaddr:
        """The same address, to be answered by ``peer``."""
        return replace(self, peer=peer)

    def without_peer(self) -> Multiaddr:
        """The same address, whoever answers."""
        return replace(self, peer=None)


def _not_an_address(text: str, problem: Exception) -> LocalProtocolError:
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    return LocalProtocolError(f"cannot use the address {shown!r}: {problem}")


def _usual_host(family: str, host: str) -> str:
    """The usual spelling of a host, if it is one of this family."""
    if family == "ip4":
        return str(ipaddress.IPv4Address(host))
    if family == "ip6":
        if "%" in host:
            raise ValueError("a zone means nothing to another machine")
        address = ipaddress.IPv6Address(host)
        # Python versions differ on how to write these.
        mapped = address.ipv4_mapped
        return str(address) if mapped is None else f"::ffff:{mapped}"
    if family not in _FAMILIES:
        raise ValueError(f"{family!r} is none of {', '.join(_FAMILIES)}")
    if not _HOST_NAME.fullmatch(host):
        raise ValueError(f"{host!r} is not a host name")
    return host


def _text_parts(text: str) -> Iterator[tuple[str, str]]:
    """Protocol and value, in turn."""
    if len(text) > LONGEST_ADDRESS:
        raise ValueError(f"it has {len(text)} characters, {LONGEST_ADDRESS} are allowed")
    empty, *pieces = text.split("/")
    if empty or not pieces:
        raise ValueError("it must begin with a slash")
    for name, value in zip(pieces[::2], [*pieces[1::2], ""], strict=False):
        name = "p2p" if name == "ipfs" else name  # what it was called before 2019
        if name == "ip6zone":
            raise ValueError("a zone means nothing to another machine")
        if name not in _CODES:
            raise ValueError(f"{name!r} is none of the protocols {', '.join(_CODES)}")
        if not value:
            raise ValueError(f"nothing stands behind {name!r}")
        yield name, value


def _binary_parts(raw: bytes) -> Iterator[tuple[str, str]]:
    """Protocol and value, in turn, the values as text."""
    end, offset = len(raw), 0
    if end > LONGEST_ADDRESS:
        raise ValueError(f"it has {end} bytes, {LONGEST_ADDRESS} are allowed")
    while offset < end:
        code, offset = decode_varint(raw, offset, end)
        name = _NAMES.get(code)
        if name is None:
            raise ValueError(f"the protocol {code} is not one that we use")
        size = _SIZES.get(name, 0)
        if not size:
            size, offset = decode_varint(raw, offset, end)
        value = raw[offset : offset + size]
        if len(value) < size:
            raise ValueError("it is cut short")
        offset += size
        yield name, _value_as_text(name, value)


def _value_as_text(name: str, value: bytes) -> str:
    if name == "ip4":
        return str(ipaddress.IPv4Address(value))
    if name == "ip6":
        return str(ipaddress.IPv6Address(value))
    if name == "tcp":
        return str(int.from_bytes(value, "big"))
    if name == "p2p":
        return peer_id.to_text(peer_id.check_peer_id(value))
    return value.decode("ascii")  # a UnicodeDecodeError is a ValueError


def _binary_part(name: str, value: bytes) -> bytes:
    size = b"" if name in _SIZES else encode_varint(len(value))
    return encode_varint(_CODES[name]) + size + value
