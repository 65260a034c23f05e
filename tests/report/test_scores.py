"""What the report says of scores, of copies that were spared, and of reasons."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from rich.console import Console

from rumormill.report import Report, print_report, report_html, report_json
from rumormill.report.series import page_data
from tests.helpers.report.gold_tables import Run, lake_rows, minute_time, peer_names
from tests.helpers.report.lake_on_disk import Rows

MakeReport = Callable[..., Report]
BAD = peer_names(10, 1)[-1]
"""In the toy network it loses thirty points a minute, from the second minute on."""


def told(node: str, peer: str, minute: int, score: float, **other: Any) -> dict[str, Any]:
    return {
        "minute": minute_time(minute), "network": "gossipsub", "node": node, "peer": peer,
        "told": 1, "score": score, "lowest": score, "highest": score, "level": "trusted", **other,
    }  # fmt: skip


def test_the_peer_that_fell_lowest_comes_first_and_is_followed_by_minute(
    report_on: MakeReport,
) -> None:
    scores = report_json(report_on())["scores"]
    assert next(iter(scores)) == BAD
    judges = sum(scores[BAD]["levels"].values())
    assert scores[BAD]["score"] == -80.0 and scores[BAD]["lowest"] == -81.5
    assert scores[BAD]["highest"] == 10.0 and scores[BAD]["levels"] == {"graylisted": judges}
    assert scores[BAD]["minutes"]["score"] == [-0.5, 8.5, -21.5, -51.5, -81.5]
    followed = [label for label, it in scores.items() if it["minutes"]]
    assert followed == list(scores)[:6]


def test_a_score_holds_until_another_is_told(report_on: MakeReport) -> None:
    def change(tables: dict[str, Rows]) -> None:
        tables["scores"] = [
            told("a", "b", 1, -4.0, lowest=-9.0, level="no_mesh"),
            told("c", "b", 2, 5.0),
            told("a", "b", 4, 1.0),
        ]

    (peer,) = report_json(report_on(change=change))["scores"].values()
    assert peer["minutes"]["score"] == [-9.0, -4.0, -4.0, 1.0]
    assert (peer["score"], peer["lowest"], peer["levels"]) == (1.0, -9.0, {"trusted": 2})


def test_in_a_long_run_a_bucket_keeps_its_lowest_score(report_on: MakeReport) -> None:
    def change(tables: dict[str, Rows]) -> None:
        tables["scores"] = [told("a", "b", minute, 1.0) for minute in range(0, 1000, 7)]
        tables["scores"].append(told("a", "b", 500, -30.0))
        tables["scores"].append(told("a", "b", 501, 2.0))

    report = report_on(Run(nodes=2, minutes=1000, messages=1), change)
    drawn = page_data(report, report_json(report))["scores"]
    ((_, values),) = drawn["series"]
    assert len(values) == len(drawn["time"]) <= 480
    assert min(values) == -30.0
    steps = {later - earlier for earlier, later in pairwise(drawn["time"])}
    assert len(steps) == 1


def test_copies_that_were_spared_stand_beside_the_duplicates_of_their_topic(
    report_on: MakeReport,
) -> None:
    report = report_on(Run(topics=("weather", "news")))
    result = report_json(report)
    assert result["topics"]["weather"]["spared"] == 50
    assert result["topics"]["news"]["spared"] == 55
    assert result["total"]["spared"] == 105
    assert 'data-figure="spared" data-value="55"' in report_html(report)
    assert "; 105 spared" in report_html(report)


def test_reasons_are_added_up_over_topics(report_on: MakeReport) -> None:
    assert report_json(report_on(Run(topics=("weather", "news"))))["causes"] == [
        {"event": "spared", "reason": "not_queued", "count": 105},
        {"event": "rejected", "reason": "broken_promise", "count": 10},
    ]


def test_peers_named_in_exchange_are_control_traffic(report_on: MakeReport) -> None:
    control = report_json(report_on())["control"]
    links = [row for row in lake_rows(Run())["links"] if row["minute"] is None]
    assert control["total"]["exchanged"] == sum(row["exchanged"] for row in links) > 0


def test_a_network_without_scores_has_no_card_for_them(report_on: MakeReport) -> None:
    run = Run(network="bep50", promise="newest")
    page = report_html(report_on(run))
    assert 'id="scores"' not in page and 'id="causes"' not in page
    assert report_json(report_on(run, name="again"))["scores"] == {}


@pytest.mark.parametrize("missing", ["scores", "causes"])
def test_tables_of_before_there_were_scores_are_reported_on_without(
    report_on: MakeReport, missing: str
) -> None:
    result = report_json(report_on(change=lambda tables: tables.pop(missing)))
    assert result["missing_tables"] == [missing] and not result[missing]


def test_the_terminal_shows_the_lowest_scores_and_the_reasons(report_on: MakeReport) -> None:
    console = Console(file=io.StringIO(), width=100)
    print_report(report_on(), console)
    assert isinstance(console.file, io.StringIO)
    text = console.file.getvalue()
    lines = text[text.index("Scores") :].splitlines()
    assert "-80" in lines[3] and "graylisted by" in lines[3]
    assert "broken_promise" in text and "spared" in text
