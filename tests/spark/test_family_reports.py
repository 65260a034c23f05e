"""Real networks of every family through the whole pipeline: the report says what truly happened."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.spark.own_tables import OwnTables
from tests.helpers.traces.families import FAMILIES, MESSAGES, UNICASTS, FamilyTrace, run_family

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

APART = "ndn-multicast"
"""A network promises one thing: the two kinds of ndn do not go into one set of tables."""
EVERY = ("gossipsub", "floodsub", "bcos", APART)


@dataclass(frozen=True)
class Told:
    """What truly happened, and what the report says of all that is in the same tables."""

    truth: FamilyTrace
    report: dict[str, Any]

    def topic(self, promise: str) -> dict[str, Any]:
        """The line of the report about the family's topic."""
        (found,) = [
            row
            for row in self.report["topics"].values()
            if (row["network"], row["topic"]) == (self.truth.network, self.truth.topic)
            and row["promise"] == promise
        ]
        return dict(found)

    @property
    def deliveries(self) -> int:
        """What came out of the subscriptions of others than the publisher, in truth."""
        own = {each.data: each.node for each in self.truth.published if not each.to_one}
        return sum(
            own[data] != node
            for node, heard in self.truth.heard.items()
            for data in heard
            if data in own
        )


@pytest.fixture(scope="module")
def families(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """Every family's network is run; then the pipeline, for all of them at once."""
    from rumormill.report import read_report, report_json

    folder = tmp_path_factory.mktemp("families")
    truths = {name: asyncio.run(run_family(name, folder / name)) for name in FAMILIES}
    told: dict[str, Told] = {}
    for group in ([name for name in FAMILIES if name != APART], [APART]):
        tables = OwnTables(spark, folder / f"tables of {len(group)}")
        tables.run(*(spool for name in group for spool in truths[name].spools))
        report = report_json(read_report(tables.folder))
        told |= {name: Told(truths[name], report) for name in group}
    return told


@pytest.mark.parametrize("name", EVERY)
def test_where_every_message_is_promised_every_delivery_is_counted(
    families: dict[str, Told], name: str
) -> None:
    told = families[name]
    row = told.topic("every")
    assert row["published"] == MESSAGES
    assert row["delivered"] == row["expected"] == told.deliveries > 0
    assert (row["missing"], row["skipped"], row["unexpected"], row["ratio"]) == (0, 0, 0, 1.0)
    assert row["hops"]["mean"] >= 1


def test_what_is_sent_to_one_is_expected_of_one(families: dict[str, Told]) -> None:
    row = families["bcos"].topic("one")
    assert (row["published"], row["expected"], row["delivered"]) == (UNICASTS,) * 3
    assert (row["missing"], row["unexpected"]) == (0, 0)


def test_where_one_of_the_subscribers_is_promised_one_delivery_is_whole(
    families: dict[str, Told],
) -> None:
    told = families["ndn-best-route"]
    row = told.topic("one")
    assert told.truth.delivered == MESSAGES
    assert (row["published"], row["expected"], row["delivered"]) == (MESSAGES,) * 3
    assert (row["missing"], row["unexpected"]) == (0, 0)


def test_where_the_newest_value_is_promised_those_that_were_passed_over_are_not_missing(
    families: dict[str, Told],
) -> None:
    told = families["bep50"]
    row = told.topic("newest")
    subscribers = len(told.truth.heard) - 1  # the publisher listens, too
    assert (row["published"], row["expected"]) == (MESSAGES, MESSAGES * subscribers)
    assert row["missing"] == 0 and row["ratio"] == 1.0
    assert row["delivered"] + row["skipped"] == row["expected"]
    assert row["delivered"] == told.deliveries
    assert row["skipped"] > 0
    assert told.report["behind"] == []


@pytest.mark.parametrize("name", FAMILIES)
def test_every_node_is_known_with_its_agent_and_the_promise_of_its_network(
    families: dict[str, Told], name: str
) -> None:
    told = families[name]
    promises = told.truth.promises
    promise = "every" if promises["all_subscribers"] else "one"
    network = told.report["networks"][told.truth.network]
    assert network["promise"] == (promise if promises["every_message"] else "newest")
    peers = [row for row in told.report["peers"].values() if row["network"] == told.truth.network]
    assert {row["node"] for row in peers} >= set(told.truth.nodes)
    agents = {row["agent"] for row in peers if row["node"] in told.truth.nodes}
    assert len(agents) == 1 and str(agents.pop()).startswith("rumormill/")


@pytest.mark.parametrize("name", ["gossipsub", APART])
def test_calm_networks_raise_no_alert_of_any_kind(families: dict[str, Told], name: str) -> None:
    report = families[name].report
    assert report["alerts"] == []
    assert report["total"]["missing"] == 0
    assert not [sentence for sentence in report["problems"] if "missing" in sentence]
