from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rumormill.pipeline.report import Report, report_json
from tests.helpers.spark.gold_tables import Rows, Run, gold_rows

MakeReport = Callable[..., Report]


def test_the_object_has_the_shape_that_programs_rely_on(report_on: MakeReport) -> None:
    run = Run(nodes=4, topics=("weather", "news"), minutes=2)
    result = report_json(report_on(run))
    rows = {row["topic"]: row for row in gold_rows(run)["topics"]}
    assert list(result["topics"]) == ["news", "weather"]
    for name, topic in result["topics"].items():
        row = rows[name]
        for figure in ("published", "expected", "delivered", "ratio", "duplicates_per_delivery"):
            assert topic[figure] == row[figure]
        assert topic["latency_ms"] == {
            part: row[f"latency_{part}"] for part in ("p50", "p90", "p99", "max")
        }
        assert topic["hops"]["mean"] == row["hops_mean"]
        assert topic["hops"]["max"] == row["hops_max"]
    assert {row["node"] for row in gold_rows(run)["peers"]} == set(result["peers"])
    assert result["events"]["published"] == 2 * 2 * 12
    assert result["problems"] == []


def test_it_is_json_whatever_is_unknown(report_on: MakeReport) -> None:
    result = report_json(report_on(Run(nodes=1)))
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["topics"]["weather"]["ratio"] is None
    assert result["topics"]["weather"]["latency_ms"]["p50"] is None
    assert result["verdict"] == "60 messages published, but nobody else was subscribed."


def test_totals_are_the_sums_of_the_topics(report_on: MakeReport) -> None:
    result = report_json(report_on(Run(topics=("a", "b", "c"), loss=0.3, seed=9)))
    topics = result["topics"].values()
    for figure in ("published", "expected", "delivered", "missing", "duplicates", "recoveries"):
        assert result["total"][figure] == sum(topic[figure] for topic in topics)
    assert result["total"]["missing"] > 0
    assert result["total"]["ratio"] == result["total"]["delivered"] / result["total"]["expected"]
    network = result["networks"]["gossipsub"]
    assert network == {"peers": 10, **result["total"]}


def test_deliveries_at_peers_that_came_later_do_not_make_up_for_missing_ones(
    report_on: MakeReport,
) -> None:
    def late(tables: dict[str, Rows]) -> None:
        (row,) = tables["topics"]
        row.update(expected=100, delivered=100, unexpected=5, ratio=0.95)

    result = report_json(report_on(change=late))
    assert result["topics"]["weather"]["missing"] == 5
    assert result["total"]["ratio"] == 0.95


def test_a_topic_of_two_networks_is_two_topics(report_on: MakeReport) -> None:
    other = gold_rows(Run(network="floodsub", seed=2, topics=("weather", "news")))

    def both(tables: dict[str, Rows]) -> None:
        for name, rows in tables.items():
            rows.extend(other[name])

    result = report_json(report_on(change=both))
    assert set(result["topics"]) == {"weather (gossipsub)", "weather (floodsub)", "news"}
    floods = result["topics"]["weather (floodsub)"]
    assert (floods["network"], floods["topic"]) == ("floodsub", "weather")
    assert result["events"]["published"] == 60 + 120


def test_the_mesh_is_as_in_its_last_minute_and_its_worst_is_kept(report_on: MakeReport) -> None:
    result = report_json(report_on(Run(split_minute=2)))
    mesh = result["topics"]["weather"]["mesh"]
    assert mesh["components"] == 1
    assert mesh["components_max"] == 2
    assert mesh["minutes"] == 5
    assert mesh["grafts"] == sum(
        row["grafts"] for row in gold_rows(Run(split_minute=2))["mesh_minutes"]
    )


def test_a_peer_has_its_clock_beside_its_figures(report_on: MakeReport) -> None:
    result = report_json(report_on(Run(blind_clocks=1)))
    known = [peer["skew"]["estimated"] for peer in result["peers"].values()]
    assert sorted(known) == [False] + [True] * 9


def test_the_period_counts_its_first_and_its_last_minute(report_on: MakeReport) -> None:
    assert report_json(report_on(Run(minutes=5)))["period"] == {
        "first": "2026-03-01T14:00:00Z",
        "last": "2026-03-01T14:04:00Z",
        "minutes": 5,
    }


@pytest.mark.parametrize("table", sorted(gold_rows(Run(nodes=2, minutes=1))))
def test_any_table_may_be_missing_or_empty(report_on: MakeReport, table: str) -> None:
    def remove(tables: dict[str, Any]) -> None:
        del tables[table]

    def clear(tables: dict[str, Any]) -> None:
        tables[table].clear()

    missing = report_json(report_on(change=remove, name="missing"))
    assert f"Not there to be read: gold/{table}." in missing["problems"]
    assert missing["missing_tables"] == [table]
    empty = report_json(report_on(change=clear, name="empty"))
    assert empty["missing_tables"] == []
