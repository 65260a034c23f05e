"""Mutable items: the vectors of BEP 44, limits, and what becomes of items in packets."""

from __future__ import annotations

from hashlib import sha1
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bep50.wire.arguments import PROTOCOL, SALT_TOO_BIG, VALUE_TOO_BIG, BadArgument
from rumormill.bep50.wire.bencode import Dict, Value, encode
from rumormill.bep50.wire.items import (
    Item,
    genuine,
    item_from_get,
    item_from_put,
    sign,
    signed_bytes,
    target_of,
    torrent_of,
    torrent_value,
)
from rumormill.bep50.wire.keys import ItemKey
from rumormill.core.errors import LocalProtocolError

HELLO = b"12:Hello World!"

# BEP 44, tests 1 and 2.
KEY = bytes.fromhex("77ff84905a91936367c01360803104f92432fcd904a43511876df5cdf3e7e548")
VECTORS = [
    (
        b"",
        b"3:seqi1e1:v12:Hello World!",
        "4a533d47ec9c7d95b1ad75f576cffc641853b750",
        "305ac8aeb6c9c151fa120f120ea2cfb923564e11552d06a5d856091e5e853cff"
        "1260d3f39e4999684aa92eb73ffd136e6f4f3ecbfda0ce53a1608ecd7ae21f01",
    ),
    (
        b"foobar",
        b"4:salt6:foobar3:seqi1e1:v12:Hello World!",
        "411eba73b6f087ca51a3795d9c8c938d365e32c1",
        "6834284b6b24c3204eb2fea824d82f88883a3d95e8b4a21b8c0ded553d17d17d"
        "df9a8a7104b1258f30bed3787e6cb896fca78c58f8e03b5f18f14951a87d9a08",
    ),
]
OWN = ItemKey.from_seed(b"s" * 32)

