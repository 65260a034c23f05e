"""Virtual time: order, jumps, and calls that must not be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import LocalProtocolError
from rumormill.simulate import Clock


def test_equal_times_happen_in_the_order_of_scheduling() -> None:
    clock = Clock()
    seen: list[object] = []
    for number in range(50):
        clock.schedule(1.0, seen.append, number)
    clock.run_until(1.0)
    assert seen == list(range(50))


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 7.0]), max_size=40))
def test_events_happen_by_time_and_then_by_order(times: list[float]) -> None:
    clock: Clock = Clock()
    seen: list[tuple[float, int]] = []
    for number, time in enumerate(times):
        clock.schedule(time, lambda number: seen.append((clock.now, number)), number)
    clock.run_until(10.0)
    assert seen == sorted(zip(times, range(len(times)), strict=True))


def test_the_clock_jumps_to_the_event_and_stands_at_the_end() -> None:
    clock = Clock(start=100.0)
    seen: list[float] = []
    clock.schedule(5000.0, lambda _: seen.append(clock.now))
    clock.run_until(4999.0)
    assert (seen, clock.now) == ([], 4999.0)
    clock.run_until(6000.0)
    assert (seen, clock.now) == ([5000.0], 6000.0)


def test_what_is_scheduled_for_now_comes_after_what_is_due_now() -> None:
    clock = Clock()
    seen: list[object] = []
    clock.schedule(1.0, lambda _: clock.schedule(1.0, seen.append, "late"))
    clock.schedule(1.0, seen.append, "early")
    clock.run_until(1.0)
    assert seen == ["early", "late"]


@pytest.mark.parametrize("time", [0.5, math.nan, math.inf])
def test_nothing_is_scheduled_for_the_past_or_for_never(time: float) -> None:
    clock = Clock(start=1.0)
    with pytest.raises(LocalProtocolError, match="scheduled"):
        clock.schedule(time, print)


@pytest.mark.parametrize("time", [0.5, math.nan, math.inf])
def test_the_clock_does_not_run_backwards_or_for_ever(time: float) -> None:
    clock = Clock(start=1.0)
    with pytest.raises(LocalProtocolError, match="cannot run"):
        clock.run_until(time)
    with pytest.raises(LocalProtocolError, match="cannot run"):
        clock.run_until_idle(time)


def test_step_runs_one_event() -> None:
    clock = Clock()
    seen: list[object] = []
    clock.schedule(1.0, seen.append, "a")
    clock.schedule(1.0, seen.append, "b")
    assert clock.step()
    assert (seen, clock.now) == (["a"], 1.0)
    assert clock.step()
    assert not clock.step()
    assert (seen, clock.events, clock.idle) == (["a", "b"], 2, True)


def test_idle_leaves_the_clock_at_the_last_event_and_the_limit_cuts_it_off() -> None:
    clock = Clock()
    clock.schedule(2.0, lambda _: None)
    assert clock.run_until_idle(limit=50.0)
    assert clock.now == 2.0
    clock.schedule(60.0, lambda _: None)
    assert not clock.run_until_idle(limit=50.0)
    assert clock.now == 50.0


def test_an_event_cannot_run_the_clock() -> None:
    clock = Clock()
    clock.schedule(1.0, lambda _: clock.run_until(2.0))
    with pytest.raises(LocalProtocolError, match="running already"):
        clock.run_until(1.0)
    clock.run_until(3.0)  # and the error leaves nothing locked
    assert clock.now == 3.0


def test_soon_is_now_unless_effects_are_being_carried_out() -> None:
    clock = Clock()
    seen: list[object] = []
    clock.soon(seen.append, "at once")
    clock.acting = True
    clock.soon(seen.append, "after the effects")
    assert seen == ["at once"]
    clock.acting = False
    clock.run_until(0.0)
    assert seen == ["at once", "after the effects"]
