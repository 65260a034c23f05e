"""Whole networks in virtual time: every figure is known, also when clocks are wrong."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from pyspark.sql import SparkSession

from rumormill.core import trace as kinds
from rumormill.core.machine import Subscribe
from rumormill.core.trace import TraceEvent
from rumormill.pipeline.tables import gold, silver
from rumormill.simulate import NODE_CRASHED, NODE_RESTARTED, Churn, Link, metrics, topology
from tests.helpers.libp2p.pubsub_network import TOPIC, PubsubNetwork, names
from tests.helpers.spark.trace_lines import by_network, held, trace_of_events

NODES = names(14)
LINK = Link(latency=0.02, jitter=0.01, loss=0.15, reliable=False)
AHEAD = {"node03": 5.0, "node07": -2.5, "node11": 0.4}


def simulate(seed: int, *, churn: bool) -> list[TraceEvent]:
    """A lossy network over 40 s; nodes leave the topic and come back, or crash and come back."""
    pairs = topology.random_regular(NODES, 4, random.Random(seed))
    network = PubsubNetwork(NODES, pairs, seed=seed, link=LINK)
    network.subscribe()
    network.run(3.0)
    comings = None
    if churn:
        comings = Churn(
            network.simulation,
            NODES[8:],
            network.machine,
            mean_uptime=15,
            mean_downtime=3,
            returned=lambda name: network.simulation.command(name, Subscribe(TOPIC)),
        )
    for number in range(40):
        network.publish(NODES[number % 6])
        network.run(0.5)
        if not churn and number % 5 == 0:
            network.unsubscribe([NODES[8 + number // 10]])
        if not churn and number % 5 == 3:
            network.subscribe([NODES[8 + number // 10]])
        network.run(0.5)
    if comings is not None:
        comings.stop()
    network.run(5.0)
    return network.simulation.trace


@dataclass
class Truth:
    """What should have come and what came, by a walk through the trace."""

    expected: int = 0
    delivered: int = 0
    unexpected: int = 0
    latencies: list[float] = field(default_factory=list)
    """Of what was expected, sorted."""


def audit(trace: Iterable[TraceEvent]) -> Truth:
    truth = Truth()
    members: set[str] = set()
    wanted: dict[bytes | None, set[str]] = {}
    published_at: dict[bytes | None, float] = {}
    got: dict[tuple[bytes | None, str], float] = {}
    for event in trace:
        if event.event == kinds.SUBSCRIBED:
            members.add(event.node)
        elif event.event in (kinds.UNSUBSCRIBED, NODE_CRASHED):
            members.discard(event.node)
        elif event.event == kinds.PUBLISHED:
            wanted[event.message_id] = members - {event.node}
            truth.expected += len(members - {event.node})
            published_at[event.message_id] = event.time
        elif event.event == kinds.DELIVERED and event.peer is not None:
            got.setdefault((event.message_id, event.node), event.time)
    truth.delivered = len(got)
    truth.unexpected = sum(node not in wanted[message] for message, node in got)
    truth.latencies = sorted(
        time - published_at[message]
        for (message, node), time in got.items()
        if node in wanted[message]
    )
    return truth


@pytest.fixture(scope="module")
def traces() -> dict[str, list[TraceEvent]]:
    calm, churning = simulate(1, churn=False), simulate(2, churn=True)
    told = (NODE_CRASHED, NODE_RESTARTED)
    return {
        "calm": calm,
        "shifted": calm,
        "churning": churning,
        "untold": [event for event in churning if event.event not in told],
    }


Found = dict[str, dict[str, list[tuple[object, ...]]]]


@pytest.fixture(scope="module")
def found(spark: SparkSession, traces: dict[str, list[TraceEvent]]) -> Found:
    trace = trace_of_events(spark, traces, ahead={"shifted": AHEAD})
    made = silver(trace, keep=held)
    topics = gold(made)["topics"]
    columns = "expected delivered unexpected ratio duplicates_per_delivery latency_p50 recoveries"
    return {
        "topics": by_network(topics, columns),
        "skew": by_network(made.skew, "node offset_ms applied"),
        "deliveries": by_network(
            made.deliveries.where("first"), "message_id node latency_ms expected"
        ),
    }


@pytest.mark.parametrize("network", ["calm", "churning"])
def test_expected_and_delivered_are_those_of_the_simulation(
    found: Found, traces: dict[str, list[TraceEvent]], network: str
) -> None:
    truth = audit(traces[network])
    ((expected, delivered, unexpected, ratio, *_),) = found["topics"][network]
    assert (expected, delivered, unexpected) == (
        truth.expected,
        truth.delivered,
        truth.unexpected,
    )
    assert ratio == pytest.approx((truth.delivered - truth.unexpected) / truth.expected)
    assert 0.5 < truth.delivered / truth.expected < 1.05  # there is loss, and it is repaired


def test_the_figures_are_those_of_the_simulators_own_metrics(
    found: Found, traces: dict[str, list[TraceEvent]]
) -> None:
    trace = traces["calm"]
    ((_, delivered, _, ratio, duplicates, median, recoveries),) = found["topics"]["calm"]
    assert ratio == pytest.approx(metrics.delivery_ratio(trace))
    assert delivered == len(list(metrics.latencies(trace)))
    latencies = audit(trace).latencies  # what came to nodes that had left is nobody's latency
    half = metrics.percentiles(latencies)[50]
    assert median == pytest.approx(half * 1000, abs=0.001)
    # Copies that come back to the publisher are no further copies of a delivery.
    assert isinstance(duplicates, float) and isinstance(recoveries, int)
    assert 0 < duplicates <= metrics.duplicates_per_delivery(trace)
    assert recoveries > 0


def test_ends_that_nobody_told_are_found_nearly_all(
    found: Found, traces: dict[str, list[TraceEvent]]
) -> None:
    ((told, *_),), ((untold, *_),) = found["topics"]["churning"], found["topics"]["untold"]
    crashes = sum(event.event == NODE_CRASHED for event in traces["churning"])
    assert isinstance(told, int) and isinstance(untold, int) and crashes > 10
    # A message is published each second; that of the last one before a silent end is in doubt.
    assert told - crashes - 0.01 * told <= untold <= told


def test_wrong_clocks_are_found_and_corrected(found: Found) -> None:
    skew = {node: (offset, applied) for node, offset, applied in found["skew"]["shifted"]}
    assert {node for node, (_, applied) in skew.items() if applied} == set(AHEAD)
    for node, ahead in AHEAD.items():
        assert skew[node][0] == pytest.approx(ahead * 1000, abs=5)
    assert not any(applied for *_, applied in found["skew"]["calm"])
    true = {row[:2]: row[2] for row in found["deliveries"]["calm"]}
    corrected = {row[:2]: row[2] for row in found["deliveries"]["shifted"]}
    assert corrected.keys() == true.keys()
    assert all(corrected[key] == pytest.approx(true[key], abs=10) for key in true)
