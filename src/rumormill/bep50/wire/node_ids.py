"""Node ids: how far one is from another, and which of them an address may have (BEP 42)."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from random import Random

from rumormill.bep50.wire.addresses import ID_SIZE

ID_BITS = 8 * ID_SIZE


def distance(one: bytes, other: bytes) -> int:
    """The XOR of two ids, as a number.

    >>> distance(b"\\0" * 20, b"\\0" * 19 + b"\\5")
    5
    """
    return int.from_bytes(one, "big") ^ int.from_bytes(other, "big")


def shared_prefix(one: bytes, other: bytes) -> int:
    """How many leading bits two ids have in common, 160 if they are equal.

    >>> shared_prefix(b"\\0" * 20, b"\\x10" + b"\\0" * 19)
    3
    """
    return ID_BITS - distance(one, other).bit_length()


def random_id_with_prefix(own_id: bytes, bits: int, random: Random) -> bytes:
    """A random id that has exactly the first ``bits`` bits (0 to 159) in common with ours.

    To look for it fills the bucket of those nodes.
    """
    free = ID_BITS - bits - 1
    number = int.from_bytes(own_id, "big") >> free ^ 1
    return (number << free | random.getrandbits(free)).to_bytes(ID_SIZE, "big")


# ---- BEP 42: an id belongs to an IP address, so that nobody can choose where it stands

_MASK4 = 0x030F3FFF
_MASK6 = 0x0103070F1F3F7FFF

_EXEMPT = [
    ip_network(text)
    for text in (
        "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "127.0.0.0/8",
        "::1/128", "fe80::/10", "fc00::/7",
    )
]  # fmt: skip
"""Addresses that mean something else in each network: whoever is there has any id it likes."""


def make_id(ip: str, random: Random) -> bytes:
    """An id that is allowed to this IP address.

    >>> is_valid_id(make_id("124.31.75.21", Random(1)), "124.31.75.21")
    True
    """
    last = random.getrandbits(8)
    prefix = _prefix(ip, last & 7) << 3 | random.getrandbits(3)
    return prefix.to_bytes(3, "big") + random.randbytes(16) + bytes([last])


@lru_cache(4096)
def is_valid_id(id: bytes, ip: str) -> bool:
    """Whether this id is allowed to this IP address; a local one may have any."""
    if is_exempt(ip):
        return True
    return int.from_bytes(id[:3], "big") >> 3 == _prefix(ip, id[-1] & 7)


def is_exempt(ip: str) -> bool:
    """Whether BEP 42 lets nodes at this address choose their id: it is of a private network."""
    address = ip_address(ip)
    return any(address in network for network in _EXEMPT)


def _prefix(ip: str, seed: int) -> int:
    """The first 21 bits of an id; ``seed`` is the last 3."""
    address = ip_address(ip)
    if isinstance(address, IPv4Address):
        masked = int(address) & _MASK4 | seed << 29
        return _crc32c(masked.to_bytes(4, "big")) >> 11
    masked = _network_part(address) & _MASK6 | seed << 61
    return _crc32c(masked.to_bytes(8, "big")) >> 11


def _network_part(address: IPv6Address) -> int:
    """The 64 bits that a site is given; the others it can choose."""
    return int(address) >> 64


def _crc32c_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_CRC32C = _crc32c_table()


def _crc32c(raw: bytes) -> int:
    """CRC-32C (Castagnoli), which the standard library does not have."""
    crc = 0xFFFFFFFF
    for byte in raw:
        crc = crc >> 8 ^ _CRC32C[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
