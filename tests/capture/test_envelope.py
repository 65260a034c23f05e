"""Envelopes: what was packed is unpacked, and plain data stays plain."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.capture.envelope import (
    LONGEST_NAME,
    MAGIC,
    MOST_HEADERS,
    Envelope,
    decode,
    encode,
)
from rumormill.core.errors import LocalProtocolError

contents = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=20), contents), max_size=5)

Pairs = list[tuple[str, bytes | None]]


@given(contents, contents, headers)
@example(MAGIC, None, [])
@example(b"", None, [])
@example(None, None, [])
@example(bytes(200_000), b"", [])
def test_what_was_packed_is_unpacked(
    value: bytes | None, key: bytes | None, given_headers: Pairs
) -> None:
    data = encode(value, key, given_headers)
    envelope = decode(data)
    if envelope is None:
        assert (value, key, given_headers) == (data, None, [])
    else:
        assert envelope == Envelope(value, key, tuple(given_headers))


@given(st.binary(max_size=300).filter(lambda data: not data.startswith(MAGIC)))
def test_plain_data_is_sent_as_it_is_and_read_as_it_is(data: bytes) -> None:
    assert encode(data) == data
    assert decode(data) is None


@given(st.binary(max_size=60))
def test_anything_with_our_beginning_is_exactly_an_envelope_or_plain_data(rest: bytes) -> None:
    data = MAGIC + rest
    envelope = decode(data)
    if envelope is not None:
        assert encode(envelope.value, envelope.key, envelope.headers) == data


@given(contents, contents, headers, st.binary(min_size=1, max_size=3))
def test_an_envelope_with_something_behind_or_cut_off_is_plain_data(
    value: bytes | None,
    key: bytes | None,
    given_headers: Pairs,
    end: bytes,
) -> None:
    data = encode(value, key or b"key", given_headers)
    assert decode(data + end) is None
    assert decode(data[:-1]) is None


def test_data_that_begins_like_an_envelope_arrives_unchanged() -> None:
    pretended = encode(b"value", key=b"key")
    assert decode(encode(pretended)) == Envelope(pretended)


@pytest.mark.parametrize(
    ("given_headers", "problem"),
    [
        ([("name", b"")] * (MOST_HEADERS + 1), "at most 256 headers, not 257"),
        ([("n" * (LONGEST_NAME + 1), b"")], "has 1025 bytes, at most 1024"),
        ([("\ud800", b"")], "must be UTF-8 text"),
    ],
)
def test_headers_beyond_the_bounds_are_refused(given_headers: Pairs, problem: str) -> None:
    with pytest.raises(LocalProtocolError, match=problem):
        encode(b"value", headers=given_headers)


@pytest.mark.parametrize(
    "rest",
    [
        b"\x02\x00\x01",  # a version that is not ours
        b"\x01\x04\x01",  # a flag that is not ours
        b"\x01\x00\x02v",  # a value that needed no envelope
        b"\x01\x01\x80\x00\x01",  # a number in a longer form than needed
        b"\x01\x01\xff\xff\xff\xff\xff\xff\x01",  # a length beyond all bounds
        b"\x01\x02\x00\x01",  # headers, but none
        b"\x01\x02\x01\x01\xff\x00\x01",  # a name that is no UTF-8
        b"",
    ],
)
def test_a_form_that_we_do_not_write_is_plain_data(rest: bytes) -> None:
    assert decode(MAGIC + rest) is None
