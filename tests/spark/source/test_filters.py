"""Filters are pushed down into a batch read, where Spark is told to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import EqualTo, GreaterThan, In, IsNotNull, LessThanOrEqual

from rumormill.pipeline.source.columns import TRACE_COLUMNS, arrow_schema
from rumormill.pipeline.source.filters import FilteringReader
from rumormill.pipeline.source.options import read_source_options
from rumormill.pipeline.source.reading import ReadPlan
from tests.helpers.capture.spools import BEGIN_US, TestSpool, make_spool

SETTING = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(SETTING)
    spark.conf.set(SETTING, "true")
    yield spark
    spark.conf.set(SETTING, str(before))


@pytest.fixture
def spool(tmp_path: Path) -> TestSpool:
    spool = make_spool(tmp_path / "spool")
    spool.messages(["weather", "news", "sports"] * 20)
    spool.events(["published", "delivered"] * 10)
    return spool


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


def test_topics_events_and_times_are_filtered_in_the_source(
    pushing: SparkSession, spool: TestSpool
) -> None:
    messages = pushing.read.format("rumormill").option("spool", str(spool.folder)).load()
    news = messages.where("topic = 'news'")
    assert sorted(int(row.value) for row in news.collect()) == list(range(1, 60, 3))
    assert "topic#" not in plan_of(news).partition("Filter")[2].partition("isnotnull")[0]
    two = messages.where("topic IN ('news', 'sports') AND topic != 'news'")
    assert sorted(int(row.value) for row in two.collect()) == list(range(2, 60, 3))
    moment = f"timestamp_micros({BEGIN_US + 30_000})"
    late = messages.where(f"timestamp >= {moment} AND topic = 'weather'")
    assert sorted(int(row.value) for row in late.collect()) == list(range(30, 60, 3))
    trace = pushing.read.format("rumormill").options(spool=str(spool.folder), kind="trace").load()
    assert trace.where("event = 'published'").count() == 10
    assert trace.where(f"time < timestamp_micros({BEGIN_US + 5000})").count() == 5


def test_a_session_that_pushes_nothing_down_reads_all_the_same(
    spark: SparkSession, spool: TestSpool
) -> None:
    before = spark.conf.get(SETTING)
    spark.conf.set(SETTING, "false")
    messages = spark.read.format("rumormill").option("spool", str(spool.folder)).load()
    assert messages.where("topic = 'news'").count() == 20
    spark.conf.set(SETTING, str(before))


def test_what_is_not_known_is_left_to_spark() -> None:
    options = read_source_options({"spool": "s", "kind": "trace"}, streaming=False)
    plan = ReadPlan("trace", arrow_schema("trace", TRACE_COLUMNS), topics=("a", "b"))
    reader = FilteringReader(options, plan)
    moment = datetime(2023, 11, 14, tzinfo=UTC)
    left = [
        IsNotNull(("topic",)),
        EqualTo(("node",), "x"),
        GreaterThan(("time",), datetime(2023, 1, 1)),
        EqualTo(("fields", "topic"), "a"),
    ]
    taken = [
        In(("topic",), ("b", "c")),
        EqualTo(("event",), "published"),
        GreaterThan(("time",), moment),
        LessThanOrEqual(("time",), moment),
    ]
    assert list(reader.pushFilters([*left, *taken])) == left
    time = int(moment.timestamp()) * 1_000_000
    assert (reader._plan.topics, reader._plan.events) == (("b",), ("published",))
    assert (reader._plan.first_us, reader._plan.last_us) == (time + 1, time)
