"""Names and numbers in a sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.words import plural, printable, short


@pytest.mark.parametrize(
    ("count", "noun", "text"),
    [
        (0, "peer", "0 peers"),
        (1, "peer", "1 peer"),
        (1_234_567, "byte", "1,234,567 bytes"),
        (1, "copy", "1 copy"),
        (2, "copy", "2 copies"),
        (2, "key", "2 keys"),
    ],
)
def test_a_noun_follows_its_number(count: int, noun: str, text: str) -> None:
    assert plural(count, noun) == text


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_printed(text: str) -> None:
    assert printable(text).isprintable()


@given(st.text(st.characters(categories=["L", "N"])))
def test_what_is_harmless_is_printed_as_it_is(text: str) -> None:
    assert printable(text) == text


@given(st.text(), st.integers(1, 20), st.integers(0, 9), st.integers(1, 9))
def test_a_short_name_is_the_whole_one_or_shorter(
    name: str, enough: int, head: int, tail: int
) -> None:
    shown = short(name, enough, head, tail)
    assert shown == name or len(shown) == head + 2 + tail < len(name)
    assert shown[:head] == name[:head] and shown[-tail:] == name[-tail:]
