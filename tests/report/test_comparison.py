from __future__ import annotations

from collections.abc import Callable

import pytest

from rumormill.report import Comparison, Report, report_json
from rumormill.report.columns import TOPICS
from rumormill.report.comparison import Pair, difference, times
from tests.helpers.report.gold_tables import Run
from tests.helpers.report.lake_on_disk import Rows

MakeReport = Callable[..., Report]
RATIO = next(column for column in TOPICS if column.figure == "ratio")
LATENCY = next(column for column in TOPICS if column.figure == "latency_ms.p50")


def test_each_figure_has_both_values_their_difference_and_their_ratio(
    report_on: MakeReport,
) -> None:
    this = report_on(Run(delay_ms=16), name="this")
    other = report_on(Run(delay_ms=8, seed=2), name="other")
    compared = report_json(this, other)["compare"]
    here = report_json(this)["topics"]["weather"]["latency_ms"]["p50"]
    there = report_json(other)["topics"]["weather"]["latency_ms"]["p50"]
    assert compared["topics"]["weather"]["latency_ms"]["p50"] == {
        "this": here,
        "other": there,
        "difference": here - there,
        "ratio": here / there,
    }
    assert compared["other"] == report_json(other)
    assert compared["events"]["published"]["difference"] == 0


def test_the_report_itself_is_as_without_comparison(report_on: MakeReport) -> None:
    this, other = report_on(Run(), name="this"), report_on(Run(seed=2), name="other")
    both = report_json(this, other)
    del both["compare"]
    assert both == report_json(this)


def test_topics_and_peers_of_one_run_alone_are_named_not_compared(report_on: MakeReport) -> None:
    this = report_on(Run(topics=("a", "b"), names=["x", "y"], nodes=2), name="this")
    other = report_on(Run(topics=("b", "c"), names=["y", "z"], nodes=2), name="other")
    compared = report_json(this, other)["compare"]
    assert list(compared["topics"]) == ["b"]
    assert list(compared["peers"]) == ["y"]
    assert (compared["only_here"], compared["only_there"]) == (["a"], ["c"])


def test_what_is_unknown_or_nothing_has_no_ratio(report_on: MakeReport) -> None:
    pair = Pair(3.0, 0.0)
    assert (pair.difference, pair.ratio) == (3.0, None)
    assert Pair(None, 2.0).difference is None
    assert Pair(None, 2.0).verdict(1) == 0


@pytest.mark.parametrize(("this", "other", "word"), [(0.9, 1.0, -1), (1.0, 0.9, 1), (1.0, 1.0, 0)])
def test_more_deliveries_are_better_and_more_latency_is_worse(
    this: float, other: float, word: int
) -> None:
    assert Pair(this, other).verdict(RATIO.better) == word
    assert Pair(this, other).verdict(LATENCY.better) == -word


def test_differences_carry_their_sign_and_unit() -> None:
    assert difference(RATIO, Pair(0.99, 1.0)) == "-1.0 pp"
    assert difference(LATENCY, Pair(12.0, 8.0)) == "+4.0 ms"
    assert difference(LATENCY, Pair(8.0, 8.0)) == "="
    assert times(Pair(12.0, 8.0)) == "1.50"
    assert times(Pair(12.0, 0.0)) == "-"


def test_every_figure_is_where_the_report_has_it(report_on: MakeReport) -> None:
    def spoil(tables: dict[str, Rows]) -> None:
        tables["topics"][0]["bytes_per_delivery"] = None

    report = report_on(change=spoil)
    result = report_json(report)["topics"]["weather"]
    for _, column, pair in Comparison(report, report).rows():
        outer, _, inner = column.figure.partition(".")
        assert pair.this == (result[outer][inner] if inner else result[outer])
