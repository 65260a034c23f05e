"""What faces tell of their traffic."""

from __future__ import annotations

from rumormill.core.transport import Dial
from rumormill.ndn.faces.transport_face import TransportFace
from rumormill.ndn.wire.link import NackReason, encode_link
from tests.helpers.ndn.faces import FaceBench, data, interest


def test_packets_are_summed_up_by_face_and_second() -> None:
    bench = FaceBench()
    other = bench.stream()
    raw = interest("/a").raw * 3 + data("/b").raw + encode_link(interest("/c").raw, nack=150)
    other.write(raw)
    other.face.send_data(data("/d"))
    other.face.send_nack(interest("/e"), NackReason.NO_ROUTE)
    bench.end_turn()
    assert not bench.events("packet_received")
    bench.advance(1)
    (received,) = bench.events("packet_received")
    where = {"address": other.face.uri}
    assert received.peer is None  # nobody has said yet which node it is
    assert dict(received.fields) == {
        **where, "size": len(raw), "count": 5, "interests": 3, "data": 1, "nacks": 1,
    }  # fmt: skip
    (sent,) = bench.events("packet_sent")
    size = len(data("/d").raw) + len(encode_link(interest("/e").raw, nack=150))
    assert dict(sent.fields) == {
        **where, "size": size, "count": 2, "interests": 0, "data": 1, "nacks": 1,
    }  # fmt: skip


def test_a_report_tells_what_is_new_and_a_quiet_face_nothing() -> None:
    bench = FaceBench()
    other = bench.stream()
    for _ in range(3):
        other.write(interest("/a").raw)
        bench.advance(1)
    bench.advance(100)
    events = bench.events("packet_received")
    assert [event.fields["count"] for event in events] == [1, 1, 1]
    assert not bench.events("packet_sent")


def test_the_rest_is_told_when_a_face_goes() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.write(interest("/a").raw)
    other.leave()
    assert len(bench.events("packet_received")) == 1
    assert bench.sizes()["faces_in_reports"] == 0
    bench.advance(5)
    assert len(bench.events("packet_received")) == 1


def test_what_was_sent_in_the_turn_in_which_a_face_goes_is_told() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.face.send_data(data("/a"))
    bench.faces.close(other.face, "enough")
    bench.end_turn()
    (sent,) = bench.events("packet_sent")
    assert sent.fields["data"] == 1
    bench.advance(5)
    assert bench.sizes()["faces_in_reports"] == 0


def test_datagrams_are_counted_too() -> None:
    bench = FaceBench(mtu=256)
    bench.datagram(interest("/a").raw)
    (face,) = bench.sink.up
    face.send_data(data("/a", b"x" * 1000))
    bench.end_turn()
    bench.advance(1)
    (sent,) = bench.events("packet_sent")
    assert (sent.fields["count"], sent.fields["data"]) == (1, 1)
    assert sent.fields["size"] == sum(map(len, bench.sent()))
    assert bench.events("packet_received")[0].fields["interests"] == 1


def test_a_face_that_only_sends_tells_so() -> None:
    bench = FaceBench()
    bench.feed(Dial("udp://192.0.2.7:6363"))
    bench.sink.up[0].send_interest(interest("/a"))
    bench.end_turn()
    bench.advance(1)
    assert len(bench.events("packet_sent")) == 1
    assert not bench.events("packet_received")


def test_totals_can_be_asked_for() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.write(interest("/a").raw + data("/b").raw)
    assert isinstance(other.face, TransportFace)
    traffic = other.face.traffic
    assert (traffic.in_interests, traffic.in_data, traffic.out_bytes) == (1, 1, 0)
