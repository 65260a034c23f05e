"""Keys that publish, from a seed and in libtorrent's expanded form."""

from __future__ import annotations

from hashlib import sha512
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.wire.items import genuine
from rumormill.bep50.wire.keys import ItemKey
from rumormill.core import ed25519
from rumormill.core.errors import LocalProtocolError

# The key of BEP 44's vectors, which is given in its expanded form only.
EXPANDED = bytes.fromhex(
    "e06d3183d14159228433ed599221b80bd0a5ce8352e4bdf0262f76786ef1c74d"
    "b7e7a9fea2c0eb269d61e3b38e450a22e754941ac78479d6c54e1faf6037881d"
)
PUBLIC_KEY = "77ff84905a91936367c01360803104f92432fcd904a43511876df5cdf3e7e548"
SIGNATURES = {
    b"": "305ac8aeb6c9c151fa120f120ea2cfb923564e11552d06a5d856091e5e853cff"
    "1260d3f39e4999684aa92eb73ffd136e6f4f3ecbfda0ce53a1608ecd7ae21f01",
    b"foobar": "6834284b6b24c3204eb2fea824d82f88883a3d95e8b4a21b8c0ded553d17d17d"
    "df9a8a7104b1258f30bed3787e6cb896fca78c58f8e03b5f18f14951a87d9a08",
}


def expanded(seed: bytes) -> bytes:
    """What libtorrent makes of a seed."""
    digest = bytearray(sha512(seed).digest())
    digest[0] &= 0xF8
    digest[31] = digest[31] & 0x3F | 0x40
    return bytes(digest)


@pytest.mark.parametrize("salt", SIGNATURES)
def test_the_expanded_key_of_bep_44_signs_the_vectors(salt: bytes) -> None:
    key = ItemKey.from_expanded(EXPANDED)
    item = key.item(salt, 1, b"12:Hello World!")
    assert key.public_key.hex() == PUBLIC_KEY
    assert item.signature.hex() == SIGNATURES[salt]
    assert genuine(item)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=1100))
def test_both_forms_of_a_key_sign_alike(seed: bytes, payload: bytes) -> None:
    key, other = ItemKey.from_seed(seed), ItemKey.from_expanded(expanded(seed))
    assert key.public_key == other.public_key
    assert key.sign(payload) == other.sign(payload)
    assert ed25519.verify(key.public_key, other.sign(payload), payload)


def test_a_seed_may_have_its_public_key_behind_it() -> None:
    key = ItemKey.from_seed(b"s" * 32)
    again = ItemKey.from_seed(b"s" * 32 + key.public_key)
    assert again.public_key == key.public_key and again.seed == key.seed == b"s" * 32


@pytest.mark.parametrize("seed", [b"", b"s" * 31, b"s" * 33, b"s" * 64, b"s" * 65, EXPANDED])
def test_what_is_no_seed_is_refused(seed: bytes) -> None:
    with pytest.raises(LocalProtocolError, match="must be a seed of 32 bytes"):
        ItemKey.from_seed(seed)


@pytest.mark.parametrize(
    "secret",
    [
        b"",
        bytes(64),
        b"s" * 64,
        EXPANDED[:63],
        EXPANDED + b"x",
        b"\x01" + EXPANDED[1:],
        EXPANDED[:31] + b"\xcd" + EXPANDED[32:],
    ],
)
def test_what_is_no_expanded_key_is_refused(secret: bytes) -> None:
    with pytest.raises(LocalProtocolError, match="not of the expanded form"):
        ItemKey.from_expanded(secret)


def test_a_generated_key_comes_from_the_random_source_alone() -> None:
    one, same, other = (ItemKey.generate(Random(seed)) for seed in (1, 1, 2))
    assert one.public_key == same.public_key != other.public_key
    assert genuine(one.item(b"salt", 3, b"i1e"))


def test_the_expanded_form_does_not_know_its_seed() -> None:
    assert ItemKey.from_expanded(EXPANDED).seed is None


@pytest.mark.parametrize("key", [ItemKey.from_seed(b"s" * 32), ItemKey.from_expanded(EXPANDED)])
def test_the_secret_is_not_shown(key: ItemKey) -> None:
    shown = repr(key)
    assert key.public_key.hex() in shown
    assert (b"s" * 32).hex() not in shown and EXPANDED.hex()[:64] not in shown
