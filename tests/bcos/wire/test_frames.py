"""Packets from a stream: any cutting gives the same, and no length goes unchecked."""

from __future__ import annotations

import struct
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.bcos.wire import channel_packet, p2p_packet
from rumormill.bcos.wire.frames import MOST_BYTES, FrameReader
from rumormill.core.errors import RemoteProtocolError
from tests.helpers.core.steps import Work, work_of

SMALLEST = 16


def packet(size: int, fill: bytes = b"x") -> bytes:
    return struct.pack("!I", size) + fill * (size - 4)


def a_reader(largest: int = MOST_BYTES) -> FrameReader:
    return FrameReader(SMALLEST, largest)


PACKETS = st.lists(st.integers(SMALLEST, 60), max_size=8).map(
    lambda sizes: [packet(size, bytes((index,))) for index, size in enumerate(sizes)]
)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    at = sorted({min(place, len(stream)) for place in places} | {0, len(stream)})
    return [stream[start:end] for start, end in pairwise(at)]


# ---- any cutting


@given(PACKETS, st.lists(st.integers(0, 500), max_size=12), st.binary(max_size=15))
def test_any_cutting_of_a_stream_gives_the_same_packets(
    packets: list[bytes], places: list[int], more: bytes
) -> None:
    more = struct.pack("!I", 100)[: len(more)] + more[4:]
    stream = b"".join(packets) + more
    reader = a_reader()
    seen = [each for piece in cut(stream, places) for each in reader.feed(piece)]
    assert seen == packets
    assert reader.buffered == len(more)


@pytest.mark.parametrize("first", [SMALLEST, 17, 40])
def test_a_cut_at_every_byte_is_mended(first: int) -> None:
    stream = packet(first) + packet(SMALLEST, b"y") + packet(33, b"z")
    for place in range(len(stream) + 1):
        reader = a_reader()
        seen = [*reader.feed(stream[:place]), *reader.feed(stream[place:])]
        assert b"".join(seen) == stream and len(seen) == 3
        assert reader.buffered == 0


def test_a_packet_that_came_whole_is_not_copied() -> None:
    raw = packet(1000)
    (seen,) = a_reader().feed(raw)
    assert seen is raw


def test_nothing_comes_of_nothing() -> None:
    reader = a_reader()
    assert list(reader.feed(b"")) == []
    assert list(reader.feed(packet(20)[:7])) == list(reader.feed(b"")) == []
    assert list(reader.feed(packet(20)[7:])) == [packet(20)]


# ---- who does not walk to the end


@given(PACKETS, st.lists(st.integers(0, 500), max_size=6), st.lists(st.integers(1, 3), min_size=8))
def test_who_stops_in_the_midst_of_walking_gets_the_rest_the_next_time(
    packets: list[bytes], places: list[int], patience: list[int]
) -> None:
    stream = b"".join(packets)
    reader = a_reader()
    seen: list[bytes] = []
    for piece, most in zip(cut(stream, places), patience, strict=False):
        walk = iter(reader.feed(piece))
        seen += [each for _, each in zip(range(most), walk, strict=False)]
    assert seen == packets[: len(seen)]
    assert sum(map(len, seen)) + reader.buffered <= len(stream)
    fed = b"".join(cut(stream, places)[: len(patience)])
    seen += reader.feed(stream[len(fed) :])
    assert seen == packets and reader.buffered == 0


def test_an_exception_while_a_packet_is_handled_loses_no_other() -> None:
    reader = a_reader()
    stream = packet(20, b"a") + packet(30, b"b") + packet(40, b"c")
    with pytest.raises(ZeroDivisionError):
        for _ in reader.feed(stream[:70]):
            raise ZeroDivisionError
    assert reader.buffered == 50
    assert list(reader.feed(stream[70:])) == [packet(30, b"b"), packet(40, b"c")]


# ---- lengths


