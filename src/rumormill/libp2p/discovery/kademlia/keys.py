"""Keys of the DHT: where peers and topics stand in it, and how far they are from each other."""

from __future__ import annotations

import hashlib

SHA2_256 = b"\x12\x20"
"""The head of a multihash of SHA-256."""

TOPIC_PREFIX = "floodsub:"
"""What go-libp2p-pubsub puts before a topic that it is to be found by, of every router."""

BITS = 256


def place_of(key: bytes) -> int:
    """Where a key stands: distances are between the hashes of keys, of peer ids as of others.

    >>> place_of(b"").bit_length()
    256
    """
    return int.from_bytes(hashlib.sha256(key).digest(), "big")


def topic_key(topic: str) -> bytes:
    """The key that providers of a topic are found under, as go's routing discovery makes it: the
    multihash of the namespace.

    >>> topic_key("weather").hex()[:12]
    '122047d1c0b1'
    """
    return SHA2_256 + hashlib.sha256((TOPIC_PREFIX + topic).encode("utf-8")).digest()


def common_prefix(one: int, other: int) -> int:
    """How many bits two places have in common, from the first on.

    >>> common_prefix(1 << 255, 0), common_prefix(1, 0), common_prefix(7, 7)
    (0, 255, 256)
    """
    return BITS - (one ^ other).bit_length()
