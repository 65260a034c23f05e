"""Ranges of time, be they thousands: a trace may have a minute now and then, over months."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import WAYS, Layout, Table
from rumormill.pipeline.silver.columns import (
    HOUR_US,
    MINUTE_US,
    MOST,
    Span,
    in_minutes,
    minutes_around,
    within,
)
from rumormill.system.times import micros_of
from tests.helpers.second_opinion.pipeline import new_lake

BEGIN = micros_of(datetime(2026, 3, 1, 12, 0, tzinfo=UTC))
ISOLATED = [BEGIN + number * 3 * MINUTE_US for number in range(5000)]


def times(spark: SparkSession, micros: list[int], name: str) -> DataFrame:
    frame = spark.createDataFrame([(each,) for each in micros], "micros bigint")
    return frame.select("micros", F.timestamp_micros("micros").alias(name))


def chosen(frame: DataFrame) -> list[int]:
    return sorted(row.micros for row in frame.collect())


@pytest.mark.parametrize("column", ["time", "minute"])
def test_five_thousand_isolated_minutes_are_told_from_those_between_them(
    spark: SparkSession, column: str
) -> None:
    looked_at = [each for first in ISOLATED for each in (first, first + MINUTE_US)]
    frame = times(spark, looked_at, column)
    assert chosen(frame.where(in_minutes(ISOLATED, column))) == ISOLATED
    assert chosen(frame.where(within(column, minutes_around(ISOLATED, 0, 0)))) == ISOLATED


@pytest.mark.parametrize("count", [3, MOST + 1])
def test_ranges_that_begin_and_end_within_minutes_are_exact(
    spark: SparkSession, count: int
) -> None:
    second = MINUTE_US // 60
    spans: list[Span] = [
        (first - 30 * second, first + 70 * second + 1)
        for first in range(BEGIN, BEGIN + count * HOUR_US, HOUR_US)
    ]
    spans.append((BEGIN - HOUR_US + 1, BEGIN - HOUR_US + 2))
    inside = {each for begin, end in spans for each in (begin, end - 1)}
    outside = [each for begin, end in spans for each in (begin - 1, end)]
    found = chosen(times(spark, [*inside, *outside], "time").where(within("time", spans)))
    assert found == sorted(inside)


@pytest.mark.parametrize("table", [WAYS, Table("hours", "silver", WAYS.columns, Layout.HOUR)])
@pytest.mark.parametrize("apart", [3 * MINUTE_US, 5 * HOUR_US])
def test_rows_of_thousands_of_isolated_minutes_are_replaced_and_those_between_stay(
    spark: SparkSession, table: Table, apart: int
) -> None:
    lake = new_lake(spark)
    minutes = [BEGIN + number * apart for number in range(2000)]
    replaced, between = minutes[1000], minutes[1000] + MINUTE_US

    def rows(name: str, *micros: int) -> DataFrame:
        found = times(spark, list(micros), "minute")
        others = [F.lit(name).alias(each) for each in ("network", "node", "peer")]
        return found.select("minute", *others, F.lit(1).cast("bigint").alias("least_us"))

    lake.append(table, rows("old", replaced, between).coalesce(1), {})
    lake.replace_minutes(table, rows("new", replaced).coalesce(1), minutes)
    found = lake.read(table).select(F.unix_micros("minute").alias("at"), "network").collect()
    assert {(row.at, row.network) for row in found} == {(replaced, "new"), (between, "old")}
