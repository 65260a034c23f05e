"""Calm networks raise no alert of any kind; each attack raises its own.

Their traces go through the whole pipeline, so that alerts are found from the figures that a user
gets.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rumormill.core.trace import TraceEvent
from tests.helpers.libp2p.pubsub_network import PubsubNetwork
from tests.helpers.second_opinion.pipeline import rows_of, tables_in_one
from tests.helpers.spark.simulated_traces import Trace, calm, captured, withhold

VICTIM, HOSTILE = "node07", "node03"
Alerts = dict[str, set[tuple[str, str | None]]]


def found_in(spark: SparkSession, traces: dict[str, Trace]) -> Alerts:
    """Kinds and nodes of the alerts of each network."""
    tables = tables_in_one(spark, captured(traces))
    topics = {row["network"] for row in rows_of(tables["topics"])}
    assert topics == set(traces), "a network's messages are not in the tables"
    found: Alerts = {network: set() for network in traces}
    for row in rows_of(tables["alerts"]):
        found[row["network"]].add((row["kind"], row["node"]))
    return found


def parted(network: PubsubNetwork, number: int) -> None:
    """From half a minute on, for good."""
    if number == 25:
        network.simulation.partition([network.names[:5]])


def coming_and_going(network: PubsubNetwork, number: int) -> None:
    """Every few messages one of those who listen crashes, and is back after the next few."""
    if number % 10 == 5:
        gone = network.names[-1 - number // 10]
        network.simulation.crash(gone)
        later = network.simulation.now + 5.0

        def back() -> None:
            network.simulation.restart(gone, network.machine(gone))
            network.subscribe([gone])

        network.simulation.at(later, back)


def eclipsed(trace: Trace) -> Trace:
    """Two peers keep all others' copies from the victim."""
    near = sorted({event.peer or "" for event in trace if event.node == VICTIM and event.peer})[:2]
    return withhold(trace, lambda event: event.node == VICTIM and event.peer not in near)


def censored(trace: Trace) -> Trace:
    """Most nodes never get what the victim publishes."""
    source = {event.message_id: event.node for event in trace if event.event == "published"}
    lucky = {f"node0{number}" for number in range(10)}
    return withhold(
        trace, lambda event: source[event.message_id] == VICTIM and event.node not in lucky
    )


def rubbish(trace: Trace) -> Trace:
    """One node sends forged messages to all that have it in their mesh."""
    mesh = [event for event in trace if event.event == "grafted" and event.peer == HOSTILE]
    forged = [
        TraceEvent(70 + number / 100, event.node, "rejected", event.topic, b"f%d" % number, HOSTILE)
        for event in mesh
        for number in range(250)
    ]
    return sorted([*trace, *forged], key=lambda event: event.time)


def repeated(trace: Trace) -> Trace:
    """One node sends a peer of its each message five times."""
    copies = [
        event
        for event in trace
        if event.peer == HOSTILE and event.node == VICTIM and event.event == "duplicate"
    ]
    again = [event for event in copies for _ in range(5)]
    return sorted([*trace, *again], key=lambda event: event.time)


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Alerts:
    thirty = calm(30, messages=150)
    few: dict[str, Any] = {"count": 10, "messages": 150}
    return found_in(
        spark,
        {
            "ten": calm(**few),
            "ten, two publish": calm(**few, publishers=2, seed=2),
            "twenty in a ring of links": calm(20, messages=150, degree=4, seed=3),
            "thirty": thirty,
            "thirty, three publish": calm(30, messages=150, publishers=3, seed=4),
            "ten, scored": calm(**few, seed=11, scored=True),
            "thirty, scored, come and go": calm(
                30, messages=150, publishers=10, seed=12, scored=True, during=coming_and_going
            ),
            "parted": calm(12, degree=5, seed=5, seconds=190, during=parted),
            "eclipsed": eclipsed(thirty),
            "censored": censored(calm(30, messages=150, publishers=15, seed=6)),
            "silent": withhold(thirty, lambda event: event.peer == HOSTILE),
            "rubbish": rubbish(thirty),
            "repeated": repeated(calm(**few, seed=7)),
        },
    )


@pytest.mark.parametrize(
    "network",
    [
        "ten",
        "ten, two publish",
        "twenty in a ring of links",
        "thirty",
        "thirty, three publish",
        "ten, scored",
        "thirty, scored, come and go",
    ],
)
def test_a_calm_network_raises_no_alert(found: Alerts, network: str) -> None:
    assert found[network] == set()


def test_a_mesh_that_falls_apart_is_a_partition(found: Alerts) -> None:
    assert found["parted"] == {("partition", None)}


def test_a_node_that_hears_from_two_peers_only_is_eclipsed(found: Alerts) -> None:
    assert found["eclipsed"] == {("eclipse", VICTIM)}


def test_a_publisher_whose_messages_are_kept_back_is_censored(found: Alerts) -> None:
    assert ("censorship", VICTIM) in found["censored"]
    assert {kind for kind, _ in found["censored"]} == {"censorship"}


def test_a_node_that_hands_on_nothing_censors(found: Alerts) -> None:
    assert found["silent"] == {("censorship", HOSTILE)}


def test_a_node_that_sends_rubbish_spams(found: Alerts) -> None:
    assert found["rubbish"] == {("spam", HOSTILE)}


def test_a_node_that_repeats_itself_spams(found: Alerts) -> None:
    assert found["repeated"] == {("spam", HOSTILE)}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_calm_networks_of_a_hundred_and_a_thousand_raise_no_alert(spark: SparkSession) -> None:
    traces = {
        "hundred": calm(100, messages=150, seed=8, scored=True),
        "hundred, two publish": calm(100, messages=75, publishers=2, seed=9, seconds=65),
        # Most of its messages in one minute: enough of them to be judged by.
        "thousand": calm(1000, messages=65, seed=10, seconds=65),
    }
    assert found_in(spark, traces) == {network: set() for network in traces}
