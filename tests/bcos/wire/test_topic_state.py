"""Topic state as it travels."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.wire.topic_state import (
    TopicChanges,
    can_travel,
    decode_changes,
    decode_list,
    decode_question,
    decode_seq,
    encode_changes,
    encode_list,
    encode_seq,
)
from rumormill.core.errors import RemoteProtocolError

names = st.text(min_size=1, max_size=80).filter(can_travel)


@given(st.integers(0, 2**63 - 1), st.lists(names, unique=True))
def test_a_list_is_read_as_it_was_written(seq: int, topics: list[str]) -> None:
    assert decode_list(encode_list(seq, topics), 100) == (seq, topics, 0)


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1), st.lists(names), st.lists(names))
def test_changes_are_read_as_they_were_written(
    seq: int, since: int, added: list[str], removed: list[str]
) -> None:
    changes = TopicChanges(seq, since, added, removed)
    assert decode_changes(encode_changes(changes), 100) == changes


@given(st.binary(max_size=200))
def test_whatever_comes_is_read_or_refused(payload: bytes) -> None:
    for decode in (
        decode_seq,
        lambda raw: decode_changes(raw, 3),
        lambda raw: decode_list(raw, 3),
    ):
        try:
            decode(payload)
        except RemoteProtocolError as error:
            assert error.reason


def test_a_list_of_the_field() -> None:
    raw = b"222\t_block_notify_70\t_block_notify_72"
    assert decode_list(raw, 10) == (222, ["_block_notify_70", "_block_notify_72"], 0)
    assert decode_list(b"0", 10) == (0, [], 0)


def test_names_that_are_none_and_those_beyond_the_limit_are_counted() -> None:
    long = "x" * 255
    assert decode_list(f"5\ta\t\ta\t{long}\tb\tc".encode(), 2) == (5, ["a", "b"], 4)


@pytest.mark.parametrize("payload", [b"", b"-1", b"+1", b"1 ", b"9" * 21, b"%d" % 2**63, b"\xb2"])
def test_what_is_no_seq_is_refused(payload: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_seq(payload)


@pytest.mark.parametrize("payload", [b"1", b"1\t", b"1\t0\ta", b"1\t0\t+", b"1\t0\t+a\tb", b"\xff"])
def test_changes_are_right_in_all_or_refused(payload: bytes) -> None:
    with pytest.raises(RemoteProtocolError):
        decode_changes(payload, 10)


def test_what_there_is_no_room_for_is_not_even_taken_apart() -> None:
    """A few bytes become a megabyte of it when they are unpacked."""
    tracemalloc.start()
    assert decode_list(b"1\ta" + b"\t" * (1 << 20), 10) == (1, ["a"], 1 << 20)
    assert decode_list(b"1" + b"\ta\tb" * (1 << 18), 1) == (1, ["a"], (1 << 19) - 1)
    with pytest.raises(RemoteProtocolError, match="more than 10"):
        decode_changes(b"1\t1" + b"\t+a" * (1 << 18), 10)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 6 << 20
    assert decode_changes(b"1\t1\t+a\t-b", 2) == (1, 1, ["a"], ["b"])
    with pytest.raises(RemoteProtocolError, match="more than 1"):
        decode_changes(b"1\t1\t+a\t-b", 1)


def test_a_question_may_say_what_is_known_or_something_of_its_own() -> None:
    assert decode_question(encode_seq(12)) == 12
    assert decode_question(b"") is None
    assert decode_question(b"anything") is None


def test_half_a_character_cannot_travel() -> None:
    assert not can_travel("\ud800")
    assert not can_travel("é" * 128)
    assert can_travel("é" * 127)
