"""Faces whose other end does not read: what waits has bounds, Interests give way first."""

from __future__ import annotations

from rumormill.core.transport import CloseTransport, WriteBytes
from rumormill.ndn.faces.face import Face
from tests.helpers.ndn.faces import FaceBench, data, interest

ROOM = 64 * 1024
CONTENT = b"x" * 1000


def fill(bench: FaceBench, face: Face, count: int) -> None:
    for number in range(count):
        face.send_data(data(f"/d/{number:04d}", CONTENT))
    bench.end_turn()


def test_what_a_slow_reader_does_not_take_waits_in_order() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.full()
    other.face.send_interest(interest("/a"))
    bench.end_turn()
    other.face.send_data(data("/b"))
    bench.end_turn()
    assert other.writes() == []
    assert bench.sizes()["bytes_waiting"] == len(interest("/a").raw + data("/b").raw)
    other.full(False)
    assert other.writes() == [interest("/a").raw + data("/b").raw]
    assert bench.sizes()["bytes_waiting"] == 0


def test_past_half_of_the_room_interests_are_dropped_and_past_all_of_it_data() -> None:
    bench = FaceBench(face_queue_bytes=ROOM)
    other = bench.stream()
    other.full()
    size = len(data("/d/0000", CONTENT).raw)
    fill(bench, other.face, ROOM // 2 // size + 1)
    other.face.send_interest(interest("/a"))
    assert bench.sizes()["bytes_waiting"] < ROOM
    bench.end_turn()
    (dropped,) = bench.events("dropped", what="packet", reason="queue_full")
    assert dropped.fields["address"] == other.face.uri
    fill(bench, other.face, ROOM // size)
    waiting = bench.sizes()["bytes_waiting"]
    assert ROOM - size < waiting <= ROOM
    other.full(False)
    kept = other.packets()
    assert len(kept) == ROOM // size
    assert all(raw[0] == 0x06 for raw in kept)
    lost = bench.events("dropped", reason="queue_full")
    assert len(lost) + len(kept) == 1 + ROOM // 2 // size + 1 + ROOM // size


def test_one_turn_brings_no_more_than_there_is_room_for() -> None:
    bench = FaceBench(face_queue_bytes=ROOM)
    other = bench.stream()
    fill(bench, other.face, 200)
    (written,) = other.writes()
    assert len(written) <= ROOM
    assert bench.events("dropped", reason="queue_full")


def test_who_takes_nothing_for_too_long_is_closed() -> None:
    bench = FaceBench(stall_timeout=30)
    other = bench.stream()
    other.write(interest("/a").raw)
    other.full()
    fill(bench, other.face, 3)
    bench.advance(29)
    assert not bench.take(CloseTransport)
    bench.advance(2)
    assert bench.take(CloseTransport) == [CloseTransport(other.connection, "too_slow")]
    assert bench.events("dropped", reason="too_slow", count=3)
    assert bench.sink.down == [(other.face, "too_slow")]


def test_who_takes_something_now_and_then_is_not() -> None:
    bench = FaceBench(stall_timeout=30)
    other = bench.stream()
    other.write(interest("/a").raw)
    for _ in range(10):
        other.full()
        fill(bench, other.face, 1)
        bench.advance(20)
        other.full(False)
    assert not bench.take(CloseTransport)
    assert bench.sizes()["connection_timers"] <= 1


def test_all_slow_readers_together_have_a_bound_and_the_slowest_goes_first() -> None:
    bench = FaceBench(face_queue_bytes=ROOM, max_queue_bytes=4 * ROOM)
    others = [bench.stream(f"tcp://192.0.2.1:{port}") for port in range(40_000, 40_010)]
    for number, other in enumerate(others):
        other.full()
        fill(bench, other.face, 40 + number)
        assert bench.sizes()["bytes_waiting"] <= 4 * ROOM
    closed = bench.take(CloseTransport)
    assert closed
    assert {each.reason for each in closed} == {"too_slow"}
    assert others[0].connection not in {each.connection for each in closed}


def test_a_fast_reader_does_not_notice_the_slow_ones() -> None:
    bench = FaceBench(face_queue_bytes=ROOM)
    slow, fast = bench.stream(), bench.stream("tcp://192.0.2.1:40001")
    slow.full()
    for _ in range(50):
        for other in (slow, fast):
            fill(bench, other.face, 10)
    assert len(bench.take(WriteBytes)) == 50
    assert bench.sizes()["bytes_waiting"] <= ROOM


def test_what_waits_leaves_before_we_close() -> None:
    bench = FaceBench()
    other = bench.stream()
    other.face.send_data(data("/a"))
    bench.faces.close(other.face, "enough")
    bench.end_turn()
    found = [each for each in bench.effects if isinstance(each, WriteBytes | CloseTransport)]
    assert found == [
        WriteBytes(other.connection, data("/a").raw),
        CloseTransport(other.connection, "enough"),
    ]
