"""What tests of packets share: signers, strategies for hypothesis, and packets that go wrong."""

from __future__ import annotations

import random
from hashlib import sha256

from hypothesis import strategies as st

from rumormill.ndn.wire.name import GENERIC, Name, component, name_from_uri
from rumormill.ndn.wire.signature import Signature, SignatureType
from rumormill.ndn.wire.tlv import tlv


class PlainDigest:
    """Signs as most do that have no key."""

    type = SignatureType.DIGEST
    key_name: Name | None = None

    def sign(self, covered: bytes) -> bytes:
        return sha256(covered).digest()


class NamedKey:
    """Signs with a key of a name; the signature is worth nothing and has any length."""

    def __init__(self, key_name: Name, type: int = SignatureType.ECDSA, size: int = 71) -> None:
        self.key_name: Name | None = key_name
        self.type = type
        self._size = size

    def sign(self, covered: bytes) -> bytes:
        return random.Random(covered).randbytes(self._size)


DIGEST = PlainDigest()
KEY = NamedKey(name_from_uri("/alice/KEY/%01"))


def is_right(signature: Signature) -> bool:
    """Whether a digest covers what it should."""
    return sha256(signature.covered).digest() == signature.value


# ---- strategies

COMPONENT_TYPES = st.one_of(st.just(GENERIC), st.integers(3, 0xFFFF))
COMPONENTS = st.builds(component, st.binary(max_size=300), COMPONENT_TYPES)
NAMES = st.lists(COMPONENTS, min_size=1, max_size=8).map(b"".join)
PLAIN_NAMES = st.lists(
    st.builds(component, st.binary(max_size=12)), min_size=1, max_size=6
).map(b"".join)  # fmt: skip
NUMBERS = st.one_of(
    st.integers(0, 300),
    st.sampled_from([0xFF, 0x100, 0xFFFF, 0x10000, 0xFFFFFFFF, 0x100000000, 2**64 - 1]),
    st.integers(0, 2**64 - 1),
)
SIGNERS = st.one_of(
    st.just(DIGEST),
    st.builds(NamedKey, NAMES, st.sampled_from([1, 3, 4, 5, 200]), st.integers(0, 300)),
)


# ---- packets made by hand


def packet(type: int, *parts: bytes | str) -> bytes:
    """An element of these parts; texts are hexadecimal.

    >>> packet(5, "0703 080161", b"!").hex()
    '0506070308016121'
    """
    return tlv(type, joined(*parts))


def joined(*parts: bytes | str) -> bytes:
    return b"".join(bytes.fromhex(part) if isinstance(part, str) else part for part in parts)


def altered(data: bytes, source: random.Random) -> bytes:
    """The packet with a few bytes changed, added or missing."""
    made = bytearray(data)
    for _ in range(source.randint(1, 3)):
        place = source.randrange(len(made) + 1)
        kind = source.randrange(4)
        if kind == 0:
            del made[place : place + source.randint(1, 4)]
        elif kind == 1:
            made[place:place] = source.randbytes(source.randint(1, 4))
        elif made:
            made[place % len(made)] = source.choice(
                (0, 1, 2, 4, 7, 8, 32, 252, 253, 254, 255, source.randrange(256))
            )
        if not made:
            break
    return bytes(made)
