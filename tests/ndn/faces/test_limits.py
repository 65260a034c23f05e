"""What others may make us do, and how many of them there may be."""

from __future__ import annotations

from rumormill.core.transport import CloseTransport, RestTransport
from tests.helpers.ndn.faces import FaceBench, interest

JUNK = b"\x05\x02\x08\x00"


def test_junk_holds_a_connection_back_and_closes_it_in_the_end() -> None:
    bench = FaceBench()
    other = bench.stream()
    rests = 0
    for _ in range(3000):
        other.write(JUNK * 100)
        for rest in bench.take(RestTransport):
            assert rest.connection == other.connection
            rests += 1
            bench.advance(rest.seconds)
        if closed := bench.take(CloseTransport):
            break
    else:
        raise AssertionError("junk is taken for ever")
    assert rests > 3
    assert closed == [CloseTransport(other.connection, "too_much_work")]
    assert bench.events("held_back", reason="bad_packet")[0].fields["address"] == other.face.uri
    assert bench.events("protocol_error", reason="too_much_work")


def test_coming_again_clears_no_debts() -> None:
    bench = FaceBench()
    other = bench.stream()
    while not bench.take(RestTransport):
        other.write(JUNK * 10)
    other.leave()
    again = bench.stream("tcp://192.0.2.1:40001")
    again.write(JUNK)
    assert bench.take(RestTransport)


def test_another_connection_of_the_same_owner_is_not_held_back_for_nothing() -> None:
    bench = FaceBench()
    other, honest = bench.stream(), bench.stream("tcp://192.0.2.1:40001")
    while not bench.take(RestTransport):
        other.write(JUNK * 10)
    honest.write(interest("/a").raw * 100)
    assert not bench.take(RestTransport)


def test_good_packets_cost_nothing() -> None:
    bench = FaceBench()
    other = bench.stream()
    for number in range(200):
        other.write(interest(f"/a/{number}").raw * 50)
    assert len(bench.sink.take()) == 10_000
    assert not bench.take(RestTransport)


def test_who_sends_byte_by_byte_pays_for_our_turns() -> None:
    bench = FaceBench()
    other = bench.stream()
    raw = interest("/a/" + "x" * 200).raw
    for _ in range(200):
        for place in range(len(raw)):
            other.write(raw[place : place + 1])
        if bench.events("held_back", reason="pieces"):
            return
    raise AssertionError("byte by byte is taken for ever")


def test_what_the_forwarder_charges_holds_back_too() -> None:
    bench = FaceBench()
    other = bench.stream()
    bench.faces.charge(other.face, "useless_interests", 1_000_000.0, False)
    other.write(interest("/a").raw)
    assert bench.take(RestTransport)
    assert bench.events("held_back", reason="useless_interests")


def test_connections_of_others_have_a_bound() -> None:
    bench = FaceBench(max_faces=5)
    others = [bench.stream(f"tcp://192.0.2.{number}:1") for number in range(8)]
    assert len(bench.sink.up) == 5
    refused = bench.events("connection_refused", reason="too_many_faces")
    assert [event.fields["address"] for event in refused] == [
        f"tcp://192.0.2.{number}:1" for number in (5, 6, 7)
    ]
    assert len(bench.take(CloseTransport)) == 3
    others[0].leave()
    bench.stream("tcp://192.0.2.9:1")
    assert len(bench.sink.up) == 6
    bench.stream("tcp://127.0.0.1:6363", bench.dial("tcp://127.0.0.1:6363"))
    assert len(bench.sink.up) == 7  # what we dial does not count


def test_one_owner_has_no_more_connections_than_its_share() -> None:
    bench = FaceBench(max_faces_of_owner=2)
    others = [bench.stream(f"tcp://192.0.2.1:{port}") for port in range(4)]
    assert len(bench.sink.up) == 2
    assert bench.events("connection_refused", reason="too_many_faces_of_owner")
    others[0].leave()
    bench.stream("tcp://192.0.2.1:9")
    assert len(bench.sink.up) == 3
    for number in range(4):
        bench.stream(f"unix:///run/ndn.sock#{number}")
    assert len(bench.sink.up) == 7


def test_who_connects_and_never_says_anything_is_closed() -> None:
    bench = FaceBench(silent_timeout=60)
    silent, speaks = bench.stream(), bench.stream("tcp://192.0.2.2:1")
    silent.write(b"\x05")
    speaks.write(interest("/a").raw)
    bench.advance(10_000)
    assert bench.take(CloseTransport) == [CloseTransport(silent.connection, "silent")]
    assert bench.sizes()["connection_timers"] == 0


def test_who_comes_and_goes_leaves_nothing_behind() -> None:
    bench = FaceBench()
    for number in range(500):
        other = bench.stream(f"tcp://10.0.{number >> 8}.{number & 255}:1")
        other.write(interest("/a").raw + b"\x05")
        other.full()
        other.leave()
    bench.advance(5)
    sizes = bench.sizes()
    assert {name for name, size in sizes.items() if size} <= {"face_accounts"}
    assert sizes["face_accounts"] <= 1024
