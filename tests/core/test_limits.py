"""Allowances: what is used refills with time, for each of a bounded number of keys."""

from __future__ import annotations

import sys
from types import FrameType

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.limits import (
    PATIENCE_RATE,
    WORN_OUT,
    Allowance,
    Allowances,
    Work,
    WorkLimits,
)

RATE, BURST = 2.0, 5.0
ROUNDING = 1e-6

steps = st.lists(
    st.tuples(st.integers(0, 9), st.floats(0, 4), st.floats(0, 6)), max_size=200
)  # a key, a pause before it asks, what it asks for


def test_an_allowance_refills_with_time_and_never_past_its_burst() -> None:
    allowance = Allowance(rate=10, burst=20)
    assert allowance.take(20, now=5.0)
    assert not allowance.take(1, now=5.0)
    assert allowance.take(10, now=6.0)
    assert not allowance.take(1, now=6.0)
    assert not allowance.take(21, now=1000.0)
    assert allowance.take(20, now=1000.0)


def test_what_is_refused_costs_nothing() -> None:
    allowance = Allowance(rate=1, burst=10)
    assert allowance.take(8, now=0.0)
    assert not any(allowance.take(3, now=0.0) for _ in range(100))
    assert allowance.take(2, now=0.0)


def test_a_clock_that_steps_back_refills_nothing() -> None:
    allowance = Allowance(rate=1, burst=1)
    assert allowance.take(1, now=100.0)
    assert not allowance.take(1, now=0.0)
    assert not allowance.take(1, now=100.5)
    assert allowance.take(1, now=101.0)


@given(steps)
def test_nobody_gets_more_than_burst_and_rate_allow(steps: list[tuple[int, float, float]]) -> None:
    allowance = Allowance(RATE, BURST)
    now = taken = 0.0
    for _, pause, cost in steps:
        now += pause
        taken += cost if allowance.take(cost, now) else 0.0
        assert taken <= BURST + RATE * now + ROUNDING


@given(steps)
def test_who_asks_for_no_more_than_the_rate_is_never_refused(
    steps: list[tuple[int, float, float]],
) -> None:
    allowance = Allowance(RATE, BURST)
    now = 0.0
    for _, pause, _ in steps:
        now += pause
        assert allowance.take(min(BURST, RATE * pause) * (1 - ROUNDING), now)


@given(steps)
def test_forgetting_full_allowances_changes_no_answer(
    steps: list[tuple[int, float, float]],
) -> None:
    allowances = Allowances[int](RATE, BURST, most=10)
    kept = [Allowance(RATE, BURST) for _ in range(10)]
    now = 0.0
    for key, pause, cost in steps:
        now += pause
        assert allowances.take(key, cost, now) == kept[key].take(cost, now)


@given(steps, st.integers(1, 5))
def test_no_more_keys_are_kept_than_allowed_and_the_latest_are_among_them(
    steps: list[tuple[int, float, float]], most: int
) -> None:
    allowances = Allowances[int](RATE, BURST, most)
    for key, _, _ in steps:
        allowances.take(key, BURST, now=0.0)
        assert len(allowances) <= most
    latest = list(dict.fromkeys(key for key, _, _ in reversed(steps)))[:most]
    assert len(allowances) == len(latest)
    assert not any(allowances.take(key, 1.0, now=0.0) for key in latest)


def test_keys_that_have_not_asked_for_a_while_are_forgotten() -> None:
    allowances = Allowances[int](RATE, BURST, most=1000)
    for key in range(100):
        allowances.take(key, 1.0, now=0.0)
    for _ in range(100):
        allowances.take(-1, 0.01, now=BURST / RATE)
    assert len(allowances) == 1


def test_a_new_key_costs_the_same_few_steps_however_many_are_kept() -> None:
    # Both in a flood of keys that push each other out, and when all that are kept can go.
    for now in (0.0, 1000.0):
        costs = {most: steps_of_a_new_key(most, now) for most in (10, 10_000)}
        assert costs[10] == costs[10_000] < 100


def steps_of_a_new_key(most: int, now: float) -> int:
    """Lines that are run to take from the allowance of a key that is not known."""
    allowances = Allowances[int](RATE, BURST, most)
    for key in range(2 * most):
        allowances.take(key, 1.0, now=0.0)
    lines = 0

    def count(frame: FrameType, event: str, _: object) -> object:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)  # type: ignore[arg-type]
    try:
        allowances.take(-1, 1.0, now)
    finally:
        sys.settrace(before)
    return lines


# ---- work

LIMITS = WorkLimits(share=0.1, burst=0.5, patience=5.0)


def test_work_within_the_burst_costs_no_rest() -> None:
    work = Work(LIMITS, now=0.0)
    work.spend("ids", 500_000)
    assert work.rest(now=0.0) == 0.0


def test_the_rest_is_as_long_as_it_takes_to_pay_what_is_beyond_the_burst() -> None:
    work = Work(LIMITS, now=0.0)
    work.spend("ids", 600_000)
    assert work.rest(now=0.0) == 1.0
    assert work.rest(now=1.0) == 0.0
    work.spend("ids", 100_000)
    assert work.rest(now=1.0) == 1.0


def test_the_rest_is_named_by_what_cost_most_since_the_last() -> None:
    work = Work(LIMITS, now=0.0)
    work.spend("ids", 100_000)
    work.spend("subscriptions", 500_000)
    work.rest(now=0.0)
    assert work.reason == "subscriptions"
    work.spend("ids", 1_000)
    work.rest(now=1.0)
    assert work.reason == "ids"


def test_who_costs_much_for_what_is_of_use_rests_and_is_never_worn_out() -> None:
    work, now = Work(LIMITS, now=0.0), 0.0
    for _ in range(1_000):
        work.spend("signatures", 1_000_000, blame=False)
        rest = work.rest(now)
        assert 0.0 < rest < WORN_OUT
        now += rest


def test_who_is_held_back_all_the_time_is_worn_out_once_its_patience_is() -> None:
    work, now, rested = Work(LIMITS, now=0.0), 0.0, 0.0
    while True:
        work.spend("ids", 1_000_000)
        seconds = work.rest(now)
        if seconds == WORN_OUT:
            break
        now += seconds
        rested += seconds
    # No more than the patience, and what of it came back meanwhile.
    assert 0.0 < rested <= LIMITS.patience + PATIENCE_RATE * now


def test_who_is_at_the_edge_of_its_allowance_is_never_worn_out() -> None:
    work, now = Work(LIMITS, now=0.0), 0.0
    work.spend("ids", 500_000)
    for _ in range(10_000):
        now += 1.0
        work.spend("ids", 105_000)  # five per cent above its share
        rest = work.rest(now)
        assert rest < WORN_OUT
        now += rest


@given(st.lists(st.tuples(st.floats(0, 2), st.floats(0, 300_000)), max_size=200))
def test_nobody_who_rests_as_told_makes_us_do_more_than_share_and_burst(
    steps: list[tuple[float, float]],
) -> None:
    work, now, spent, largest = Work(LIMITS, now=0.0), 0.0, 0.0, 0.0
    for pause, cost in steps:
        now += pause
        work.spend("ids", cost)
        spent += cost
        largest = max(largest, cost)
        rest = work.rest(now)
        if rest == WORN_OUT:
            return
        now += rest
        # What one input cost is known after it: it may be beyond the burst once.
        most = (LIMITS.burst + LIMITS.share * now) * 1_000_000 + largest
        assert spent <= most + 1.0
