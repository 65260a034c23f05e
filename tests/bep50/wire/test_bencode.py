"""Bencoding: one form for each value, and no bytes that do harm."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.bep50.wire.bencode import Value, decode, encode, encode_given
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

VALUES: st.SearchStrategy[Value] = st.recursive(
    st.integers() | st.binary(max_size=50),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.binary(max_size=8), inner, max_size=5)
    ),
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


@pytest.mark.parametrize("depth", range(1, 2048, 89))
def test_what_is_nested_so_deep_that_it_can_still_be_read_can_be_written_again(depth: int) -> None:
    raw = b"l" * depth + b"e" * depth
    try:
        value = decode(raw)
    except RemoteProtocolError:
        return
    assert encode(value) == raw


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
    with pytest.raises(LocalProtocolError, match="nested deeper than 100 levels"):
        encode_given(endless)


@pytest.mark.parametrize(
    "wrap", [lambda value: [value], lambda value: (value,), lambda value: {"": value}]
)
def test_every_kind_of_nesting_counts(wrap: Callable[[Any], Any]) -> None:
    value: Any = b""
    for _ in range(101):
        value = wrap(value)
    with pytest.raises(LocalProtocolError, match="nested deeper than 100 levels"):
        encode_given(value)


def test_a_value_may_be_nested_a_hundred_levels_deep() -> None:
    value: list[Any] = []
    for _ in range(99):
        value = [value]
    assert encode_given(value) == b"l" * 100 + b"e" * 100
    with pytest.raises(LocalProtocolError, match="nested deeper than 100 levels"):
        encode_given([value])
