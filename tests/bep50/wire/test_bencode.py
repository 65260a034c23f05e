"""Bencoding: one form for each value, and no bytes that do harm."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from bencode2 import bdecode
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.bep50.wire.bencode import (
    DEEPEST,
    DEEPEST_VALUE,
    Value,
    decode,
    encode,
    encode_given,
)
from rumormill.bep50.wire.krpc import Query, query_packet, read_packet
from rumormill.bep50.wire.nesting import LONGEST_NUMBER, check_nesting
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

TEXTS = st.binary(max_size=8)

VALUES: st.SearchStrategy[Value] = st.recursive(
    st.integers() | st.binary(max_size=50),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)

ALPHABET = st.sampled_from(b"dlei0123456789-:abct")
NEARLY_BENCODE = st.lists(ALPHABET, max_size=40).map(bytes)


@given(VALUES)
def test_what_was_encoded_decodes_to_the_same(value: Value) -> None:
    assert decode(encode(value)) == value


@given(st.binary(max_size=200) | NEARLY_BENCODE)
@example(b"")
@example(b"i-0e")
@example(b"d1:b0:1:a0:e")
def test_any_bytes_are_refused_or_are_the_only_form_of_their_value(raw: bytes) -> None:
    try:
        value = decode(raw)
    except RemoteProtocolError as error:
        assert error.reason == "bad_bencode"
    else:
        assert encode(value) == raw


@given(VALUES, st.integers(0, 10_000), st.integers(0, 7))
def test_one_flipped_bit_never_gives_the_same_value_again(
    value: Value, place: int, bit: int
) -> None:
    raw = bytearray(encode(value))
    raw[place % len(raw)] ^= 1 << bit
    with contextlib.suppress(RemoteProtocolError):
        assert encode(decode(bytes(raw))) == raw


@pytest.mark.parametrize(
    "raw",
    [
        b"i007e",
        b"i-0e",
        b"i-01e",
        b"i+1e",
        b"i 1e",
        b"i1_0e",
        b"ie",
        b"i1",
        b"01:a",
        b"-1:a",
        b"5:four",
        b"99999999999999999999:a",
        b"18446744073709551617:a",
        b"d1:b0:1:a0:e",
        b"d1:a0:1:a0:e",
        b"di1e0:e",
        b"d1:ae",
        b"d1:a0:",
        b"l",
        b"e",
        b"i1ei2e",
        b"0:0:",
        b"x",
    ],
)
def test_every_second_form_of_a_value_is_refused(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_bencode"):
        decode(raw)


@pytest.mark.parametrize(
    "raw",
    [b"l" * 60_000, b"d1:a" * 15_000, b"l" * 30_000 + b"e" * 30_000, b"i" + b"9" * 60_000 + b"e"],
    ids=["open lists", "open dicts", "deep lists", "many digits"],
)
def test_a_bomb_is_refused_like_any_other_nonsense(raw: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="bad_bencode"):
        decode(raw)


# ---- nesting


def deepest_of(value: Value) -> int:
    if isinstance(value, dict):
        return 1 + max(map(deepest_of, value.values()), default=0)
    return 1 + max(map(deepest_of, value), default=0) if isinstance(value, list) else 0


DEEP_VALUES: st.SearchStrategy[Value] = st.recursive(
    VALUES,
    lambda inner: st.lists(inner, min_size=1, max_size=2) | st.dictionaries(TEXTS, inner),
    max_leaves=40,
)


@given(DEEP_VALUES, st.integers(1, 12))
def test_a_value_is_read_exactly_if_it_is_not_nested_too_deep(value: Value, deepest: int) -> None:
    raw = encode(value)
    if deepest_of(value) > deepest:
        with pytest.raises(RemoteProtocolError, match=f"nested deeper than {deepest} levels"):
            decode(raw, deepest)
    else:
        assert decode(raw, deepest) == value


@given(st.lists(st.sampled_from(b"dle") | ALPHABET, max_size=80).map(bytes))
@example(b"llllllllllleeeeeeeeeee")
@example(b"lllllllll1_0:aaaaaaaaaaeeeeeeeee")
@example(b"llllllllle9:eeeeeeee")
def test_nothing_is_refused_for_its_nesting_that_the_library_can_read(raw: bytes) -> None:
    try:
        value = bdecode(raw)
    except ValueError:
        return
    check_nesting(raw, deepest=max(1, deepest_of(value)))


@pytest.mark.parametrize("depth", [1, DEEPEST - 1, DEEPEST, DEEPEST + 1, 100, 2000])
@pytest.mark.parametrize("opens", [b"l", b"d1:a"], ids=["lists", "dicts"])
@pytest.mark.parametrize("before", [b"", b"900:" + bytes(900)], ids=["short", "long"])
def test_a_packet_may_be_nested_so_deep_and_no_deeper(
    depth: int, opens: bytes, before: bytes
) -> None:
    """Beside long strings, so that the bytes that open something are few for the length."""
    raw = b"l" + before + opens * (depth - 1) + b"i1e" + b"e" * depth
    if depth > DEEPEST:
        with pytest.raises(RemoteProtocolError, match=f"nested deeper than {DEEPEST} levels"):
            decode(raw)
    else:
        assert encode(decode(raw)) == raw


@pytest.mark.parametrize("around", [b"%b", b"ll%bee", b"l" * 12 + b"%b" + b"e" * 12])
def test_a_number_may_be_so_long_and_no_longer_wherever_it_stands(around: bytes) -> None:
    for sign, digits in ((b"", LONGEST_NUMBER), (b"-", LONGEST_NUMBER - 1)):
        raw = around % (b"i" + sign + b"9" * digits + b"e")
        assert encode(decode(raw)) == raw
        with pytest.raises(RemoteProtocolError, match="bad_bencode"):
            decode(around % (b"i" + sign + b"9" * digits + b"9e"))


@given(st.lists(st.integers(0, 2000), max_size=4), st.binary(max_size=20), st.integers(0, 40))
def test_what_stands_in_strings_does_not_count_as_nesting(
    sizes: list[int], key: bytes, depth: int
) -> None:
    inside: Value = [b"ld" * size for size in sizes]
    for _ in range(depth):
        inside = {key: inside, key + b"x": b"dull" * 60}
    raw = encode(inside)
    if depth + 1 > DEEPEST:
        with pytest.raises(RemoteProtocolError, match="nested deeper"):
            decode(raw)
    else:
        assert decode(raw) == inside


def test_digits_in_a_string_are_no_number() -> None:
    raw = encode([b"i" + b"9" * 2 * LONGEST_NUMBER + b"e"])
    assert encode(decode(raw)) == raw


# ---- values that a user gives


@given(VALUES)
def test_a_given_value_is_encoded_like_any_other(value: Value) -> None:
    assert encode_given(value) == encode(value)


def test_text_is_taken_as_utf_8() -> None:
    assert encode_given({"ü": ["a", ("b",)]}) == encode({"ü".encode(): [b"a", [b"b"]]})


@pytest.mark.parametrize("value", [None, 1.5, {1: b""}, object(), {b"a": None}, "\ud800", [{1}]])
def test_a_value_that_has_no_bytes_is_refused_in_a_sentence(value: Any) -> None:
    for encoder in (encode, encode_given):
        with pytest.raises(LocalProtocolError, match="the value cannot be bencoded"):
            encoder(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append({b"again": endless})
    with pytest.raises(LocalProtocolError, match=f"nested deeper than {DEEPEST_VALUE} levels"):
        encode_given(endless)


@pytest.mark.parametrize(
    "wrap", [lambda value: [value], lambda value: (value,), lambda value: {"": value}]
)
def test_every_kind_of_nesting_counts(wrap: Callable[[Any], Any]) -> None:
    value: Any = b""
    for _ in range(DEEPEST_VALUE + 1):
        value = wrap(value)
    with pytest.raises(LocalProtocolError, match=f"nested deeper than {DEEPEST_VALUE} levels"):
        encode_given(value)


def test_a_value_may_be_nested_as_deep_as_a_packet_allows() -> None:
    value: list[Any] = []
    for _ in range(DEEPEST_VALUE - 1):
        value = [value]
    raw = encode_given(value)
    assert raw == b"l" * DEEPEST_VALUE + b"e" * DEEPEST_VALUE
    packet = query_packet(b"aa", "put", {b"id": bytes(20), b"v": value}, topic=bytes(20))
    assert isinstance(read_packet(packet), Query)
    with pytest.raises(LocalProtocolError, match=f"nested deeper than {DEEPEST_VALUE} levels"):
        encode_given([value])
