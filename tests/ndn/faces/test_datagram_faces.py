"""Faces in datagrams: who has one, for how long, and what is sent by it."""

from __future__ import annotations

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Send
from rumormill.core.transport import Dial, DialEnded
from rumormill.ndn.wire.link import NackReason, encode_link
from tests.helpers.ndn.faces import DATAGRAM, Came, FaceBench, data, interest


def test_a_strangers_face_appears_with_its_first_packet_that_can_be_read() -> None:
    bench = FaceBench()
    for junk in (b"", b"\x05", b"hello", b"\x05\x02\x08\x00", interest().raw + b"!"):
        bench.datagram(junk)
    assert bench.sink.up == []
    assert len(bench.events("protocol_error")) == 5
    bench.datagram(interest("/a").raw)
    (face,) = bench.sink.up
    assert (face.uri, face.peer, face.local) == (DATAGRAM, DATAGRAM, False)
    assert bench.sink.take() == [Came("interest", face, interest("/a"))]
    bench.datagram(encode_link(data("/b").raw, token=b"7"))
    assert bench.sink.take() == [Came("data", face, data("/b"), b"7")]
    assert bench.sink.up == [face]


def test_a_packet_is_a_datagram() -> None:
    bench = FaceBench()
    bench.datagram(interest("/a").raw)
    (face,) = bench.sink.up
    face.send_data(data("/a"))
    face.send_interest(interest("/b"), b"t")
    face.send_nack(interest("/c"), NackReason.DUPLICATE)
    bench.end_turn()
    assert bench.take(Send) == [
        Send(DATAGRAM, data("/a").raw),
        Send(DATAGRAM, encode_link(interest("/b").raw, token=b"t")),
        Send(DATAGRAM, encode_link(interest("/c").raw, nack=NackReason.DUPLICATE)),
    ]


def test_a_stranger_that_is_silent_is_forgotten() -> None:
    bench = FaceBench(udp_idle=600)
    bench.datagram(interest("/a").raw)
    bench.advance(400)
    bench.datagram(interest("/b").raw)
    bench.advance(599)
    assert bench.sink.down == []
    bench.advance(2)
    assert bench.sink.down == [(bench.sink.up[0], "idle")]
    assert bench.sizes()["udp_faces"] == bench.sizes()["faces"] == 0
    bench.datagram(interest("/c").raw)
    assert bench.sink.up[1].id != bench.sink.up[0].id
    bench.sink.up[0].send_data(data())
    assert bench.sent() == []


def test_silence_ends_at_any_time_of_day() -> None:
    for start in (1000.1, 1_700_000_000.3, 0.7):
        bench = FaceBench(udp_idle=600)
        bench.now = start
        bench.datagram(interest("/a").raw)
        bench.advance(601)
        assert len(bench.sink.down) == 1


def test_what_is_dialed_is_there_at_once_and_stays() -> None:
    bench = FaceBench()
    bench.feed(Dial("udp4://127.0.0.1", keep=True))
    (face,) = bench.sink.up
    assert (face.uri, face.local) == ("udp://127.0.0.1:6363", True)
    assert bench.take(DialEnded) == [DialEnded("udp4://127.0.0.1", "udp://127.0.0.1:6363")]
    bench.advance(10_000)
    bench.datagram(data("/a").raw, "udp://127.0.0.1:6363")
    assert bench.sink.take() == [Came("data", face, data("/a"))]
    assert bench.sink.down == []


def test_what_is_dialed_and_not_kept_idles_out() -> None:
    bench = FaceBench(udp_idle=600)
    bench.feed(Dial("udp://127.0.0.1:6363"))
    bench.advance(601)
    assert bench.sink.down == [(bench.sink.up[0], "idle")]


def test_a_stranger_that_we_dial_is_the_same_face() -> None:
    bench = FaceBench(udp_idle=600)
    bench.datagram(interest("/a").raw)
    bench.feed(Dial(DATAGRAM, keep=True))
    bench.advance(601)
    assert len(bench.sink.up) == 1
    assert bench.sink.down == []
    assert bench.sizes()["udp_idle"] == bench.sizes()["udp_sources"] == 0