@pytest.mark.parametrize("smallest", [p2p_packet.HEADER_SIZE, channel_packet.HEADER_SIZE])
def test_a_length_below_that_of_the_header_is_refused(smallest: int) -> None:
    for length in range(smallest):
        with pytest.raises(RemoteProtocolError, match=f"packet_too_short: .* has {smallest}"):
            list(FrameReader(smallest).feed(struct.pack("!I", length) + bytes(100)))
    (whole,) = FrameReader(smallest).feed(packet(smallest))
    assert whole == packet(smallest)


@pytest.mark.parametrize("length", [MOST_BYTES + 1, 1 << 31, (1 << 32) - 1])
@pytest.mark.parametrize("place", [0, 1, 3])
def test_a_length_above_the_limit_is_refused_with_its_last_byte(length: int, place: int) -> None:
    head = struct.pack("!I", length)
    reader = a_reader()
    assert list(reader.feed(head[:place])) == []
    with pytest.raises(RemoteProtocolError, match=f"of {length} bytes, 104857600 allowed"):
        list(reader.feed(head[place:]))
    assert reader.buffered == 0


def test_the_largest_packet_may_begin() -> None:
    """Nothing of it is allocated before it comes."""
    reader = a_reader()
    assert list(reader.feed(struct.pack("!I", MOST_BYTES) + b"x" * 100)) == []
    assert reader.buffered == 104
    assert sys.getsizeof(reader._begun) < 1000


def test_the_limit_itself_is_allowed() -> None:
    assert list(a_reader(largest=20).feed(packet(20))) == [packet(20)]
    for pieces in ([packet(21)], [packet(21)[:2], packet(21)[2:]], [packet(20) + packet(21)]):
        reader = a_reader(largest=20)
        with pytest.raises(RemoteProtocolError, match="packet_too_large"):
            for piece in pieces:
                list(reader.feed(piece))


def test_packets_before_a_bad_length_are_read_and_none_after_it() -> None:
    reader = a_reader()
    seen = []
    with pytest.raises(RemoteProtocolError, match="packet_too_short"):
        for each in reader.feed(packet(20) + bytes(4) + packet(20)):
            seen.append(each)
    assert seen == [packet(20)]
    for more in (packet(20), b"", packet(20)[:3]):
        with pytest.raises(RemoteProtocolError, match="packet_too_short"):
            list(reader.feed(more))
        assert reader.buffered == 0


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_any_bytes_are_packets_or_a_protocol_error_wherever_they_are_cut(
    pieces: list[bytes],
) -> None:
    def outcome(pieces: list[bytes]) -> tuple[list[bytes], str, int]:
        reader, seen = a_reader(largest=100), []
        try:
            for piece in pieces:
                for each in reader.feed(piece):
                    seen.append(each)
        except RemoteProtocolError as error:
            return seen, error.reason, reader.buffered
        return seen, "", reader.buffered

    assert outcome(pieces) == outcome([b"".join(pieces)])


# ---- what it costs


def test_a_large_packet_in_pieces_of_one_byte_costs_what_its_size_is() -> None:
    def work(size: int) -> Work:
        raw = packet(size)
        reader = a_reader()

        def read() -> None:
            for place in range(size):
                for each in reader.feed(raw[place : place + 1]):
                    assert each == raw

        return work_of(read)

    short, long = work(20_000), work(40_000)
    assert long.steps <= 2.1 * short.steps
    assert long.bytes <= 2.1 * short.bytes


def test_small_pieces_take_no_more_memory_than_large_ones() -> None:
    reader = a_reader()
    raw = packet(100_000)[:-1]
    for place in range(0, len(raw), 2):
        list(reader.feed(raw[place : place + 2]))
    assert reader.buffered == len(raw)
    assert sys.getsizeof(reader._begun) < 1.2 * len(raw)
    list(reader.feed(b"x"))
    assert sys.getsizeof(reader._begun) < 100