VALUES: st.SearchStrategy[Value] = st.recursive(
    st.integers() | st.binary(max_size=50),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.binary(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(("salt", "buffer", "target", "signature"), VECTORS)
def test_the_mutable_vectors_of_bep_44(
    salt: bytes, buffer: bytes, target: str, signature: str
) -> None:
    item = Item(KEY, salt, 1, HELLO, bytes.fromhex(signature))
    assert signed_bytes(salt, 1, HELLO) == buffer
    assert item.target.hex() == target_of(KEY, salt).hex() == target
    assert genuine(item)


def test_the_immutable_vector_of_bep_44_is_the_hash_of_the_bencoded_value() -> None:
    digest = sha1(encode(b"Hello World!")).hexdigest()
    assert digest == "e5f96f6f38320f0f33959cb4d3d656452117aadb"


@pytest.mark.parametrize(
    "change",
    [
        {"public_key": KEY},
        {"salt": b"other"},
        {"salt": b""},
        {"seq": 2},
        {"value": b"5:other"},
        {"signature": bytes(64)},
        {"signature": b""},
        {"signature": bytes(65)},
    ],
)
def test_a_signature_holds_for_one_key_salt_seq_and_value_only(change: dict[str, Any]) -> None:
    item = OWN.item(b"salt", 1, HELLO)
    assert genuine(item)
    assert not genuine(item._replace(**change))


@given(st.integers(0, 511))
def test_one_flipped_bit_of_the_signature_is_noticed(bit: int) -> None:
    item = OWN.item(b"", 1, HELLO)
    flipped = int.from_bytes(item.signature, "big") ^ 1 << bit
    assert not genuine(item._replace(signature=flipped.to_bytes(64, "big")))


def test_a_seed_signs_alone_or_with_its_public_key_behind_it() -> None:
    seed, public_key = b"s" * 32, OWN.public_key
    item = OWN.item(b"", 5, HELLO)
    assert sign(seed, public_key, b"", 5, HELLO) == item
    assert sign(seed + public_key, public_key, b"", 5, HELLO) == item


@pytest.mark.parametrize("secret", [b"", b"s" * 31, b"s" * 64, b"s" * 65])
def test_a_secret_that_is_not_the_public_keys_does_not_sign(secret: bytes) -> None:
    with pytest.raises(LocalProtocolError, match="the secret key is not the one"):
        sign(secret, OWN.public_key, b"", 1, HELLO)


# ---- in packets


def put_arguments(**changes: Any) -> Dict:
    arguments: dict[bytes, Any] = {
        b"id": b"n" * 20,
        b"k": OWN.public_key,
        b"seq": 1,
        b"sig": bytes(64),
        b"token": b"t",
        b"v": b"value",
    }
    arguments.update({key.encode(): value for key, value in changes.items()})
    return {key: value for key, value in arguments.items() if value is not None}


@given(VALUES, st.binary(max_size=64), st.integers(0, 2**63 - 1))
def test_an_item_comes_out_of_a_put_and_of_an_answer_as_it_was_signed(
    value: Value, salt: bytes, seq: int
) -> None:
    item = OWN.item(salt, seq, encode(value))
    arguments = put_arguments(seq=seq, sig=item.signature, v=value, salt=salt)
    assert item_from_put(arguments) == item
    del arguments[b"salt"]
    assert item_from_get(arguments, salt) == item
    assert genuine(item)


def test_an_answer_without_a_value_has_no_item() -> None:
    assert item_from_get({b"id": b"n" * 20, b"seq": 7}, b"") is None


def test_no_salt_and_an_empty_one_are_the_same() -> None:
    assert item_from_put(put_arguments()) == item_from_put(put_arguments(salt=b""))


BAD_ITEMS = [
    ({"v": None}, PROTOCOL),
    ({"k": None}, PROTOCOL),
    ({"k": b"k" * 31}, PROTOCOL),
    ({"k": b"k" * 33}, PROTOCOL),
    ({"k": 1}, PROTOCOL),
    ({"sig": None}, PROTOCOL),
    ({"sig": bytes(63)}, PROTOCOL),
    ({"sig": [bytes(64)]}, PROTOCOL),
    ({"seq": None}, PROTOCOL),
    ({"seq": b"1"}, PROTOCOL),
    ({"seq": -1}, PROTOCOL),
    ({"seq": 2**63}, PROTOCOL),
    ({"seq": 10**4000}, PROTOCOL),
    ({"v": b"x" * 997}, VALUE_TOO_BIG),
    ({"v": [b"x" * 997]}, VALUE_TOO_BIG),
    ({"v": {b"x" * 990: 1234567}}, VALUE_TOO_BIG),
    ({"v": [0] * 334}, VALUE_TOO_BIG),
]


@pytest.mark.parametrize(("changes", "code"), BAD_ITEMS)
def test_an_item_with_a_fault_is_refused_with_its_code(changes: dict[str, Any], code: int) -> None:
    with pytest.raises(BadArgument) as refusal:
        item_from_put(put_arguments(**changes))
    assert refusal.value.code == code
    if changes != {"v": None}:
        with pytest.raises(BadArgument):
            item_from_get(put_arguments(**changes), b"")


@pytest.mark.parametrize(
    ("salt", "code"), [(b"s" * 65, SALT_TOO_BIG), (b"s" * 1000, SALT_TOO_BIG), (7, PROTOCOL)]
)
def test_a_salt_that_cannot_be_is_refused_with_its_code(salt: Any, code: int) -> None:
    with pytest.raises(BadArgument) as refusal:
        item_from_put(put_arguments(salt=salt))
    assert refusal.value.code == code


@pytest.mark.parametrize("value", [b"x" * 996, [b"x" * 994], b""])
def test_a_value_of_a_thousand_bytes_is_taken(value: Value) -> None:
    item = item_from_put(put_arguments(v=value, salt=b"s" * 64, seq=2**63 - 1))
    assert len(item.value) in (1000, 2)


@given(st.dictionaries(st.sampled_from([b"k", b"salt", b"seq", b"sig", b"v", b"id"]), VALUES))
def test_any_arguments_are_an_item_or_a_bad_argument(arguments: Dict) -> None:
    for read in (item_from_put, lambda values: item_from_get(values, b"")):
        try:
            item = read(arguments)
        except BadArgument as error:
            assert error.code in (PROTOCOL, SALT_TOO_BIG, VALUE_TOO_BIG)
        else:
            assert item is None or len(item.value) <= 1000


# ---- BEP 46


@given(st.binary(min_size=20, max_size=20))
def test_a_torrents_value_reads_back(info_hash: bytes) -> None:
    assert torrent_of(torrent_value(info_hash)) == info_hash


@given(st.binary(max_size=60))
def test_any_bytes_name_a_torrent_or_none(raw: bytes) -> None:
    found = torrent_of(raw)
    assert found is None or len(found) == 20


def test_other_fields_beside_the_info_hash_do_not_matter() -> None:
    assert torrent_of(encode({b"ih": b"h" * 20, b"n": b"name"})) == b"h" * 20


@pytest.mark.parametrize(
    "value", [b"5:hello", b"de", b"d2:ih3:abce", b"d2:ihi1ee", b"l20:hhhhhhhhhhhhhhhhhhhhe", b"d"]
)
def test_other_values_name_no_torrent(value: bytes) -> None:
    assert torrent_of(value) is None


def test_an_info_hash_has_20_bytes() -> None:
    with pytest.raises(LocalProtocolError, match="an info hash has 20 bytes, not 32"):
        torrent_value(bytes(32))