@pytest.mark.parametrize("address", ["udp://localhost:6363", "udp4://localhost:6363"])
def test_names_have_to_be_looked_up_before(address: str) -> None:
    bench = FaceBench()
    with pytest.raises(LocalProtocolError, match="looked up"):
        bench.feed(Dial(address))


def test_who_was_not_dialed_is_not_heard_where_strangers_are_not() -> None:
    bench = FaceBench(strangers=False)
    bench.datagram(interest("/a").raw)
    assert bench.sink.up == []
    assert bench.events("ignored", reason="not_dialed")


def test_strangers_have_a_bound_and_the_silent_give_way() -> None:
    bench = FaceBench(max_udp_faces=10)
    for number in range(10):
        bench.datagram(interest("/a").raw, f"udp://192.0.2.{number}:1")
        bench.advance(0.1)
    bench.datagram(interest("/a").raw, "udp://198.51.100.1:1")
    assert bench.events("connection_refused", reason="too_many_faces")
    assert len(bench.sink.up) == 10
    bench.advance(9.5)
    bench.datagram(interest("/a").raw, "udp://192.0.2.0:1")  # the oldest speaks again
    bench.datagram(interest("/a").raw, "udp://198.51.100.1:1")
    assert [(face.uri, reason) for face, reason in bench.sink.down] == [
        ("udp://192.0.2.1:1", "gave_way")
    ]
    assert bench.sink.up[-1].uri == "udp://198.51.100.1:1"
    assert bench.sizes()["udp_faces"] == 10


def test_one_owner_has_no_more_than_its_share() -> None:
    bench = FaceBench(max_faces_of_owner=3)
    for port in range(1, 8):
        bench.datagram(interest("/a").raw, f"udp://[2001:db8::{port}]:{port}")
        bench.datagram(interest("/a").raw, f"udp://127.0.0.1:{port}")
    assert sum("2001" in face.uri for face in bench.sink.up) == 3
    assert sum("127" in face.uri for face in bench.sink.up) == 7
    assert bench.events("connection_refused", reason="too_many_faces_of_owner")


def test_a_closed_face_is_forgotten() -> None:
    bench = FaceBench()
    bench.datagram(interest("/a").raw)
    (face,) = bench.sink.up
    bench.faces.close(face, "destroyed")
    bench.faces.close(face, "destroyed")
    bench.end_turn()
    assert bench.sink.down == [(face, "destroyed")]
    assert bench.faces.by_id(face.id) is None


def test_a_flood_of_junk_is_turned_away_unread_and_told() -> None:
    bench = FaceBench()
    for _ in range(20_000):
        bench.datagram(b"junk")
        if not bench.faces.gate.admits(DATAGRAM, b"junk", bench.now):
            break
    else:
        raise AssertionError("junk is taken for ever")
    assert bench.events("held_back", reason="bad_packet")[0].fields["address"] == DATAGRAM
    before = len(bench.events("protocol_error"))
    bench.datagram(b"junk")
    assert len(bench.events("protocol_error")) == before
    # Others are heard, and it is told what was not.
    bench.datagram(interest("/a").raw, "udp://198.51.100.1:1")
    assert len(bench.sink.take()) == 1
    bench.advance(2)
    assert bench.events("dropped", what="datagram", reason="held_back")


def test_a_flood_of_strangers_takes_no_memory() -> None:
    bench = FaceBench(max_udp_faces=50)
    for number in range(3000):
        address = f"udp://10.{number >> 8}.{number & 255}.1:1"
        bench.datagram(interest("/a").raw, address)
        bench.datagram(b"junk", address)
    sizes = bench.sizes()
    assert sizes["udp_faces"] <= 50
    assert sizes["accounts"] <= 50
    assert sizes["resting"] <= 50
    bench.advance(700)
    assert bench.sizes()["faces"] == 0
