"""Packets from a stream: any cutting gives the same, and no length goes unchecked."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.stream import MOST_PACKET, Packets
from rumormill.ndn.wire.tlv import tlv
from tests.helpers.core.steps import Work, work_of

PACKETS = st.lists(
    st.builds(tlv, st.sampled_from([5, 6, 0x64]), st.integers(0, 600).map(bytes)), max_size=8
)


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    at = sorted({min(place, len(stream)) for place in places} | {0, len(stream)})
    return [stream[start:end] for start, end in pairwise(at)]


def reason(packets: Packets, data: bytes) -> str:
    with pytest.raises(RemoteProtocolError) as caught:
        packets.feed(data)
    return caught.value.reason


@given(PACKETS, st.lists(st.integers(0, 3000), max_size=12), st.integers(0, 600))
def test_any_cutting_of_a_stream_gives_the_same_packets(
    packets: list[bytes], places: list[int], more: int
) -> None:
    rest = tlv(6, bytes(600))[:more]
    reader = Packets()
    pieces = cut(b"".join(packets) + rest, places)
    assert [each for piece in pieces for each in reader.feed(piece)] == packets
    assert reader.buffered == len(rest)
    assert reader.feed(tlv(6, bytes(600))[more:]) == [tlv(6, bytes(600))]
    assert reader.buffered == 0


def test_a_cut_at_every_byte_is_mended() -> None:
    stream = tlv(5, bytes(3)) + tlv(0x64, bytes(300)) + tlv(6, b"") + tlv(5, bytes(252))
    for place in range(len(stream) + 1):
        reader = Packets()
        seen = [*reader.feed(stream[:place]), *reader.feed(b""), *reader.feed(stream[place:])]
        assert b"".join(seen) == stream and len(seen) == 4 and reader.buffered == 0


def test_one_byte_at_a_time_is_enough() -> None:
    stream = tlv(5, bytes(3)) + tlv(6, bytes(300))
    reader = Packets()
    seen = [each for place in range(len(stream)) for each in reader.feed(stream[place : place + 1])]
    assert b"".join(seen) == stream and len(seen) == 2


def test_the_largest_packet_is_taken_and_no_larger_one() -> None:
    largest = tlv(6, bytes(MOST_PACKET - 4))
    assert len(largest) == MOST_PACKET and Packets().feed(largest) == [largest]
    assert reason(Packets(), tlv(6, bytes(MOST_PACKET - 3))[:4]) == "packet_too_large"
    assert Packets(20).feed(tlv(6, bytes(18))) == [tlv(6, bytes(18))]
    assert reason(Packets(20), b"\x06\x13") == "packet_too_large"
    assert reason(Packets(), b"\x06\xff" + b"\xff" * 8) == "packet_too_large"
    assert reason(Packets(), b"\x06\xfe" + b"\xff" * 4) == "packet_too_large"


@pytest.mark.parametrize("first", [0, 1, 4, 7, 8, ord("G"), 0x50, 0x63, 253, 254, 255])
def test_what_is_no_packet_is_refused_with_its_first_byte(first: int) -> None:
    assert reason(Packets(), bytes((first,))) == "bad_tlv"


@pytest.mark.parametrize("length", ["fd00fc", "fd0000", "fe0000ffff", "ff00000000ffffffff"])
def test_lengths_are_in_their_shortest_form(length: str) -> None:
    assert reason(Packets(), b"\x06" + bytes.fromhex(length)) == "bad_tlv"


def test_packets_before_what_is_none_are_not_lost() -> None:
    for place in range(6):
        reader, stream, seen = Packets(), tlv(5, b"ok") + b"GET", []
        problem = ""
        for piece in (stream[:place], stream[place:], b""):
            try:
                seen += reader.feed(piece)
            except RemoteProtocolError as error:
                problem = error.reason
        assert (seen, problem, reader.buffered) == ([tlv(5, b"ok")], "bad_tlv", 0)


def test_after_what_is_no_packet_nothing_is_read_any_more() -> None:
    reader = Packets()
    assert reason(reader, b"!") == "bad_tlv"
    for _ in range(3):
        assert reason(reader, tlv(5, b"ok")) == "bad_tlv"
        assert reader.buffered == 0


def test_less_than_a_packet_is_kept() -> None:
    reader = Packets()
    stream = tlv(6, bytes(MOST_PACKET - 4)) * 3
    for place in range(0, len(stream), 97):
        reader.feed(stream[place : place + 97])
        assert reader.buffered < MOST_PACKET


def test_small_pieces_of_a_large_packet_cost_what_its_length_is() -> None:
    def work(size: int) -> Work:
        stream = tlv(6, bytes(size))
        pieces = [stream[place : place + 2] for place in range(0, len(stream), 2)]
        reader = Packets(1 << 20)
        return work_of(lambda: [reader.feed(piece) for piece in pieces])

    short, long = work(4000), work(8000)
    assert long.steps <= 2.2 * short.steps and long.bytes <= 2.2 * short.bytes + 20_000


@given(st.binary(max_size=60), st.integers(1, 9))
def test_any_bytes_are_cut_or_refused_wherever_they_are_cut(data: bytes, size: int) -> None:
    def all_of(size: int) -> tuple[list[bytes], str]:
        reader, seen = Packets(40), []
        try:
            for place in range(0, len(data), size):
                seen += reader.feed(data[place : place + size])
            reader.feed(b"")
        except RemoteProtocolError as error:
            return seen, error.reason
        return seen, ""

    assert all_of(size) == all_of(max(1, len(data)))
