"""Frames on a byte stream: cut anywhere, limited by their prefix."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import encode_varint
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed, prefix_length


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in itertools.pairwise(edges)]


@given(st.lists(st.binary(max_size=300), max_size=8), st.lists(st.integers(0, 10_000)))
def test_frames_are_the_same_however_the_stream_is_cut(
    frames: list[bytes], places: list[int]
) -> None:
    reader = FrameReader(largest=300)
    found: list[bytes] = []
    for piece in cut(b"".join(map(length_prefixed, frames)), places):
        found += reader.feed(piece)
        assert reader.pending <= 300 + 10
    assert found == frames
    assert all(type(frame) is bytes for frame in found)
    assert reader.pending == 0


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_arbitrary_bytes_are_frames_or_a_remote_protocol_error(pieces: list[bytes]) -> None:
    reader = FrameReader(largest=40)
    try:
        for piece in pieces:
            assert all(len(frame) <= 40 for frame in reader.feed(piece))
            assert reader.pending <= 40 + 10
    except RemoteProtocolError:
        assert reader.pending <= 40 + 10


@given(
    st.lists(st.binary(max_size=300), max_size=12),
    st.lists(st.integers(0, 10_000)),
    st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), min_size=1),
)
def test_frames_that_are_put_back_or_not_wanted_yet_come_again_in_order(
    frames: list[bytes], places: list[int], appetites: list[tuple[int, int]]
) -> None:
    reader = FrameReader(largest=300)
    found: list[bytes] = []
    pieces = cut(b"".join(map(length_prefixed, frames)), places)
    hunger = itertools.cycle(appetites)
    while pieces or reader.unread:
        most, wanted = next(hunger)
        buffer, whole = reader.cut(pieces.pop(0) if pieces else b"", most)
        assert len(whole) <= most
        if wanted and wanted < len(whole):
            reader.put_back(buffer, whole[wanted - 1][1])
            whole = whole[:wanted]
        found += [buffer[start:end] for start, end in whole]
    assert found == frames
    assert reader.pending == 0


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=8), st.integers(1, 9), st.data())
def test_a_half_read_frame_is_parted_from_whole_ones_that_are_unread(
    frames: list[bytes], most: int, data: st.DataObject
) -> None:
    last = length_prefixed(frames[-1])
    place = data.draw(st.integers(0, len(last) - 1))
    stream = b"".join(map(length_prefixed, frames[:-1])) + last[:place]
    reader = FrameReader(largest=50)
    buffer, places = reader.cut(stream, most)
    found = [buffer[start:end] for start, end in places]
    half = reader.part()
    assert found + reader.feed(b"") == frames[:-1]
    assert reader.pending == 0
    assert half.feed(last[place:]) == frames[-1:]


@given(st.binary(max_size=60), st.lists(st.integers(0, 60)))
def test_garbage_gives_the_same_frames_however_it_is_cut(raw: bytes, places: list[int]) -> None:
    def read(pieces: list[bytes]) -> tuple[list[bytes], int] | str:
        reader = FrameReader(largest=40)
        found: list[bytes] = []
        try:
            for piece in pieces:
                found += reader.feed(piece)
        except RemoteProtocolError as error:
            return error.reason
        return found, reader.pending

    assert read(cut(raw, places)) == read([raw])


@given(st.binary(max_size=300))
def test_the_length_of_a_prefix_is_known(frame: bytes) -> None:
    whole = length_prefixed(frame)
    assert whole[prefix_length(whole) :] == frame


def test_a_frame_of_exactly_the_limit_passes() -> None:
    assert FrameReader(largest=200).feed(length_prefixed(bytes(200))) == [bytes(200)]


def test_a_frame_above_the_limit_is_refused_by_its_prefix_alone() -> None:
    reader = FrameReader(largest=200)
    with pytest.raises(RemoteProtocolError) as caught:
        reader.feed(encode_varint(201))
    assert caught.value.reason == "frame_too_large"
    assert reader.pending == 0


def test_a_prefix_that_never_ends_is_refused_at_ten_bytes() -> None:
    reader = FrameReader(largest=200)
    for _ in range(9):
        assert reader.feed(b"\x80") == []
    with pytest.raises(RemoteProtocolError) as caught:
        reader.feed(b"\x80")
    assert caught.value.reason == "bad_length"


def test_the_rest_of_a_chunk_is_kept_for_the_next_frame() -> None:
    reader = FrameReader(largest=200)
    assert reader.feed(b"\x03abc\x05de") == [b"abc"]
    assert reader.pending == 3
    assert reader.feed(b"fgh\x00\x01") == [b"defgh", b""]
    assert reader.feed(b"i") == [b"i"]


def test_a_frame_that_trickles_in_byte_by_byte_costs_linear_time() -> None:
    def seconds_for(size: int) -> float:
        reader = FrameReader(largest=size)
        pieces = [bytes((byte,)) for byte in length_prefixed(bytes(size))]
        begin = time.process_time()
        for piece in pieces[:-1]:
            reader.feed(piece)
        frames = reader.feed(pieces[-1])
        spent = time.process_time() - begin
        assert frames == [bytes(size)]
        return spent

    # Eight times the bytes: eight times the work if linear, sixty-four if quadratic.
    small = min(seconds_for(1 << 17) for _ in range(3))
    assert min(seconds_for(1 << 20) for _ in range(2)) < 24 * small
