"""base58btc."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import base58


def plain_encode(raw: bytes) -> str:
    """One digit at a time, as it would be done by hand."""
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = base58.ALPHABET[digit] + text
    zeros = next((at for at, byte in enumerate(raw) if byte), len(raw))
    return "1" * zeros + text


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"", ""),
        (b"\0", "1"),
        (b"\0\0\0", "111"),
        (b"\x39", "z"),
        (b"\x3a", "21"),
        (b"Hello World!", "2NEpo7TZRRrLZSi2U"),
        (bytes.fromhex("0000287fb4cd"), "11233QC4"),
    ],
)
def test_known_texts(raw: bytes, text: str) -> None:
    assert base58.encode(raw) == text
    assert base58.decode(text) == raw


@given(st.binary(max_size=base58.LONGEST_BYTES))
def test_bytes_come_back(raw: bytes) -> None:
    assert base58.encode(raw) == plain_encode(raw)
    assert base58.decode(base58.encode(raw)) == raw


@given(st.text(alphabet=base58.ALPHABET, max_size=100))
def test_each_text_stands_for_bytes_of_its_own(text: str) -> None:
    assert base58.encode(base58.decode(text)) == text


@given(st.text(max_size=300))
def test_arbitrary_text_is_base58_or_a_value_error(text: str) -> None:
    try:
        assert base58.encode(base58.decode(text)) == text
    except ValueError as error:
        assert str(error)


@pytest.mark.parametrize("character", list("0OIl +/_é"))
def test_characters_that_can_be_misread_are_refused(character: str) -> None:
    with pytest.raises(ValueError, match="no character of base58"):
        base58.decode(f"2{character}2")


def test_what_is_too_long_is_refused_before_any_work() -> None:
    longest = b"\xff" * base58.LONGEST_BYTES
    assert base58.decode(base58.encode(longest)) == longest
    with pytest.raises(ValueError, match="128 are allowed"):
        base58.encode(bytes(1_000_000))
    with pytest.raises(ValueError, match="180 are allowed"):
        base58.decode("z" * 1_000_000)
    with pytest.raises(ValueError, match="128 are allowed"):
        base58.decode("1" * base58.LONGEST_TEXT)
