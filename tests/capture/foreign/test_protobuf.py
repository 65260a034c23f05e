"""The small protobuf reader of traces, held against Google's library."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import unknown_fields
from google.protobuf.internal.encoder import _VarintBytes  # type: ignore[attr-defined]
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.capture.foreign import protobuf
from rumormill.capture.foreign.errors import MalformedError
from rumormill.capture.foreign.protobuf import (
    LARGEST_UINT64,
    LONGEST_FRAME,
    read_fields,
    read_frames,
    read_message,
    read_varint,
)
from tests.helpers.capture import trace_oracle as oracle

NUMBERS = st.integers(0, LARGEST_UINT64)


def varint(value: int) -> bytes:
    encoded: bytes = _VarintBytes(value)
    return encoded


@given(st.lists(NUMBERS | st.integers(1 << 56, (1 << 63) - 1), min_size=1, max_size=20))
@example([1794759674325510200, 1794759674325510200 + 1, 1794759674325510200 + (1 << 28)])
def test_numbers_come_back_whichever_were_read_before(values: list[int]) -> None:
    buffer = b"".join(map(varint, values))
    offset, found = 0, []
    while offset < len(buffer):
        value, offset = read_varint(buffer, offset, len(buffer))
        found.append(value)
    assert found == values


def test_what_is_remembered_of_numbers_stays_small() -> None:
    for high in range(3 * protobuf.MOST_TAILS):
        value = 1 << 60 | high << 28
        assert read_varint(varint(value), 0, 9) == (value, 9)
    assert len(protobuf._tails) <= protobuf.MOST_TAILS


def test_a_short_number_before_bytes_that_are_remembered_is_itself() -> None:
    long = varint(1794759674325510200)
    read_varint(long, 0, len(long))
    for short in (varint(300), varint(1 << 14), varint(1 << 21)):
        buffer = short + b"\xff" * (4 - len(short)) + long[4:]
        assert read_varint(buffer, 0, len(buffer)) == read_varint(short, 0, len(short))


def test_a_number_that_is_remembered_is_not_read_past_the_end() -> None:
    raw = varint(1794759674325510200)
    read_varint(raw, 0, len(raw))
    for end in range(len(raw)):
        with pytest.raises(MalformedError):
            read_varint(raw, 0, end)


@pytest.mark.parametrize("text", ["", "80", "ff" * 9, "ff" * 10, "80" * 10 + "00", "ff" * 9 + "02"])
def test_a_number_that_is_cut_short_or_too_long_is_malformed(text: str) -> None:
    raw = bytes.fromhex(text)
    with pytest.raises(MalformedError):
        read_varint(raw, 0, len(raw))


@given(st.binary(max_size=120))
@example(bytes.fromhex("0801120161"))
def test_any_bytes_are_fields_for_both_readers_or_malformed_for_both(raw: bytes) -> None:
    try:
        fields = list(read_fields(raw))
    except MalformedError:
        with pytest.raises(MalformedError):
            read_message(raw, 0, len(raw))
        return
    assert read_message(raw, 0, len(raw)) == dict(fields)


def read_by_google(raw: bytes) -> list[tuple[int, int | bytes]]:
    """To a message without fields every field is unknown, and kept."""
    found: list[tuple[int, int | bytes]] = []
    unknown: Any = unknown_fields.UnknownFieldSet(oracle.Empty.FromString(raw))
    for field in unknown:
        data = field.data
        if field.wire_type in (protobuf.FIXED64, protobuf.FIXED32):
            data = data.to_bytes(8 if field.wire_type == protobuf.FIXED64 else 4, "little")
        found.append((field.field_number, data))
    return found


@given(st.binary(max_size=200))
@example(bytes.fromhex("0801120161") + b"\x19" + bytes(8) + b"\x1d" + bytes(4))
def test_fields_are_what_google_reads(raw: bytes) -> None:
    try:
        found = list(read_fields(raw))
    except MalformedError:
        return
    try:
        assert found == read_by_google(raw)
    except DecodeError:
        # It is stricter about long tags only, which no tracer writes.
        assert any(byte & 0x80 for byte in raw)


@given(st.binary(max_size=50), st.binary(max_size=300), st.binary(max_size=50))
def test_a_message_is_read_where_it_is_and_no_further(
    before: bytes, text: bytes, behind: bytes
) -> None:
    raw = b"\x12" + varint(len(text)) + text + b"\x18\x07"
    buffer = before + raw + behind
    found = read_message(buffer, len(before), len(before) + len(raw))
    assert found == {2: text, 3: 7}


@pytest.mark.parametrize(
    "raw",
    [b"\x12", b"\x12\x05abcd", b"\x08", b"\x0b\x00", b"\x00\x01", b"\x09abcdefg", b"\x0d123",
     b"\x18\xff", b"\x12\x80\x80\x80\x10"],
)  # fmt: skip
def test_a_message_that_is_cut_short_or_has_wrong_tags_is_malformed(raw: bytes) -> None:
    with pytest.raises(MalformedError):
        read_message(raw, 0, len(raw))


@given(st.lists(st.binary(max_size=300), max_size=8), st.data())
def test_frames_are_cut_out_wherever_the_buffer_ends(
    frames: list[bytes], data: st.DataObject
) -> None:
    raw = b"".join(varint(len(frame)) + frame for frame in frames)
    end = data.draw(st.integers(0, len(raw)))
    places, done = read_frames(raw[:end])
    rest, last = read_frames(raw[done:])
    assert [raw[a:b] for a, b in places] + [raw[done:][a:b] for a, b in rest] == frames
    assert done + last == len(raw)


def test_a_frame_that_announces_too_much_is_malformed_before_it_is_read() -> None:
    whole, wrong = b"\x01a", varint(LONGEST_FRAME + 1)
    assert read_frames(whole + wrong) == ([(1, 2)], 2)
    with pytest.raises(MalformedError, match="16777217 bytes"):
        read_frames(wrong)
    with pytest.raises(MalformedError):
        read_frames(b"\xff" * 11)
