"""Numbers from traces."""

from __future__ import annotations

import pytest

from rumormill.core import trace as kinds
from rumormill.core.machine import Publish
from rumormill.core.trace import TraceEvent
from rumormill.simulate import NODE_CRASHED, Link, Simulation, metrics, topology
from rumormill.simulate.toys import Flood


def event(
    time: float, node: str, kind: str, message: bytes | None = None, peer: str | None = None
) -> TraceEvent:
    return TraceEvent(time, node, kind, "t", message, peer)


SUBSCRIBED = [event(0.0, name, kinds.SUBSCRIBED) for name in "abcd"]
ONE_MESSAGE = [
    *SUBSCRIBED,
    event(1.0, "a", kinds.PUBLISHED, b"1"),
    event(1.0, "a", kinds.DELIVERED, b"1"),
    event(1.1, "b", kinds.DELIVERED, b"1", "a"),
    event(1.3, "c", kinds.DELIVERED, b"1", "b"),
    event(1.4, "c", kinds.DUPLICATE, b"1", "a"),
]


def test_latencies_leave_the_publisher_and_unknown_messages_out() -> None:
    stray = event(2.0, "c", kinds.DELIVERED, b"2", "b")
    assert metrics.latencies([*ONE_MESSAGE, stray]) == pytest.approx([0.1, 0.3])


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(1, 101)]
    assert metrics.percentiles(values) == {50: 50.0, 90: 90.0, 99: 99.0, 100: 100.0}
    assert metrics.percentiles([3.0], ranks=(0, 50)) == {0: 3.0, 50: 3.0}
    assert metrics.percentiles([]) == {}


def test_the_delivery_ratio_counts_subscribers_other_than_the_publisher() -> None:
    assert metrics.delivery_ratio(ONE_MESSAGE) == pytest.approx(2 / 3)
    assert metrics.delivery_ratio(ONE_MESSAGE, receivers=2) == 1.0
    assert metrics.delivery_ratio(ONE_MESSAGE, receivers=4) == 0.5
    assert metrics.delivery_ratio([]) == 1.0


def test_nobody_is_missed_who_had_left_or_joined_later_or_crashed() -> None:
    left = [*SUBSCRIBED, event(0.5, "d", kinds.UNSUBSCRIBED), *ONE_MESSAGE[4:]]
    late = [*SUBSCRIBED[:3], *ONE_MESSAGE[4:], event(2.0, "d", kinds.SUBSCRIBED)]
    gone = [*ONE_MESSAGE, TraceEvent(1.2, "d", NODE_CRASHED)]
    assert [metrics.delivery_ratio(trace) for trace in (left, late, gone)] == [1.0, 1.0, 1.0]


def test_a_message_delivered_twice_counts_once() -> None:
    twice = [*ONE_MESSAGE, event(1.5, "b", kinds.DELIVERED, b"1", "c")]
    assert metrics.delivery_ratio(twice) == pytest.approx(2 / 3)


def test_duplicates_are_per_delivery_from_others() -> None:
    assert metrics.duplicates_per_delivery(ONE_MESSAGE) == 0.5
    assert metrics.duplicates_per_delivery([]) == 0.0


def test_mesh_degrees_follow_grafts_prunes_and_departures() -> None:
    trace = [
        *SUBSCRIBED,
        event(1.0, "a", kinds.GRAFTED, None, "b"),
        event(1.0, "a", kinds.GRAFTED, None, "c"),
        event(1.0, "a", kinds.GRAFTED, None, "c"),
        event(1.0, "b", kinds.GRAFTED, None, "a"),
        TraceEvent(1.0, "b", kinds.GRAFTED, "another topic", None, "c"),
        event(1.0, "c", kinds.GRAFTED, None, "a"),
        event(2.0, "a", kinds.PRUNED, None, "b"),
        TraceEvent(3.0, "c", kinds.PEER_LEFT, peer="a"),
        TraceEvent(3.0, "a", NODE_CRASHED),
        event(4.0, "d", kinds.UNSUBSCRIBED),
    ]
    assert metrics.mesh_degrees(trace, "t", until=1.5) == {"a": 2, "b": 1, "c": 1, "d": 0}
    assert metrics.mesh_degrees(trace, "t", until=2.5) == {"a": 1, "b": 1, "c": 1, "d": 0}
    assert metrics.mesh_degrees(trace, "t") == {"b": 1, "c": 0}
    assert metrics.mesh(trace, "t", until=1.5)["a"] == {"b": None, "c": None}


def test_the_numbers_of_a_flood_are_those_of_its_graph() -> None:
    simulation = Simulation(1)
    names = [str(number) for number in range(10)]
    for name in names:
        simulation.add_node(name, Flood(name))
    for a, b in topology.ring(names):
        simulation.connect(a, b, Link(latency=0.1))
    for name in names:
        simulation.command(name, Publish(("t",), b"hello"))
    simulation.run_until(10.0)
    assert metrics.delivery_ratio(simulation.trace, receivers=9) == 1.0
    assert metrics.percentiles(metrics.latencies(simulation.trace), (50, 100)) == pytest.approx(
        {50: 0.3, 100: 0.5}
    )
    # In a ring of ten, 11 copies travel per message, and nine are the first at their node.
    assert metrics.duplicates_per_delivery(simulation.trace) == pytest.approx(2 / 9)
