"""The buffer between the event loop and the writer's thread."""

from __future__ import annotations

import threading
import time
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rumormill.capture.writing.buffer import LEAST, Buffer


def make(**changes: Any) -> Buffer[bytes]:
    settings: dict[str, Any] = {
        "size_of": len,
        "most": 10,
        "most_bytes": 100,
        "batch": 4,
        "batch_bytes": 50,
        "some": threading.Event(),
        "full": threading.Event(),
    }
    return Buffer(**(settings | changes))


def fill(buffer: Buffer[bytes], *records: bytes) -> list[bool]:
    return [buffer.add(record, len(record)) for record in records]


def test_records_are_taken_in_batches_in_their_order() -> None:
    buffer = make()
    fill(buffer, *[b"%d" % number for number in range(6)])
    assert [buffer.take(), buffer.take(), buffer.take()] == [
        [b"0", b"1", b"2", b"3"], [b"4", b"5"], [],
    ]  # fmt: skip


def test_a_batch_has_no_more_bytes_than_allowed_unless_one_record_has() -> None:
    buffer = make(most_bytes=1000)
    fill(buffer, bytes(30), bytes(30), bytes(90), b"")
    assert [list(map(len, buffer.take())) for _ in range(3)] == [[30], [30], [90]]


def test_beyond_the_bounds_records_are_dropped_and_counted() -> None:
    buffer = make()
    assert fill(buffer, *[b"x"] * 12) == [True] * 10 + [False] * 2
    assert buffer.dropped == 2
    buffer.take()
    assert fill(buffer, bytes(94), bytes(95), b"x") == [True, False, False]
    assert (buffer.dropped, buffer.added) == (4, 11)


def test_a_record_larger_than_the_buffer_is_taken_if_it_is_alone() -> None:
    buffer = make()
    assert fill(buffer, bytes(500), b"x") == [True, False]


def test_the_thread_is_woken_by_the_first_record_and_by_a_full_batch() -> None:
    some, full = threading.Event(), threading.Event()
    buffer = make(some=some, full=full)
    fill(buffer, b"x")
    assert some.is_set() and not full.is_set()
    some.clear()
    fill(buffer, b"x", b"x")
    assert not some.is_set() and not full.is_set()
    fill(buffer, b"x")
    assert full.is_set() and buffer.has_batch


def test_the_thread_is_woken_when_the_bytes_are_enough_for_a_batch() -> None:
    full = threading.Event()
    buffer = make(full=full)
    fill(buffer, bytes(40))
    assert not full.is_set()
    fill(buffer, bytes(20))
    assert full.is_set() and buffer.has_batch


def test_a_closed_buffer_counts_what_comes_too_late() -> None:
    buffer = make()
    fill(buffer, b"x")
    buffer.close()
    assert fill(buffer, b"y") == [False]
    assert (buffer.take(), buffer.dropped) == ([b"x"], 1)


# ---- who loses records when the disk does not keep up


def claim_of(record: bytes) -> str | None:
    """Records are named ``peer number``; what begins with a minus can be repeated at will."""
    name = record.split()[0].decode()
    return {"us": None, "-": LEAST}.get(name, name)


def shared(most: int = 100) -> Buffer[bytes]:
    return make(most=most, most_bytes=10**6, batch=10, batch_bytes=10**6, claim_of=claim_of)


def test_one_peer_never_gets_the_last_places() -> None:
    buffer = shared()
    assert sum(fill(buffer, *[b"mallory %d" % number for number in range(1000)])) == 75
    assert fill(buffer, *[b"alice %d" % number for number in range(10)]) == [True] * 10
    assert sum(fill(buffer, *[b"us %d" % number for number in range(1000)])) == 15
    assert len(buffer) == 100
    assert buffer.dropped == 1000 - 75 + 1000 - 15


def test_however_many_flood_it_there_is_room_for_who_has_little() -> None:
    buffer = shared(most=10_000)
    for number in range(1000):
        fill(buffer, *[b"mallory-%d %d" % (peer, number) for peer in range(100)])
    assert all(fill(buffer, *[b"alice %d" % number for number in range(20)]))


def test_what_can_be_repeated_at_will_is_dropped_first() -> None:
    buffer = shared()
    assert sum(fill(buffer, *[b"- %d" % number for number in range(1000)])) == 50
    assert all(fill(buffer, *[b"alice %d" % number for number in range(20)]))
    assert buffer.dropped == 950


def test_who_had_much_gets_places_again_when_records_were_written() -> None:
    buffer = shared()
    for _ in range(100):
        fill(buffer, *[b"alice %d" % number for number in range(100)])
        for _ in range(3):
            buffer.take()
        assert any(fill(buffer, b"alice 0"))


def test_bytes_are_shared_as_places_are() -> None:
    buffer = make(most=10**6, most_bytes=10_000, claim_of=claim_of)
    fill(buffer, *[b"mallory".ljust(100)] * 1000)
    assert fill(buffer, *[b"alice".ljust(100)] * 5) == [True] * 5


@given(st.lists(st.integers(0, 120) | st.none(), max_size=60))
def test_the_bounds_hold_and_nothing_is_lost_in_any_order_of_adding_and_taking(
    steps: list[int | None],
) -> None:
    buffer = make()
    expected: list[bytes] = []
    taken: list[bytes] = []
    for step in steps:
        if step is None:
            taken += buffer.take()
        elif buffer.has_room(step) == buffer.add(record := bytes(step), step) is True:
            expected.append(record)
        waiting = expected[len(taken) :]
        assert len(buffer) == len(waiting) <= 10
        assert len(waiting) == 1 or sum(map(len, waiting)) <= 100
    while batch := buffer.take():
        taken += batch
    assert taken == expected


def test_no_record_and_no_wake_is_lost_between_two_threads() -> None:
    some = threading.Event()
    buffer = make(some=some, most=1000, most_bytes=10**9, batch=7)
    total = 20_000
    taken: list[bytes] = []

    def work() -> None:
        while len(taken) < total:
            some.clear()
            if not len(buffer) and not some.wait(20):
                return  # a wake was lost: the test fails below
            taken.extend(buffer.take())

    thread = threading.Thread(target=work)
    thread.start()
    for number in range(total):
        record = b"%d" % number
        while not buffer.has_room(len(record)):
            time.sleep(0)
        assert buffer.add(record, len(record))
    thread.join(60)
    assert taken == [b"%d" % number for number in range(total)]
