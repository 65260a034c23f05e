"""The seen cache: each id for its time, and never more of them than allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from rumormill.core.timers import NEVER
from rumormill.libp2p.pubsub.inbound.seen import SWEEP_INTERVAL, SeenCache


def test_an_id_is_remembered_until_its_time_is_over() -> None:
    seen = SeenCache(ttl=120.0, most=10)
    seen.add(b"id", now=0.0)
    seen.expire(119.9)
    assert b"id" in seen
    seen.expire(120.0)
    assert b"id" not in seen
    assert len(seen) == 0


def test_the_time_counts_from_the_first_sight() -> None:
    seen = SeenCache(ttl=10.0, most=10)
    seen.add(b"id", now=0.0)
    seen.add(b"id", now=9.0)
    seen.expire(10.0)
    assert b"id" not in seen


def test_an_id_that_was_forgotten_is_new_again() -> None:
    seen = SeenCache(ttl=10.0, most=10)
    seen.add(b"id", now=0.0)
    seen.expire(10.0)
    seen.add(b"id", now=10.0)
    seen.expire(19.0)
    assert b"id" in seen


def test_past_the_bound_the_oldest_go_first_and_are_counted() -> None:
    seen = SeenCache(ttl=100.0, most=2)
    assert [seen.add(each, now=0.0) for each in (b"a", b"b", b"c")] == [0, 0, 1]
    assert [each in seen for each in (b"a", b"b", b"c")] == [False, True, True]


def test_room_made_by_time_is_not_counted_as_forgotten() -> None:
    seen = SeenCache(ttl=10.0, most=2)
    seen.add(b"a", now=0.0)
    seen.add(b"b", now=0.0)
    assert seen.add(b"c", now=10.0) == 0
    assert len(seen) == 1


def test_there_is_nothing_to_wake_for_while_it_is_empty() -> None:
    seen = SeenCache(ttl=10.0, most=2)
    assert seen.expires == NEVER
    seen.add(b"a", now=1.0)
    seen.add(b"b", now=2.0)
    assert seen.expires == 11.0 + SWEEP_INTERVAL
    seen.expire(now=11.0)
    assert seen.expires == 12.0 + SWEEP_INTERVAL
    seen.expire(now=12.0)
    assert seen.expires == NEVER


@given(st.lists(st.binary(max_size=2), max_size=50), st.integers(1, 5))
def test_it_never_holds_more_than_allowed(ids: list[bytes], most: int) -> None:
    seen = SeenCache(ttl=1000.0, most=most)
    for each in ids:
        seen.add(each, now=0.0)
        assert len(seen) <= most
        assert each in seen


class SeenCacheAgainstModel(RuleBasedStateMachine):
    """The model: a list of ids with their times, searched from end to end."""

    TTL, MOST = 5.0, 4

    def __init__(self) -> None:
        super().__init__()
        self.seen = SeenCache(self.TTL, self.MOST)
        self.model: list[tuple[float, bytes]] = []
        self.now = 0.0

    @rule(seconds=st.sampled_from([0.0, 0.5, 1.0, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def expire(self) -> None:
        self.seen.expire(self.now)
        self._expire_model()

    @rule(message_id=st.sampled_from([b"%d" % number for number in range(8)]))
    def add(self, message_id: bytes) -> None:
        forgotten = self.seen.add(message_id, self.now)
        if any(message_id == each for _, each in self.model):
            assert forgotten == 0
            return
        self.model.append((self.now + self.TTL, message_id))
        expected = 0
        if len(self.model) > self.MOST:
            self._expire_model()
            expected = max(0, len(self.model) - self.MOST)
            self.model = self.model[expected:]
        assert forgotten == expected

    def _expire_model(self) -> None:
        self.model = [(until, each) for until, each in self.model if until > self.now]

    @invariant()
    def both_know_the_same(self) -> None:
        known = [b"%d" % number for number in range(8) if b"%d" % number in self.seen]
        assert sorted(known) == sorted(each for _, each in self.model)
        assert len(self.seen) == len(self.model)


TestSeenCacheAgainstModel = SeenCacheAgainstModel.TestCase
