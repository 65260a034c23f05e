"""Faces on byte streams: framing, link packets, and what is written."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.transport import CloseTransport, WriteBytes
from rumormill.ndn.faces.face import Face
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import NackReason, decode_link, encode_link
from rumormill.ndn.wire.tlv import MOST_PACKET, tlv
from tests.helpers.ndn.faces import Came, FaceBench, data, interest

PACKETS = st.sampled_from(
    [
        interest("/a").raw,
        interest("/a/long/name" * 20, lifetime=100).raw,
        data("/b", b"x" * 300).raw,
        encode_link(interest("/c").raw, token=b"token"),
        encode_link(data("/d").raw, token=b"7"),
        encode_link(interest("/e").raw, token=b"9", nack=NackReason.NO_ROUTE),
        encode_link(b"", token=b"empty"),
        b"\x05\x02\x08\x00",  # an Interest that cannot be read
        b"\x06\x00",
        b"\x64\x03\x52\x01\x07",  # a link packet that cannot be read
    ]
)


def pieces(raw: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(raw) + 1) for cut in cuts} | {0, len(raw)})
    return [raw[start:end] for start, end in pairwise(places)]


def brought(came: list[Came]) -> list[tuple[str, bytes, bytes, int]]:
    return [(each.kind, each.packet.raw, each.token, each.reason) for each in came]


def problems(bench: FaceBench) -> list[tuple[object, object]]:
    events = bench.events("protocol_error")
    return [(each.fields["reason"], each.fields["detail"]) for each in events]


@given(
    st.lists(PACKETS, max_size=12),
    st.sampled_from([b"", b"\x07\x00broken", b"\x05\xfe\x00\x01\x00\x00"]),
    st.lists(st.integers(0, 5000), max_size=20),
)
def test_bytes_may_come_in_any_pieces(packets: list[bytes], end: bytes, cuts: list[int]) -> None:
    whole, cut = FaceBench(), FaceBench()
    raw = b"".join(packets) + end
    if raw:
        whole.stream().write(raw)
    other = cut.stream()
    for piece in pieces(raw, cuts):
        other.write(piece)
    assert brought(cut.sink.came) == brought(whole.sink.came)
    assert problems(cut) == problems(whole)
    assert len(cut.sink.down) == len(whole.sink.down) == bool(end)
    assert cut.sizes()["bytes_unfinished"] == 0


def test_packets_are_told_apart_and_tokens_are_handed_over() -> None:
    bench = FaceBench()
    other = bench.stream()
    asked, found = interest("/a"), data("/a")
    other.write(asked.raw + found.raw)
    other.write(encode_link(asked.raw, token=b"in") + encode_link(found.raw, token=b"back"))
    other.write(encode_link(asked.raw, token=b"no", nack=NackReason.CONGESTION))
    assert bench.sink.take() == [
        Came("interest", other.face, asked),
        Came("data", other.face, found),
        Came("interest", other.face, asked, b"in"),
        Came("data", other.face, found, b"back"),
        Came("nack", other.face, asked, b"no", NackReason.CONGESTION),
    ]


def test_fields_of_link_packets_that_nobody_knows_are_passed_over_if_they_may_be() -> None:
    bench = FaceBench()
    other = bench.stream()
    fragment = tlv(0x50, interest("/a").raw)
    other.write(tlv(0x64, tlv(0x0340, b"\1") + tlv(0x0350, b"new") + fragment))
    assert [each.kind for each in bench.sink.take()] == ["interest"]
    other.write(tlv(0x64, tlv(0x70, b"critical") + fragment))
    assert bench.sink.take() == []
    assert bench.events("protocol_error", reason="unknown_critical")


def test_a_packet_that_cannot_be_read_costs_only_itself() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.write(interest("/a").raw + b"\x05\x02\x08\x00" + interest("/b").raw)
    assert len(bench.sink.take()) == 2
    assert (
        bench.events("protocol_error", reason="bad_packet")[0].fields["address"] == other.face.uri
    )
    assert not bench.take(CloseTransport)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n", "bad_tlv"),
        (b"\x05\xfd\x00\x05hello", "bad_tlv"),  # a length in more bytes than it needs
        (b"\x06\xfd\x22\x61", "packet_too_large"),
        (b"\x06\xff" + b"\xff" * 8, "packet_too_large"),
    ],
)
def test_broken_framing_closes_that_face_alone(raw: bytes, reason: str) -> None:
    bench = FaceBench()
    other, neighbour = bench.stream(), bench.stream("tcp://192.0.2.1:40001")
    other.write(interest("/before").raw + raw)
    assert [each.packet.name for each in bench.sink.take()] == [interest("/before").name]
    assert bench.sink.down == [(other.face, reason)]
    assert bench.take(CloseTransport) == [CloseTransport(other.connection, reason)]
    assert bench.events("protocol_error", reason=reason)
    other.write(interest("/late").raw)
    neighbour.write(interest("/b").raw)
    assert [each.face for each in bench.sink.take()] == [neighbour.face]


def test_the_largest_packet_is_taken() -> None:
    bench = FaceBench()
    other = bench.stream()
    largest = data("/a", b"x" * (MOST_PACKET - len(data("/a", b"").raw) - 6))
    raw = largest.raw + b""
    assert MOST_PACKET - 8 <= len(raw) <= MOST_PACKET
    other.write(raw)
    assert len(bench.sink.take()) == 1


def test_the_packets_of_one_turn_leave_in_one_write() -> None:
    bench = FaceBench()
    one, two = bench.stream(), bench.stream("tcp://192.0.2.1:40001")
    one.face.send_interest(interest("/a"))
    two.face.send_data(data("/b"))
    one.face.send_data(data("/c"), b"token")
    one.face.send_nack(interest("/d"), NackReason.NO_ROUTE, b"t")
    bench.end_turn()
    writes = bench.take(WriteBytes)
    assert [each.connection for each in writes] == [one.connection, two.connection]
    bench.effects += writes
    assert one.packets() == [
        interest("/a").raw,
        encode_link(data("/c").raw, token=b"token"),
        encode_link(interest("/d").raw, token=b"t", nack=NackReason.NO_ROUTE),
    ]


def test_a_link_header_is_only_there_where_it_is_needed() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.face.send_interest(interest("/a"))
    other.face.send_data(data("/b"))
    bench.end_turn()
    assert other.writes() == [interest("/a").raw + data("/b").raw]


def test_a_packet_that_its_token_makes_too_large_leaves_in_fragments() -> None:
    bench = FaceBench()
    other = bench.stream()
    packet = data("/a", b"x" * (MOST_PACKET - len(data("/a", b"").raw) - 6))
    other.face.send_data(packet, b"t" * 32)
    bench.end_turn()
    raws = other.packets()
    assert len(raws) == 2
    assert all(len(raw) <= MOST_PACKET for raw in raws)
    # A forwarder of ours puts them together again.
    another = FaceBench()
    another.stream().write(b"".join(raws))
    (came,) = another.sink.take()
    assert (came.packet, came.token) == (packet, b"t" * 32)


def test_what_is_larger_than_any_packet_is_not_sent() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.face.send_data(data("/a", b"x" * MOST_PACKET))
    bench.end_turn()
    assert other.writes() == []
    assert bench.events("dropped", reason="too_large")


def test_nothing_is_sent_by_a_face_that_is_gone() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.leave()
    other.face.send_interest(interest())
    other.face.send_data(data())
    other.face.send_nack(interest(), 150)
    bench.end_turn()
    assert not bench.take(WriteBytes)
    assert len(bench.events("dropped", reason="face_closed")) == 3


def test_who_gets_packets_may_close_the_face_in_the_middle() -> None:
    bench = FaceBench()
    other = bench.stream()

    def close(face: Face, interest: Interest, token: bytes) -> None:
        bench.faces.close(face, "no_more")

    bench.sink.interest = close  # type: ignore[method-assign]
    other.write(interest("/a").raw + data("/b").raw + b"broken")
    assert bench.sink.take() == []
    assert bench.take(CloseTransport) == [CloseTransport(other.connection, "no_more")]
    assert not bench.events("protocol_error")


def test_what_the_sink_refuses_costs_the_sender() -> None:
    bench = FaceBench()
    other = bench.stream()

    def refuse(face: Face, interest: Interest, token: bytes) -> None:
        raise RemoteProtocolError("bad_command", "nobody understands it")

    bench.sink.interest = refuse  # type: ignore[method-assign]
    other.write(interest("/a").raw)
    assert bench.events(trace.PROTOCOL_ERROR, reason="bad_command")


def test_link_packets_in_link_packets_are_refused() -> None:
    bench = FaceBench()
    inner = encode_link(interest("/a").raw, token=b"1")
    bench.stream().write(encode_link(inner, token=b"2"))
    assert bench.sink.take() == []
    assert bench.events("protocol_error", reason="bad_packet")
    assert decode_link(inner).token == b"1"
