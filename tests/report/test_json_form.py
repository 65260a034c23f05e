from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from rumormill.report import Report, Wanted, report_json
from tests.helpers.report.gold_tables import Run, lake_rows, merged, story, totals

MakeReport = Callable[..., Report]


def test_the_object_has_the_shape_that_programs_rely_on(report_on: MakeReport) -> None:
    run = Run(nodes=4, topics=("weather", "news"), minutes=2)
    result = report_json(report_on(run))
    rows = {row["topic"]: row for row in totals(lake_rows(run)["topics"])}
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
    assert {row["node"] for row in totals(lake_rows(run)["peers"])} == set(result["peers"])
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
    assert network == {"peers": 10, "promise": "every", **result["total"]}


def test_a_topic_of_two_networks_is_two_topics(report_on: MakeReport) -> None:
    both = merged(Run(), Run(network="floodsub", seed=2, topics=("weather", "news")))
    result = report_json(report_on(tables=both))
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
        row["grafts"] for row in lake_rows(Run(split_minute=2))["mesh_minutes"]
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


GOLD = sorted(name for name in lake_rows(Run(nodes=2, minutes=1)) if "." not in name)


@pytest.mark.parametrize("table", GOLD)
def test_any_table_may_be_missing_or_empty(report_on: MakeReport, table: str) -> None:
    def remove(tables: dict[str, Any]) -> None:
        del tables[table]

    def clear(tables: dict[str, Any]) -> None:
        tables[table].clear()

    missing = report_json(report_on(change=remove, name="missing"))
    assert f"Not there to be read: gold.{table}." in missing["problems"]
    assert missing["missing_tables"] == [table]
    empty = report_json(report_on(change=clear, name="empty"))
    assert empty["missing_tables"] == []


def test_each_promise_is_counted_by_its_own_rule(report_on: MakeReport) -> None:
    result = report_json(report_on(tables=story()))
    prices, jobs = result["topics"]["prices"], result["topics"]["jobs"]
    assert (prices["promise"], jobs["promise"]) == ("newest", "one")
    assert prices["skipped"] > 0
    assert prices["expected"] == prices["delivered"] + prices["skipped"] + prices["missing"]
    assert prices["ratio"] == (prices["expected"] - prices["missing"]) / prices["expected"]
    assert jobs["expected"] == jobs["published"] == jobs["delivered"]
    assert (jobs["missing"], jobs["ratio"]) == (0, 1.0)
    assert {net: it["promise"] for net, it in result["networks"].items()} == {
        "gossipsub": "every", "bep50": "newest", "bcos": "one",
    }  # fmt: skip


def test_nodes_without_the_newest_value_are_named(report_on: MakeReport) -> None:
    (behind,) = report_json(report_on(tables=story()))["behind"]
    assert (behind["topic"], behind["node"]) == ("prices", "node-0")
    assert behind["value_at"] < behind["newest_at"]


def test_a_short_run_is_counted_by_the_second_and_adds_up_to_the_whole(
    report_on: MakeReport,
) -> None:
    result = report_json(report_on(tables=story()))
    for topic in result["topics"].values():
        for figure in ("published", "expected", "missing", "skipped"):
            assert sum(topic["seconds"][figure]) == topic[figure]
        known = [value for value in topic["seconds"]["p99"] if value is not None]
        assert 0 < max(known) <= topic["latency_ms"]["max"]


def test_a_long_run_is_not_counted_by_the_second(report_on: MakeReport) -> None:
    result = report_json(report_on(Run(minutes=11, messages=1)))
    assert result["topics"]["weather"]["seconds"] is None


def test_traffic_is_added_up_over_all_links(report_on: MakeReport) -> None:
    tables = lake_rows(Run())
    control = report_json(report_on(tables=tables))["control"]
    for kind in ("messages", "ihave", "iwant", "idontwant", "graft", "sent_bytes"):
        assert control["total"][kind] == sum(row[kind] for row in totals(tables["links"])) > 0
        by_minute = sum(row[kind] for row in tables["links"] if row["minute"] is not None)
        assert sum(control["minutes"][kind]) == by_minute
    assert len(control["minutes"]["time"]) == 5


def test_churn_shows_the_minute_of_a_crash(report_on: MakeReport) -> None:
    churn = report_json(report_on(Run(crash_minute=3)))["churn"]
    assert churn["peer_left"] == [0, 0, 0, 4, 0]
    assert churn["time"][3] == "2026-03-01T14:03:00Z"


def test_lifetimes_tell_within_how_many_seconds_things_ended(report_on: MakeReport) -> None:
    mesh = report_json(report_on())["lifetimes"]["mesh"]
    assert mesh == {"within_s": [7.75, 31.75, 127.75, 255.75], "ended": [3, 9, 14, 4]}


def test_agents_are_counted_and_stand_beside_their_peers(report_on: MakeReport) -> None:
    result = report_json(report_on(Run(nodes=5, agents=("a/1", "b/2"))))
    assert result["agents"] == {"a/1": 3, "b/2": 2}
    assert sorted(peer["agent"] for peer in result["peers"].values()) == ["a/1"] * 3 + ["b/2"] * 2


def test_the_slowest_messages_come_with_their_way_and_from_each_topic(
    report_on: MakeReport,
) -> None:
    slowest = report_json(report_on(tables=story()))["slowest"]
    assert {row["topic"] for row in slowest} == {"prices", "jobs", "news", "weather"}
    assert [row["slowest_ms"] for row in slowest] == sorted(
        (row["slowest_ms"] for row in slowest), reverse=True
    )
    for row in slowest:
        assert len(row["tree"]) == row["reached"]
        assert max(step["latency_ms"] for step in row["tree"]) == row["slowest_ms"]


def test_a_table_of_a_user_is_shown_with_its_title_and_its_totals_first(
    report_on: MakeReport,
) -> None:
    own = report_json(report_on(tables=story()))["tables"]["large_messages"]
    assert own["title"] == "Large messages"
    assert own["columns"] == ["minute", "network", "topic", "large"]
    assert [row[3] for row in own["rows"]] == [7, 4, 3]


def test_only_what_is_asked_for_is_told(report_on: MakeReport) -> None:
    only = report_json(report_on(tables=story(), wanted=Wanted(topics=("news",))))
    assert list(only["topics"]) == ["news"] and only["total"]["published"] == 72
    one = report_json(report_on(tables=story(), wanted=Wanted(networks=("bcos",)), name="again"))
    assert list(one["topics"]) == ["jobs"]
    assert set(one["peers"]) == {"sdk-0", "sdk-1", "sdk-2", "sdk-3"}


def test_of_a_long_run_the_last_minutes_are_shown_and_totals_are_whole(
    report_on: MakeReport,
) -> None:
    report = report_on(Run(minutes=20, messages=1), wanted=Wanted(minutes=5))
    assert [len(it) for it in report.minutes.values()] == [5]
    result = report_json(report)
    assert result["topics"]["weather"]["published"] == 20
    assert result["period"]["minutes"] == 20
    assert any("since 2026-03-01 14:15 UTC" in note for note in result["notes"])
