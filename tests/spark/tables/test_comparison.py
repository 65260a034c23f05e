"""Two runs side by side."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rumormill.pipeline.tables import COMPARISON, GOLD, compare
from tests.helpers.spark.trace_lines import rows_of


def topics(spark: SparkSession, **runs: dict[str, Any]) -> DataFrame:
    names = GOLD["topics"].names
    rows = [({"network": "net", "topic": topic} | row) for topic, row in runs.items()]
    return spark.createDataFrame([tuple(map(row.get, names)) for row in rows], GOLD["topics"])


def test_every_figure_of_both_runs_stands_beside_the_other(spark: SparkSession) -> None:
    before = topics(
        spark,
        news={"published": 10, "ratio": 0.8, "recoveries": 0},
        gone={"published": 4},
    )
    after = topics(
        spark,
        news={"published": 10, "ratio": 0.9, "recoveries": 3},
        fresh={"published": 5},
    )
    found = compare(before, after)
    assert found.schema.simpleString() == COMPARISON.simpleString()
    rows = {
        row[:2]: row[2:] for row in rows_of(found, "topic metric before after change change_share")
    }
    assert rows["news", "published"] == (10.0, 10.0, 0.0, 0.0)
    before_ratio, after_ratio, change, share = rows["news", "ratio"]
    assert (before_ratio, after_ratio) == (0.8, 0.9)
    assert round(change, 6) == 0.1 and round(share, 6) == 0.125
    assert rows["news", "recoveries"] == (0.0, 3.0, 3.0, None)  # from nothing: no share
    assert rows["news", "latency_p50"] == (None, None, None, None)
    assert rows["gone", "published"] == (4.0, None, None, None)
    assert rows["fresh", "published"] == (None, 5.0, None, None)
    assert len(rows) == 3 * (len(GOLD["topics"].names) - 2)
