"""Links: latency, bandwidth, jitter, loss."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.errors import ConfigError
from rumormill.simulate import Link
from rumormill.simulate.link import Pipe


def times(pipe: Pipe, count: int, size: int = 100, now: float = 0.0) -> list[float | None]:
    return [pipe.arrival(size, now) for _ in range(count)]


def test_a_plain_link_delays_by_its_latency() -> None:
    assert Link(latency=0.1).plain
    assert times(Pipe(Link(latency=0.1)), 2, now=3.0) == [3.1, 3.1]


def test_packets_queue_for_the_bandwidth() -> None:
    pipe = Pipe(Link(latency=0.1, bandwidth=100))
    assert times(pipe, 3) == pytest.approx([1.1, 2.1, 3.1])


def test_a_link_that_was_free_meanwhile_owes_nothing() -> None:
    pipe = Pipe(Link(latency=0.0, bandwidth=100))
    assert pipe.arrival(100, 0.0) == 1.0
    assert pipe.arrival(100, 5.0) == 6.0


def test_jitter_stays_within_its_bounds() -> None:
    pipe = Pipe(Link(latency=0.1, jitter=0.05, reliable=False), random.Random(1).random)
    found = [time for time in times(pipe, 1000) if time is not None]
    assert len(found) == 1000
    assert 0.1 <= min(found) < 0.102
    assert 0.148 < max(found) <= 0.15


@given(
    st.integers(),
    st.floats(0, 1),
    st.floats(0, 0.9),
    st.none() | st.floats(10, 1e6),
    st.lists(st.tuples(st.floats(0, 0.5), st.integers(0, 10_000)), max_size=50),
)
def test_a_reliable_link_loses_nothing_and_keeps_the_order(
    seed: int,
    jitter: float,
    loss: float,
    bandwidth: float | None,
    packets: list[tuple[float, int]],
) -> None:
    link = Link(latency=0.01, jitter=jitter, loss=loss, bandwidth=bandwidth)
    pipe = Pipe(link, random.Random(seed).random)
    now = latest = 0.0
    for pause, size in packets:
        now += pause
        arrives = pipe.arrival(size, now)
        assert arrives is not None
        assert arrives >= max(latest, now + link.latency)
        latest = arrives


def test_a_loss_on_a_reliable_link_costs_a_retransmission_and_holds_up_the_rest() -> None:
    draws = iter([0.0, 0.4, 0.9, 0.0, 0.9])  # jitter, lost, not lost; jitter, not lost
    link = Link(latency=0.1, loss=0.5, retransmission_timeout=0.3)
    pipe = Pipe(link, lambda: next(draws))
    assert times(pipe, 2) == pytest.approx([0.4, 0.4])


def test_a_loss_on_a_datagram_link_is_a_loss() -> None:
    link = Link(loss=0.25, reliable=False)
    lost = times(Pipe(link, random.Random(5).random), 4000).count(None)
    assert 900 < lost < 1100


def test_datagrams_may_overtake_each_other() -> None:
    pipe = Pipe(Link(jitter=0.1, reliable=False), random.Random(3).random)
    found = [time for time in times(pipe, 20) if time is not None]
    assert found != sorted(found)


def test_the_news_of_the_end_comes_after_everything_sent_before() -> None:
    pipe = Pipe(Link(latency=0.1, bandwidth=100))
    assert pipe.arrival(500, 0.0) == pytest.approx(5.1)
    assert pipe.end_arrival(0.0) == pytest.approx(5.1)
    assert pipe.end_arrival(7.0) == pytest.approx(7.1)


def test_water_marks_follow_from_the_queue() -> None:
    link = Link(queue=1600)
    assert (link.holds_back_above, link.goes_on_at) == (100, 25)
    link = Link(queue=1600, high_water=800, low_water=0)
    assert (link.holds_back_above, link.goes_on_at) == (800, 0)


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"latency": -1}, "latency"),
        ({"latency": math.nan}, "latency"),
        ({"latency": math.inf}, "latency"),
        ({"jitter": -0.1}, "jitter"),
        ({"bandwidth": 0}, "bandwidth"),
        ({"bandwidth": math.nan}, "bandwidth"),
        ({"loss": 1.0}, "loss"),
        ({"loss": -0.1}, "loss"),
        ({"loss": 1.1, "reliable": False}, "loss"),
        ({"retransmission_timeout": -1}, "retransmission_timeout"),
        ({"queue": -1}, "queue"),
        ({"queue": 10, "high_water": 11}, "queue"),
        ({"high_water": 10, "low_water": 11}, "queue"),
    ],
)
def test_a_wrong_value_is_refused_by_name(values: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Link(**values)
    assert caught.value.key == key
