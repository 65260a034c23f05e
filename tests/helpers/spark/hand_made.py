"""Tables in memory for functions of gold: silver by hand, gold made from it when it is asked for.

    tables = HandMade(spark, {"publications": [{"topic": "news", "time": at(3)}]})
    rows(topics(tables))

A row has what matters; the rest is null, but for some columns that are the same everywhere
(:data:`USUAL`). A row's ``minute`` follows from its times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from rumormill.pipeline.gold import HOUSE
from rumormill.pipeline.lake.schema import SILVER

Row = Mapping[str, Any]

BEGIN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WAYS = "minute timestamp, network string, node string, peer string, least_us bigint"
COLUMNS = {table.name: table.columns for table in SILVER} | {"ways": WAYS}
USUAL: dict[str, Any] = {
    "network": "net",
    "promise": "every",
    "first": False,
    "expected": False,
    "recovered": False,
    "duplicates": 0,
    "published": 0,
    "missing": 0,
    "count": 1,
}
TIMES = ("published_at", "time", "first_at")
"""What the minute of a row follows from, if it has none: the first that it has."""


def at(seconds: float) -> datetime:
    """A time, so many seconds after the beginning."""
    return BEGIN + timedelta(microseconds=round(seconds * 1e6))


def minute_of(time: datetime) -> datetime:
    return time.replace(second=0, microsecond=0)


class HandMade:
    """What :class:`rumormill.pipeline.gold.Tables` promises, of a few rows."""

    margin_us = 120_000_000

    def __init__(
        self,
        spark: SparkSession,
        given: Mapping[str, Sequence[Row] | DataFrame],
        minutes: Sequence[datetime] | None = None,
    ) -> None:
        self._spark = spark
        self._frames = {
            name: rows if isinstance(rows, DataFrame) else frame(spark, name, rows)
            for name, rows in given.items()
        }
        self._made: dict[str, DataFrame] = {}
        self._chosen = None if minutes is None else sorted(minutes)

    @property
    def minutes(self) -> list[datetime]:
        """Those chosen, else all that any silver table has."""
        if self._chosen is None:
            found: set[datetime] = set()
            for table in self._frames.values():
                if "minute" in table.columns:
                    chosen = table.select("minute").where("minute is not null").distinct()
                    found |= {row.minute.replace(tzinfo=UTC) for row in chosen.collect()}
            self._chosen = sorted(found)
        return self._chosen

    @property
    def span(self) -> tuple[datetime, datetime]:
        return self.minutes[0], self.minutes[-1]

    def __getitem__(self, name: str) -> DataFrame:
        return self._of_minutes(self._all(name), self.minutes)

    def totals(self, name: str) -> DataFrame:
        made = self._all(name)
        if name in self._frames:
            return made.where("minute is null")
        table = HOUSE.tables[name]
        summed = made.groupBy(*table.keys).agg(*[F.sum(each).alias(each) for each in table.sums])
        return summed.withColumn("minute", F.lit(None).cast("timestamp")).select(*made.columns)

    def recent(self, name: str, minutes: int) -> DataFrame:
        table = self._all(name)
        newest = table.groupBy("network").agg(F.max("minute").alias("newest"))
        since = F.col("newest") - F.expr(f"interval {minutes - 1} minutes")
        return table.join(newest, "network").where(F.col("minute") >= since).drop("newest")

    def _all(self, name: str) -> DataFrame:
        if name in self._frames:
            return self._frames[name]
        if name in COLUMNS:
            return frame(self._spark, name, [])
        if name not in self._made:
            self._made[name] = frame(self._spark, name, [])  # its own earlier rows: none
            made = HOUSE.tables[name].make(self)
            self._made[name] = self._spark.createDataFrame(made.toArrow(), made.schema)
        return self._made[name]

    def _of_minutes(self, table: DataFrame, minutes: Sequence[datetime]) -> DataFrame:
        if "minute" in table.columns:
            return table.where(F.col("minute").isin(*minutes))
        if {"since", "until"} <= set(table.columns):
            overlap = F.exists(
                F.array(*[F.lit(each) for each in minutes]),
                lambda minute: (
                    (F.col("since") < minute + F.expr("interval 1 minute"))
                    & (F.coalesce("until", minute) >= minute)
                ),
            )
            return table.where(overlap)
        return table


def frame(spark: SparkSession, name: str, rows: Sequence[Row]) -> DataFrame:
    """Rows with nothing but what matters, as a table of silver or gold."""
    columns = COLUMNS.get(name) or HOUSE.tables[name].table.columns
    schema = StructType.fromDDL(columns)
    assert isinstance(schema, StructType)
    sums = HOUSE.tables[name].sums if name in HOUSE.tables else ()
    return spark.createDataFrame([_whole(row, schema, sums) for row in rows], schema)


def _whole(row: Row, schema: StructType, sums: Sequence[str]) -> tuple[Any, ...]:
    usual = USUAL | dict.fromkeys(sums, 0)
    times = [row[name] for name in TIMES if row.get(name) is not None]
    minute = {"minute": minute_of(times[0])} if times else {"minute": BEGIN}
    unknown = set(row) - set(schema.names)
    assert not unknown, f"there is no column {unknown}"
    return tuple((usual | minute | dict(row)).get(name) for name in schema.names)


def rows(table: DataFrame, columns: str) -> list[tuple[Any, ...]]:
    """Some columns of all rows, in order; times as seconds after the beginning, ids as text."""
    found = table.select(*[f"`{name}`" for name in columns.split()]).collect()
    plain = [tuple(_plain(value) for value in row) for row in found]
    return sorted(plain, key=lambda row: [(value is not None, value) for value in row])


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - BEGIN) / timedelta(seconds=1)
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode(errors="backslashreplace")
    return value
