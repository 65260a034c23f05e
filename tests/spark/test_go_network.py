"""The traces of a real go network, from the files to the tables, against what its nodes saw.

The truth comes from the applications alone, and uses nothing of the tracer.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rumormill.capture.foreign import import_traces
from tests.helpers.capture.foreign_traces import SHARED, VECTORS
from tests.helpers.second_opinion.oracle import Row
from tests.helpers.spark.own_tables import OwnTables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

needs_all_traces = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the traces of the whole network are not here"
)


def tables_of(spark: SparkSession, traces: Path, folder: Path) -> dict[str, list[Row]]:
    """The traces of a folder, imported into a spool, and what the pipeline makes of it."""
    import_traces(sorted(traces.glob("node*.json.gz")), folder / "spool")
    tables = OwnTables(spark, folder / "tables")
    tables.run(folder / "spool", kinds=("trace",))
    return tables.rows(["publications", "deliveries", "topics", "peers", "events"])


def truth(folder: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def totals(table: list[Row], key: str) -> dict[str, Row]:
    """The rows about all time."""
    return {row[key]: row for row in table if row["minute"] is None}


@pytest.mark.timeout(300)
def test_a_part_of_the_network_is_in_the_tables_as_its_nodes_saw_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = tables_of(spark, VECTORS, tmp_path)
    peers = json.loads((VECTORS / "peers.json").read_text())
    expected = Counter(row["message_id"] for row in tables["deliveries"] if row["expected"])
    assert {
        (row["message_id"], row["publisher"], expected[row["message_id"]])
        for row in tables["publications"]
    } == {
        (
            bytes.fromhex(each["message_id"]),
            peers[each["node"]],
            len(each["expected_nodes"].split(";")),
        )
        for each in truth(VECTORS, "truth_publications")
    }
    first = [row for row in tables["deliveries"] if row["first"]]
    assert {(row["message_id"], row["node"], row["peer"]) for row in first} == {
        (bytes.fromhex(each["message_id"]), peers[each["node"]], peers[each["received_from"]])
        for each in truth(VECTORS, "truth_deliveries")
        if each["self"] == "false"
    }
    # The whole way of every message is in the trace.
    assert all(row["hop"] is not None and row["hop"] >= 1 for row in first)
    topic = totals(tables["topics"], "topic")["alpha"]
    assert (topic["published"], topic["expected"], topic["delivered"]) == (60, 1080, 540)
    assert (topic["unexpected"], topic["ratio"]) == (0, 0.5)
    assert topic["duplicates"] == 2227 - returned(tables["deliveries"])


def returned(deliveries: list[Row]) -> int:
    """Copies that came back to their publisher; the tables of topics do not count them."""
    publisher = "12D3KooWDM5hX8GUDoh4kuQbqcgxDDch3BKc9gzNt35DLQfG4BwE"  # node 15
    assert publisher not in {row["node"] for row in deliveries}
    counted = 0
    with gzip.open(VECTORS / "node15.json.gz", "rt") as file:
        for line in file:
            event = json.loads(line)
            counted += event["type"] == 2
    return counted


@needs_all_traces
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_whole_network_is_in_the_tables_as_its_nodes_saw_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = tables_of(spark, SHARED, tmp_path)
    summary = json.loads((SHARED / "truth_summary.json").read_text())
    topics = totals(tables["topics"], "topic")
    # A node came back to beta 2.5 ms before the first of its peers knew, in the midst of a burst:
    # 14 messages of that moment reached it and could not be expected to.
    summary["per_topic"]["beta"]["expected"] -= 14
    assert {
        name: {
            "published": row["published"],
            "expected": row["expected"],
            "delivered": row["delivered"],
        }
        for name, row in topics.items()
    } == summary["per_topic"]
    assert sum(row["expected"] for row in topics.values()) == 12600 - 14
    assert sum(row["delivered"] for row in topics.values()) == 10577
    assert {name: row["unexpected"] for name, row in topics.items() if row["unexpected"]} == {
        "beta": 14
    }
    assert topics["alpha"]["ratio"] == pytest.approx(8700 / 10560)
    assert max(row["latency_max"] for row in topics.values()) == pytest.approx(1390, rel=0.012)

    nodes = totals(tables["peers"], "node")
    for node in summary["nodes"]:
        counts, found = node["counts"], nodes[node["peer_id"]]
        assert found["delivered"] == counts["delivered"]
        assert found["published"] == counts.get("published", 0)
    events = {name: row["count"] for name, row in totals(tables["events"], "event").items()}
    assert (events["delivered"], events["duplicate"], events["rejected"]) == (11297, 38213, 2919)
    # Every first delivery is somebody's.
    assert sum(row["first_sent"] for row in nodes.values()) == 10577
