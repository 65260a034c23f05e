"""What trace files add to protobuf: times that resemble each other, and frames."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rumormill.capture.foreign import protobuf
from rumormill.capture.foreign.errors import MalformedError
from rumormill.capture.foreign.protobuf import LONGEST_FRAME, read_frames, read_time
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import LARGEST_UINT64, decode_varint
from rumormill.core.protobuf import encode_varint as varint

NUMBERS = st.integers(0, LARGEST_UINT64)


@given(st.lists(NUMBERS | st.integers(1 << 56, (1 << 63) - 1), min_size=1, max_size=20))
@example([1794759674325510200, 1794759674325510200 + 1, 1794759674325510200 + (1 << 28)])
def test_numbers_come_back_whichever_were_read_before(values: list[int]) -> None:
    buffer = b"".join(map(varint, values))
    offset, found = 0, []
    while offset < len(buffer):
        value, offset = read_time(buffer, offset, len(buffer))
        found.append(value)
    assert found == values


def test_what_is_remembered_of_times_stays_small() -> None:
    for high in range(3 * protobuf.MOST_TAILS):
        value = 1 << 60 | high << 28
        assert read_time(varint(value), 0, 9) == (value, 9)
    assert protobuf._worth_of_tail.cache_info().currsize <= protobuf.MOST_TAILS


@given(st.binary(max_size=12), st.integers(0, 12))
def test_a_time_is_read_as_any_number_is(raw: bytes, end: int) -> None:
    end = min(end, len(raw))
    try:
        expected = decode_varint(raw, 0, end)
    except RemoteProtocolError:
        with pytest.raises(RemoteProtocolError):
            read_time(raw, 0, end)
    else:
        assert read_time(raw, 0, end) == expected


def test_a_short_number_before_bytes_that_are_remembered_is_itself() -> None:
    long = varint(1794759674325510200)
    read_time(long, 0, len(long))
    for short in (varint(300), varint(1 << 14), varint(1 << 21)):
        buffer = short + b"\xff" * (4 - len(short)) + long[4:]
        assert read_time(buffer, 0, len(buffer)) == read_time(short, 0, len(short))


def test_a_number_that_is_remembered_is_not_read_past_the_end() -> None:
    raw = varint(1794759674325510200)
    read_time(raw, 0, len(raw))
    for end in range(len(raw)):
        with pytest.raises(RemoteProtocolError):
            read_time(raw, 0, end)


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
    with pytest.raises(RemoteProtocolError):
        read_frames(b"\xff" * 11)
