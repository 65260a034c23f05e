"""Faces that we want: dialed, lost, and reached again."""

from __future__ import annotations

import pytest

from rumormill.core.errors import LocalProtocolError
from rumormill.core.transport import (
    CancelTransport,
    CloseTransport,
    Dial,
    DialEnded,
    OpenTransport,
    TransportFailed,
)
from tests.helpers.ndn.faces import FaceBench, data, interest

FORWARDER = "tcp://127.0.0.1:6363"


def test_a_dial_opens_a_transport_with_the_address_as_it_is() -> None:
    bench = FaceBench()
    for number, address in enumerate([FORWARDER, "unix:///run/nfd.sock", "tcp4://host"], 1):
        bench.feed(Dial(address))
        assert bench.take(OpenTransport) == [OpenTransport(number, address)]


def test_a_face_is_up_when_the_connection_stands() -> None:
    bench = FaceBench()
    dial = bench.dial("tcp://localhost:6363")
    assert bench.sink.up == []
    other = bench.stream(FORWARDER, dial)
    assert (other.face.uri, other.face.local) == (FORWARDER, True)
    assert bench.take(DialEnded) == [DialEnded("tcp://localhost:6363", FORWARDER)]
    (opened,) = bench.events("connection_opened")
    assert (opened.peer, opened.fields["address"]) == (None, FORWARDER)
    assert opened.fields["outbound"] is True
    assert not bench.events("peer_joined")  # a face is no node


def test_faces_are_local_by_where_the_other_end_really_is() -> None:
    bench = FaceBench()
    assert bench.stream("unix:///run/a.sock#1").face.local
    assert not bench.stream("tcp://192.0.2.1:4000").face.local
    dial = bench.dial("tcp://looks.like.localhost:6363")
    assert not bench.stream("tcp://198.51.100.7:6363", dial).face.local


def test_a_failed_dial_is_told_in_a_sentence() -> None:
    bench = FaceBench()
    dial = bench.dial(FORWARDER, keep=False)
    bench.feed(TransportFailed(dial, "connection_refused"))
    sentence = f"could not connect to {FORWARDER}: connection refused"
    assert bench.take(DialEnded) == [DialEnded(FORWARDER, None, sentence)]
    assert bench.faces.dial_problem == sentence
    assert bench.sizes()["faces"] == bench.sizes()["dialed_faces"] == 0


def test_what_is_to_be_kept_is_dialed_until_it_is_there_and_again_when_it_is_lost() -> None:
    bench = FaceBench(redial_first_delay=0.25, redial_longest_delay=10, redial_jitter=0)
    dial = bench.dial(FORWARDER)
    for _ in range(8):
        bench.feed(TransportFailed(dial, "connection_refused"))
        bench.advance(10)
        (opened,) = bench.take(OpenTransport)
        dial = opened.dial
    first = bench.stream(FORWARDER, dial)
    bench.advance(60)
    first.leave("connection_reset")
    assert bench.sink.down == [(first.face, "connection_reset")]
    bench.advance(0.3)
    (opened,) = bench.take(OpenTransport)
    second = bench.stream(FORWARDER, opened.dial)
    assert second.face.id > first.face.id
    assert len(bench.take(DialEnded)) == 1
    assert len(bench.events("dial_scheduled")) == 9


def test_a_dial_takes_no_longer_than_it_may() -> None:
    bench = FaceBench(dial_timeout=10)
    dial = bench.dial(FORWARDER, keep=False)
    bench.advance(11)
    assert bench.take(CancelTransport) == [CancelTransport(dial)]
    assert "no answer within 10 s" in bench.take(DialEnded)[0].problem
    assert bench.sizes()["faces"] == 0
    late = bench.stream(FORWARDER, dial)
    assert bench.take(CloseTransport) == [CloseTransport(late.connection, "not_wanted")]


def test_who_dials_what_is_connected_hears_so() -> None:
    bench = FaceBench()
    bench.stream(FORWARDER, bench.dial(FORWARDER))
    bench.take(DialEnded)
    bench.feed(Dial(FORWARDER))
    assert bench.take(DialEnded) == [DialEnded(FORWARDER, FORWARDER)]
    assert not bench.take(OpenTransport)


def test_a_wrong_address_is_the_callers_mistake() -> None:
    bench = FaceBench()
    with pytest.raises(LocalProtocolError):
        bench.feed(Dial("127.0.0.1:6363"))


def test_a_created_face_has_its_number_before_it_is_reached() -> None:
    bench = FaceBench()
    bench.turn.begin(bench.now)
    face = bench.faces.create(FORWARDER)
    bench.end_turn()
    assert bench.faces.by_id(face.id) is face
    assert list(bench.faces.all()) == [face]
    face.send_data(data("/lost"))
    bench.end_turn()
    assert bench.events("dropped", reason="face_closed")
    other = bench.stream(FORWARDER, bench.take(OpenTransport)[0].dial)
    assert other.face is face
    face.send_interest(interest("/a"))
    bench.end_turn()
    assert other.packets() == [interest("/a").raw]


@pytest.mark.parametrize("reached", [True, False])
def test_a_face_that_is_ended_is_not_dialed_again(reached: bool) -> None:
    bench = FaceBench()
    bench.turn.begin(bench.now)
    face = bench.faces.create(FORWARDER, keep=True)
    bench.end_turn()
    dial = bench.take(OpenTransport)[0].dial
    if reached:
        bench.stream(FORWARDER, dial)
    bench.turn.begin(bench.now)
    bench.faces.close(face, "destroyed")
    bench.end_turn()
    assert bench.take(CancelTransport) == ([] if reached else [CancelTransport(dial)])
    assert bench.faces.by_id(face.id) is None
    bench.advance(100)
    assert not bench.take(OpenTransport)
    assert bench.sizes()["targets"] == 0


def test_a_face_that_broke_the_protocol_is_dialed_again_later() -> None:
    bench = FaceBench()
    other = bench.stream(FORWARDER, bench.dial(FORWARDER))
    other.write(b"nonsense")
    assert bench.take(CloseTransport) == [CloseTransport(other.connection, "bad_tlv")]
    bench.advance(1)
    assert len(bench.take(OpenTransport)) == 1


def test_shutting_down_closes_all_and_dials_nothing_any_more() -> None:
    bench = FaceBench()
    bench.stream(FORWARDER, bench.dial(FORWARDER))
    accepted = bench.stream()
    pending = bench.dial("tcp://127.0.0.1:6364")
    bench.datagram(interest("/a").raw)
    accepted.face.send_data(data("/last"))
    bench.faces.shutdown()
    bench.end_turn()
    assert accepted.packets() == [data("/last").raw]
    assert len(bench.take(CloseTransport)) == 2
    assert bench.take(CancelTransport) == [CancelTransport(pending)]
    assert len(bench.sink.down) == 3
    late = bench.stream("tcp://192.0.2.9:1")
    assert bench.take(CloseTransport) == [CloseTransport(late.connection, "not_wanted")]
    bench.advance(100)
    sizes = bench.sizes()
    assert {name: size for name, size in sizes.items() if size} == {"face_accounts": 1}
    assert bench.faces.next_wake() is None
