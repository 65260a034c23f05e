"""Attacks that gossipsub holds against are told of all the same; the calm run raises no alert."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rumormill.core.trace import TraceEvent
from rumormill.libp2p.attacks import ATTACKS, run_attack
from tests.helpers.second_opinion.pipeline import rows_of, tables_in_one
from tests.helpers.spark.simulated_traces import captured

NAMES = ("calm", "eclipse of one", "invalid messages")
VICTIM = "node000"
BEGIN = 100.0
"""When honest nodes come; here it becomes the beginning of a minute."""


def trace_of(name: str) -> list[TraceEvent]:
    events: list[TraceEvent] = []
    run_attack(name, nodes=20, sybils=12, seconds=66, sink=events.append)
    return [event._replace(time=event.time - BEGIN) for event in events]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, set[tuple[str, str | None]]]:
    tables = tables_in_one(spark, captured({name: trace_of(name) for name in NAMES}))
    alerts: dict[str, set[tuple[str, str | None]]] = {name: set() for name in NAMES}
    for row in rows_of(tables["alerts"]):
        alerts[row["network"]].add((row["kind"], row["node"]))
    return alerts


def test_the_calm_run_raises_no_alert(found: dict[str, set[tuple[str, str | None]]]) -> None:
    assert found["calm"] == set()


def test_an_eclipse_names_its_victim(found: dict[str, set[tuple[str, str | None]]]) -> None:
    assert found["eclipse of one"] == {("eclipse", VICTIM)}


def test_spam_names_its_senders(found: dict[str, set[tuple[str, str | None]]]) -> None:
    spam = found["invalid messages"]
    assert {kind for kind, _ in spam} == {ATTACKS["invalid messages"].alert}
    assert all((node or "").startswith("sybil") for _, node in spam)
