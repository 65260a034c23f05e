"""The same tables range by range, and from a stream."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rumormill.pipeline.tables import SILVER, TRACE, Window, silver
from rumormill.pipeline.tables.columns import history
from rumormill.pipeline.tables.traffic import counts
from tests.helpers.spark.table_story import Story
from tests.helpers.spark.trace_lines import at, held, rows_of, seconds, trace_of

BY_MINUTE = ("publications", "deliveries", "counters", "traffic")


def everything(table: DataFrame) -> list[tuple[Any, ...]]:
    return rows_of(table.drop("message"), " ".join(c for c in table.columns if c != "message"))


def test_windows_that_meet_hold_together_what_the_whole_holds(story: Story) -> None:
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name in BY_MINUTE}
    past = None
    for begin in (0, 60):
        window = Window(at(begin), at(begin + 60), timedelta(seconds=5))
        made = silver(story.trace, window=window, past=past, keep=held)
        for name in BY_MINUTE:
            found[name] += everything(getattr(made, name))
        past = made.counters
        assert everything(made.subscriptions) == everything(story.silver.subscriptions)
        assert everything(made.mesh) == everything(story.silver.mesh)
    for name in BY_MINUTE:
        assert sorted(found[name], key=str) == sorted(
            everything(getattr(story.silver, name)), key=str
        ), name


LATE = """
    50.0  a  published  @news  #m1
    55.0  a  published  @news  #m2
    59.0  b  delivered  @news  #m1  <a
    62.0  c  delivered  @news  #m1  <a
    62.0  c  delivered  @news  #m2  <a
    59.9  d  delivered  @news  #m3  <a
    60.0  a  published  @news  #m3
"""


def test_a_copy_beyond_the_margin_is_counted_once_without_its_publication(
    spark: SparkSession,
) -> None:
    trace = trace_of(spark, LATE)
    found = []
    for begin in (0, 60):
        window = Window(at(begin), at(begin + 60), timedelta(seconds=10))
        made = silver(trace, window=window, keep=held)
        found.append(rows_of(made.deliveries, "message_id node latency_ms"))
    assert found[0] == [
        ("m1", "b", 9000.0),
        ("m2", "c", 7000.0),  # in the margin behind the window
    ]
    assert found[1] == [
        ("m1", "c", None),  # 12 s after its publication
        ("m3", "d", -100.0),  # in the margin before the window
    ]


def test_a_window_needs_no_more_than_its_own_events_and_the_history(spark: SparkSession) -> None:
    trace = trace_of(spark, LATE + "1.0  b  subscribed  @news")
    window = Window(at(60), at(120), timedelta(seconds=10))
    near = trace.where(f"time >= '{at(50):%Y-%m-%d %H:%M:%S}'")
    whole = silver(trace, window=window, keep=held)
    earlier = history(trace.where(f"time < '{at(60):%Y-%m-%d %H:%M:%S}' and event != 'published'"))
    parts = silver(near, window=window, history=earlier, keep=held)
    for name in (*BY_MINUTE, "subscriptions"):
        assert everything(getattr(parts, name)) == everything(getattr(whole, name)), name


@pytest.mark.parametrize("mode", ["append", "complete"])
def test_a_stream_gives_the_same_rows_as_a_batch(
    spark: SparkSession, story: Story, tmp_path: Path, mode: str
) -> None:
    folder = str(tmp_path / "bronze")
    story.trace.write.parquet(folder)
    stream = spark.readStream.schema(TRACE).parquet(folder)
    function = history if mode == "append" else counts
    query = (
        function(stream)
        .writeStream.format("memory")
        .queryName(f"stream_{mode}")
        .outputMode(mode)
        .trigger(availableNow=True)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    query.awaitTermination()
    assert everything(spark.table(f"stream_{mode}")) == everything(function(story.trace))


def test_times_are_read_as_they_were_written() -> None:
    assert seconds(at(12.5)) == 12.5 and seconds(None) is None
    assert set(BY_MINUTE) < set(SILVER)
