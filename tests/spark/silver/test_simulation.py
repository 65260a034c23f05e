"""Whole networks in virtual time: every figure is known, also when clocks are wrong."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import pytest

from rumormill.core import trace as kinds
from rumormill.core.machine import Subscribe
from rumormill.core.trace import TraceEvent
from rumormill.simulate import NODE_CRASHED, NODE_RESTARTED, Churn, Link, topology
from tests.helpers.libp2p.pubsub_network import TOPIC, PubsubNetwork, names
from tests.helpers.second_opinion.by_hand import Opinion
from tests.helpers.second_opinion.oracle import TRACE, Row
from tests.helpers.spark.trace_lines import BEGIN

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


def captured(network: str, event: TraceEvent, ahead: float) -> Row:
    fields = dict(event.fields)
    row: dict[str, Any] = {name: fields.pop(name, None) for name in TRACE.names}
    row.update(
        time=BEGIN + timedelta(microseconds=round((event.time + ahead) * 1e6)),
        network=network,
        node=event.node,
        event=event.event,
        topic=event.topic,
        message_id=event.message_id,
        peer=event.peer,
        fields=json.dumps(fields) if fields else None,
    )
    return row


def audit(trace: Iterable[TraceEvent]) -> tuple[int, int, int]:
    """Expected, delivered and unexpected, by a walk through the trace."""
    members: set[str] = set()
    wanted: dict[bytes | None, set[str]] = {}
    got: set[tuple[bytes | None, str]] = set()
    for event in trace:
        if event.event == kinds.SUBSCRIBED:
            members.add(event.node)
        elif event.event in (kinds.UNSUBSCRIBED, NODE_CRASHED):
            members.discard(event.node)
        elif event.event == kinds.PUBLISHED:
            wanted[event.message_id] = members - {event.node}
        elif event.event == kinds.DELIVERED and event.peer is not None:
            got.add((event.message_id, event.node))
    unexpected = sum(node not in wanted[message] for message, node in got)
    return sum(map(len, wanted.values())), len(got), unexpected


def as_it_is_live(event: TraceEvent) -> TraceEvent:
    """A node that comes back says that it opened, and nobody says that it had been killed."""
    opened = event.event == NODE_RESTARTED
    return event._replace(event=kinds.NETWORK_OPENED) if opened else event


@pytest.fixture(scope="module")
def traces() -> dict[str, list[TraceEvent]]:
    calm, churning = simulate(1, churn=False), simulate(2, churn=True)
    return {
        "calm": calm,
        "shifted": calm,
        "churning": churning,
        "untold": [as_it_is_live(each) for each in churning if each.event != NODE_CRASHED],
    }


@pytest.fixture(scope="module")
def found(opinion: Opinion, traces: dict[str, list[TraceEvent]]) -> dict[str, list[Row]]:
    """Deliveries by network."""
    rows = [
        captured(network, event, AHEAD.get(event.node, 0.0) if network == "shifted" else 0.0)
        for network, events in traces.items()
        for event in events
    ]
    deliveries = opinion(rows)["deliveries"]
    return {name: [row for row in deliveries if row["network"] == name] for name in traces}


def counts(rows: list[Row]) -> tuple[int, int, int]:
    return (
        sum(row["expected"] for row in rows),
        sum(row["first"] for row in rows),
        sum(row["first"] and not row["expected"] for row in rows),
    )


@pytest.mark.parametrize("network", ["calm", "churning"])
def test_expected_and_delivered_are_those_of_the_simulation(
    found: dict[str, list[Row]], traces: dict[str, list[TraceEvent]], network: str
) -> None:
    expected, delivered, unexpected = audit(traces[network])
    assert counts(found[network]) == (expected, delivered, unexpected)
    assert 0.5 < delivered / expected < 1.05  # there is loss, and it is repaired


def test_ends_that_nobody_told_are_found_nearly_all(
    found: dict[str, list[Row]], traces: dict[str, list[TraceEvent]]
) -> None:
    told, untold = counts(found["churning"])[0], counts(found["untold"])[0]
    crashes = sum(event.event == NODE_CRASHED for event in traces["churning"])
    assert crashes > 10
    # A message is published each second; that of the last one before a silent end is in doubt.
    assert told - crashes - 0.01 * told <= untold <= told


def test_wrong_clocks_are_found_and_corrected(found: dict[str, list[Row]]) -> None:
    true, corrected = (
        {(row["message_id"], row["node"]): row["latency_ms"] for row in found[name] if row["first"]}
        for name in ("calm", "shifted")
    )
    assert corrected.keys() == true.keys()
    assert all(corrected[key] == pytest.approx(true[key], abs=10) for key in true)
