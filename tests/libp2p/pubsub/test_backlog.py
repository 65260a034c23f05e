"""Messages that wait for a peer: sources take turns, and who floods loses its own."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st

from rumormill.libp2p.pubsub.backlog import QUANTUM, Backlog
from rumormill.libp2p.pubsub.lane import Parcel

MOST_MESSAGES, MOST_BYTES = 20, 1000

additions = st.lists(
    st.tuples(st.sampled_from(["eve", "alice", "bob", None]), st.integers(1, 300)), max_size=100
)


def parcel(frame: bytes) -> Parcel:
    return frame, frame[:8], "t"


def taken(backlog: Backlog) -> list[bytes]:
    return [frame for _ in range(len(backlog)) for frame in backlog.take(1)]


def test_what_came_from_one_source_leaves_in_order() -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    frames = [b"%d" % number for number in range(10)]
    assert [backlog.add(parcel(frame), "alice") for frame in frames] == list(range(10))
    assert taken(backlog) == frames


def test_a_message_waits_for_no_more_than_a_quantum_of_each_other_source() -> None:
    backlog = Backlog(10_000, 10_000_000)
    for _ in range(1000):
        backlog.add(parcel(bytes(1024)), "eve")
    backlog.add(parcel(b"rain"), "alice")
    before = taken(backlog).index(b"rain")
    assert before * 1024 <= QUANTUM


def test_a_flood_fills_its_own_lane_and_makes_room_for_others() -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    flood = [backlog.add(parcel(bytes(100)), "eve") for _ in range(50)]
    assert flood == [*range(10), *[None] * 40]
    assert None not in [backlog.add(parcel(b"%d" % number), "alice") for number in range(5)]
    assert backlog.evicted == 1
    assert [frame for frame in taken(backlog) if len(frame) == 1] == [b"0", b"1", b"2", b"3", b"4"]


def test_there_is_no_room_for_a_source_whose_lane_is_the_longest() -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    for source in ("eve", "alice"):
        while not backlog.full(100, source):
            backlog.add(parcel(bytes(100)), source)
    assert backlog.full(100, "eve")
    assert backlog.full(100, "alice")
    assert not backlog.full(100, "bob")


def test_one_message_always_fits() -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    assert backlog.add(parcel(bytes(5000)), None) == 0
    assert backlog.add(parcel(b"x"), None) is None


@given(additions)
def test_it_is_bounded_and_loses_nothing_that_it_does_not_count(
    additions: list[tuple[str | None, int]],
) -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    accepted: dict[str | None, list[bytes]] = defaultdict(list)
    for number, (source, size) in enumerate(additions):
        frame = b"%d:" % number + bytes(size)
        full = backlog.full(len(frame), source)
        assert (backlog.add(parcel(frame), source) is None) is full
        if not full:
            accepted[source].append(frame)
        assert len(backlog) <= MOST_MESSAGES
        assert backlog.bytes <= MOST_BYTES or len(backlog) == 1
    frames = taken(backlog)
    assert backlog.bytes == 0
    assert len(frames) + backlog.evicted == sum(map(len, accepted.values()))
    for kept in accepted.values():
        left = [frame for frame in frames if frame in kept]
        assert left == [frame for frame in kept if frame in left], "in order"
