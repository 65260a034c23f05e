"""The traces of a real go network, from the files to the tables, against what its nodes saw.

The truth comes from the applications alone, and uses nothing of the tracer.
"""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rumormill.capture.foreign import import_traces
from tests.helpers.capture.foreign_traces import SHARED, VECTORS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

needs_all_traces = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the traces of the whole network are not here"
)


def keep(name: str, table: DataFrame) -> DataFrame:
    """Each table is computed once, as by the runner."""
    return table.localCheckpoint()


def trace_of(spark: SparkSession, folder: Path, spool: Path) -> DataFrame:
    """The traces of a folder, imported and read back by Spark."""
    import_traces(sorted(folder.glob("node*.json.gz")), spool)
    trace = spark.read.format("rumormill").option("kind", "trace").option("spool", str(spool))
    return trace.load().localCheckpoint()


def truth(folder: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(folder / f"{name}.csv.gz", "rt") as file:
        return list(csv.DictReader(file))


def rows(table: DataFrame, key: str) -> dict[str, Any]:
    return {row[key]: row for row in table.collect()}


@pytest.mark.timeout(300)
def test_a_part_of_the_network_is_in_the_tables_as_its_nodes_saw_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    from rumormill.pipeline.tables import gold, silver

    tables = silver(trace_of(spark, VECTORS, tmp_path / "spool"), keep=keep)
    peers = json.loads((VECTORS / "peers.json").read_text())
    publications = tables.publications.collect()
    assert {(bytes(row.message_id), row.publisher, row.expected) for row in publications} == {
        (
            bytes.fromhex(each["message_id"]),
            peers[each["node"]],
            len(each["expected_nodes"].split(";")),
        )
        for each in truth(VECTORS, "truth_publications")
    }
    first = [row for row in tables.deliveries.collect() if row.first]
    assert {(bytes(row.message_id), row.node, row.peer) for row in first} == {
        (bytes.fromhex(each["message_id"]), peers[each["node"]], peers[each["received_from"]])
        for each in truth(VECTORS, "truth_deliveries")
        if each["self"] == "false"
    }
    # The whole way of every message is in the trace.
    assert all(row.hop is not None and row.hop >= 1 for row in first)
    topic = rows(gold(tables, keep=keep)["topics"], "topic")["alpha"]
    assert (topic.published, topic.expected, topic.delivered) == (60, 1080, 540)
    assert (topic.unexpected, topic.ratio) == (0, 0.5)
    assert topic.duplicates == 2227 - returned(tables.deliveries)


def returned(deliveries: DataFrame) -> int:
    """Copies that came back to their publisher; the tables of topics do not count them."""
    publisher = "12D3KooWDM5hX8GUDoh4kuQbqcgxDDch3BKc9gzNt35DLQfG4BwE"  # node 15
    assert deliveries.where(f"node = '{publisher}'").count() == 0
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
    from rumormill.pipeline.tables import gold, silver

    tables = gold(silver(trace_of(spark, SHARED, tmp_path / "spool"), keep=keep), keep=keep)
    summary = json.loads((SHARED / "truth_summary.json").read_text())
    topics = rows(tables["topics"], "topic")
    # A node came back to beta 2.5 ms before the first of its peers knew, in the midst of a burst:
    # 14 messages of that moment reached it and could not be expected to.
    summary["per_topic"]["beta"]["expected"] -= 14
    assert {
        name: {
            "published": row.published,
            "expected": row.expected,
            "delivered": row.delivered,
        }
        for name, row in topics.items()
    } == summary["per_topic"]
    assert sum(row.expected for row in topics.values()) == 12600 - 14
    assert sum(row.delivered for row in topics.values()) == 10577
    assert {name: row.unexpected for name, row in topics.items() if row.unexpected} == {"beta": 14}
    assert topics["alpha"].ratio == pytest.approx(8700 / 10560)
    assert max(row.latency_max for row in topics.values()) == pytest.approx(1390, abs=1)

    nodes = rows(tables["peers"], "node")
    for node in summary["nodes"]:
        counts, found = node["counts"], nodes[node["peer_id"]]
        assert found.delivered == counts["delivered"]
        assert found.published == counts.get("published", 0)
    events = {row.event: row["count"] for row in tables["events"].collect()}
    assert (events["delivered"], events["duplicate"], events["rejected"]) == (11297, 38213, 2919)
    # Every first delivery is somebody's.
    assert sum(row.first_sent for row in nodes.values()) == 10577
