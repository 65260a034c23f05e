"""Names and ids that share a number under a hash without a secret (``xxhash64`` as Spark has it).

Anybody can make such: the hash adds up words of eight bytes in lanes, so a word that is changed in
the first 32 bytes of a name can be made good by another in the next 32. Topics collide because only
31 bits of theirs were once compared, and the names were found by trying some forty thousand.
"""

from __future__ import annotations

NETWORK = "collisions"

TOPICS = ("topic-37945", "topic-44686")
"""Equal in the last 31 bits of ``xxhash64(topic)``."""

NODES = (
    "node-of-which-another-one-has-the-number-of-it-in-sixty-four-bit",
    "node-of-which-anQeluEDNIe-has-the-number-of-it-iCPz1:zvhfour-bit",
)
"""Equal in ``xxhash64(network, node)``."""

MESSAGES = (
    bytes(range(64)),
    bytes.fromhex(
        "000102030405060708090a0b0c0d0e0f3637444f3249374f18191a1b1c1d1e1f"
        "202122232425262728292a2b2c2d2e2f4234385b2df4d25a38393a3b3c3d3e3f"
    ),
)
"""Equal in ``xxhash64(network, message_id)``."""

SEED = 42
"""Spark's: the hash of a column is the seed of the next."""
