"""Messages that wait for a peer: sources take turns, and who floods loses its own."""

from __future__ import annotations

import itertools
from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rumormill.libp2p.pubsub.outbound.backlog import OWN_QUANTUM, QUANTUM, Backlog
from rumormill.libp2p.pubsub.outbound.lane import Parcel

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


# ---- our own lane


def test_our_own_messages_leave_before_those_of_others() -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    for source, frame in (("alice", b"first"), (None, b"ours"), ("bob", b"third"), (None, b"too")):
        backlog.add(parcel(frame), source)
    assert backlog.first() == b"ours"
    assert backlog.take(1000) == [b"ours", b"too", b"first", b"third"]


def test_our_own_messages_do_not_starve_those_of_others() -> None:
    backlog = Backlog(10_000, 10_000_000)
    for source in ("alice", "bob"):
        for _ in range(16):
            backlog.add(parcel(source.encode() + bytes(1020)), source)
    for _ in range(1000):
        backlog.add(parcel(bytes(1024)), None)
    owners = [frame[:1] for frame in taken(backlog)]
    turns = [key for key, _ in itertools.groupby(owners)]
    assert turns == [b"\0", b"a", b"\0", b"b", b"\0", b"a", b"\0", b"b", b"\0"]
    assert owners.index(b"a") * 1024 == OWN_QUANTUM


def test_our_own_messages_come_first_again_after_a_short_lane() -> None:
    backlog = Backlog(10_000, 10_000_000)
    for number in range(5):
        backlog.add(parcel(b"%d" % number), f"source {number}")
    assert backlog.take(1) == [b"0"]
    backlog.add(parcel(b"ours"), None)
    assert backlog.take(100) == [b"ours", b"1", b"2", b"3", b"4"]


# ---- time


def test_what_no_flush_has_passed_by_has_no_age() -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    backlog.add(parcel(b"rain"), None)
    assert backlog.expiry(60.0, 5.0) == float("inf")
    assert backlog.expire(1e9, 1e9) == []


def test_age_counts_from_the_first_flush_that_passed_by() -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    backlog.add(parcel(b"old"), "alice")
    backlog.put_off(10.0)
    backlog.add(parcel(b"new"), "alice")
    backlog.put_off(12.0)
    assert backlog.expiry(60.0, 5.0) == 15.0
    assert backlog.expire(0.0, 9.9) == []
    assert [each[0] for each in backlog.expire(0.0, 10.0)] == [b"old"]
    assert backlog.expiry(60.0, 5.0) == 17.0
    assert taken(backlog) == [b"new"]


def test_a_lane_that_makes_room_loses_its_newest_though_older_ones_are_late() -> None:
    backlog = Backlog(4, MOST_BYTES)
    for number in range(4):
        backlog.add(parcel(b"%d of eve" % number), "eve")
        if number == 1:
            backlog.put_off(10.0)
    backlog.add(parcel(b"rain"), "alice")
    assert backlog.evicted == 1
    assert taken(backlog) == [b"0 of eve", b"1 of eve", b"2 of eve", b"rain"]


def test_our_own_messages_have_a_time_of_their_own() -> None:
    backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
    for source in ("alice", None):
        backlog.add(parcel(b"rain"), source)
    backlog.put_off(10.0)
    assert len(backlog.expire(5.0, 10.0)) == 1
    assert backlog.expiry(60.0, 5.0) == 70.0


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


class NothingIsLostSilently(RuleBasedStateMachine):
    """The model: every message that went in, until it came out or was told to be lost."""

    sources = st.sampled_from(["eve", "alice", None])

    def __init__(self) -> None:
        super().__init__()
        self.backlog = Backlog(MOST_MESSAGES, MOST_BYTES)
        self.now = 0.0
        self.number = 0
        self.waiting: dict[bytes, tuple[str | None, float | None]] = {}
        """By frame: its source, and since when it is late."""

    def lose(self, frames: list[bytes]) -> None:
        for frame in frames:
            del self.waiting[frame]

    @rule(source=sources, size=st.integers(1, 300))
    def add(self, source: str | None, size: int) -> None:
        self.number += 1
        frame = b"%06d:" % self.number + bytes(size)
        if self.backlog.add((frame, frame[:6], "t"), source) is not None:
            self.waiting[frame] = (source, None)
        evicted, self.backlog.evicted = self.backlog.evicted, 0
        left = {each for lane in self.backlog._lanes.values() for each in lane.frames()}
        gone = [each for each in self.waiting if each not in left]
        assert len(gone) == evicted
        assert all(self.waiting[each][0] != source for each in gone)
        kept = {each: owner for each, (owner, _) in self.waiting.items() if each in left}
        for frame in gone:
            owner = self.waiting[frame][0]
            assert all(each < frame for each in kept if kept[each] == owner), "the newest go"
        self.lose(gone)

    @rule(most_bytes=st.sampled_from([1, 300, 10_000]))
    def take(self, most_bytes: int) -> None:
        frames = self.backlog.take(most_bytes)
        assert bool(frames) is bool(self.waiting)
        for source in ("eve", "alice", None):
            mine = [each for each in self.waiting if self.waiting[each][0] == source]
            left = [each for each in frames if self.waiting[each][0] == source]
            assert left == mine[: len(left)], "in order"
        self.lose(frames)

    @rule(seconds=st.floats(0, 3))
    def flush_passes_by(self, seconds: float) -> None:
        self.now += seconds
        self.backlog.put_off(self.now)
        for frame, (source, since) in self.waiting.items():
            self.waiting[frame] = (source, self.now if since is None else since)

    @rule()
    def expire(self) -> None:
        own, other = self.now - 4.0, self.now - 1.0
        lost = [each[0] for each in self.backlog.expire(own, other)]
        assert sorted(lost) == sorted(
            frame
            for frame, (source, since) in self.waiting.items()
            if since is not None and since <= (own if source is None else other)
        )
        self.lose(lost)

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        wanted = data.draw(st.sets(st.sampled_from([*self.waiting, b"none at all"])))
        removed = self.backlog.remove({each[:6] for each in wanted})
        assert {each[0] for each in removed} == wanted - {b"none at all"}
        self.lose([each[0] for each in removed])

    @rule()
    def clear(self) -> None:
        self.backlog.clear()
        self.waiting.clear()

    @invariant()
    def it_knows_what_waits(self) -> None:
        assert len(self.backlog) == len(self.waiting) <= MOST_MESSAGES
        assert self.backlog.bytes == sum(map(len, self.waiting))
        assert sum(len(lane) for lane in self.backlog._lanes.values()) == len(self.waiting)
        assert all(self.backlog._lanes.values()), "no empty lane stays"
        times = [
            since + (4.0 if source is None else 1.0)
            for source, since in self.waiting.values()
            if since is not None
        ]
        assert self.backlog.expiry(4.0, 1.0) == min(times, default=float("inf"))


TestNothingIsLostSilently = NothingIsLostSilently.TestCase
