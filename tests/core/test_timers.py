"""Timers: many keys, one heap, bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.timers import NEVER, SPARE, Alarm, Timers


def test_keys_come_in_the_order_of_their_times_and_then_of_setting() -> None:
    timers = Timers[str]()
    for key, when in (("late", 3.0), ("first", 1.0), ("second", 1.0)):
        timers.set(key, when)
    assert timers.next_wake() == 1.0
    assert timers.due(0.9) == []
    assert timers.due(3.0) == ["first", "second", "late"]
    assert timers.next_wake() is None and len(timers) == 0


def test_a_key_that_was_set_again_comes_once_at_its_last_time() -> None:
    timers = Timers[str]()
    timers.set("key", 1.0)
    timers.set("key", 2.0)
    assert timers.next_wake() == 2.0
    assert timers.due(1.5) == []
    assert timers.due(2.0) == ["key"]


def test_at_latest_only_moves_a_time_forward() -> None:
    timers = Timers[str]()
    timers.at_latest("key", 2.0)
    timers.at_latest("key", 3.0)
    assert timers.next_wake() == 2.0
    timers.at_latest("key", 1.0)
    assert timers.due(1.0) == ["key"] and timers.next_wake() is None


def test_a_cancelled_key_does_not_come() -> None:
    timers = Timers[str]()
    timers.set("key", 1.0)
    timers.cancel("key")
    timers.cancel("never set")
    assert timers.next_wake() is None and timers.due(9.0) == []


def test_the_heap_stays_as_small_as_the_number_of_keys() -> None:
    timers = Timers[int]()
    for turn in range(10_000):
        timers.set(turn % 10, float(turn))
    assert len(timers._heap) <= 2 * 10 + SPARE
    for key in range(10):
        timers.cancel(key)
    assert len(timers) == 0 and len(timers._heap) <= SPARE


@given(
    st.lists(
        st.tuples(
            st.sampled_from(("set", "at_latest", "cancel", "due")),
            st.integers(0, 4),
            st.integers(0, 20),
        ),
        max_size=60,
    )
)
def test_timers_behave_like_a_plain_table(steps: list[tuple[str, int, int]]) -> None:
    timers, plain = Timers[int](), dict[int, float]()
    for step, key, when in steps:
        if step == "set":
            timers.set(key, when)
            plain[key] = when
        elif step == "at_latest":
            timers.at_latest(key, when)
            plain[key] = min(when, plain.get(key, when))
        elif step == "cancel":
            timers.cancel(key)
            plain.pop(key, None)
        else:
            expected = sorted(key for key in plain if plain[key] <= when)
            due = timers.due(when)
            times = [plain.pop(key) for key in due]
            assert sorted(due) == expected and times == sorted(times)
        assert timers.next_wake() == min(plain.values(), default=None)
        assert len(timers) == len(plain)


def test_an_alarm_knows_the_earliest_time_of_all_timers() -> None:
    alarm = Alarm()
    kettle, oven = Timers[str](alarm), Timers[str](alarm)
    assert alarm.soonest == NEVER
    kettle.set("tea", 4.0)
    oven.at_latest("bread", 9.0)
    assert alarm.soonest == 4.0
    oven.at_latest("bread", 2.0)
    assert alarm.soonest == 2.0


def test_an_alarm_may_be_early_but_never_late() -> None:
    alarm = Alarm()
    timers = Timers[str](alarm)
    timers.set("tea", 4.0)
    timers.set("tea", 6.0)
    assert alarm.soonest <= 6.0
