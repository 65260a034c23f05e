"""The tables of a lake: made, read, added to, replaced. Iceberg does all of it, commit by commit.

Whoever reads a table sees one commit or the next, never half of one; whatever is killed leaves
files that no commit names. What is replaced is named by a condition on ``minute``, so doing it
again after a crash changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from rumormill.core.errors import RumormillError
from rumormill.pipeline.lake.declared import columns_of
from rumormill.pipeline.lake.handle import handle
from rumormill.pipeline.lake.offsets import NOTHING, Batch, properties, with_properties
from rumormill.pipeline.lake.procedures import call
from rumormill.pipeline.lake.schema import FORMAT, MESSAGES, TRACE, Layout, Table
from rumormill.pipeline.silver.columns import (
    HOUR_US,
    Span,
    fewer,
    in_minutes,
    in_ranges,
    literal,
    nothing,
)
from rumormill.system.tables_location import Location, quoted

FORMAT_KEY: Final = "rumormill.format"

PROPERTIES: Final = {
    "format-version": "2",
    # Rows stay in the tasks that made them: no shuffle just for the layout of files.
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    # The defaults make three tasks of 20 M rows.
    "read.split.target-size": "20971520",
    "read.split.open-file-cost": "1048576",
    "write.parquet.row-group-size-bytes": "16777216",
    "write.parquet.compression-codec": "zstd",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}

PARTITIONS: Final = {
    Layout.MINUTE: "minute",
    Layout.HOUR: "hours(minute)",
    Layout.STRETCH: "hours(told_until)",
}


class LakeError(RumormillError):
    """The tables are not what they should be; the sentence says how."""


class Lake:
    """The tables at one place, for one session.

    Whoever writes has one of these: a table that was made by one, and written to by another since,
    is empty to the first.
    """

    def __init__(self, spark: SparkSession, location: Location) -> None:
        self.spark = spark
        self.location = location
        self._known: set[str] = set()
        self._namespaces: set[str] = set()
        self._unwritten: set[str] = set()
        """Tables that were made here and have no rows yet."""
        self._commits: Counter[str] = Counter()
        """Of each table, how many were made here."""
        self._frames: dict[tuple[str, int], DataFrame] | None = None
        """Tables as they were read after so many commits, while nobody else writes."""

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Within it a table is looked up once for each of our own commits, not at each reading."""
        self._frames = {}
        try:
            yield
        finally:
            self._frames = None

    def name(self, table: Table) -> str:
        """As SQL calls it."""
        return self.location.table(table.layer, table.name)

    def exists(self, table: Table) -> bool:
        """Whether it was ever written."""
        return table.path in self._known or self.spark.catalog.tableExists(self.name(table))

    def ensure(self, table: Table) -> None:
        """Make a table that is not there; refuse one of another format."""
        if table.path in self._known:
            return
        if self.exists(table):
            self._check_format(table)
        else:
            self._create(table)
        self._known.add(table.path)

    def _check_format(self, table: Table) -> None:
        found = handle(self.spark, self.name(table)).properties().get(FORMAT_KEY)
        if found != str(FORMAT):
            raise LakeError(
                f"{self.name(table)} has format {found or 'unknown'}, and this rumormill writes"
                f" {FORMAT}: name other --tables, and make them anew from the spools"
            )

    def _create(self, table: Table) -> None:
        catalog, namespace = self.location.catalog, self.location.namespace(table.layer)
        if namespace not in self._namespaces:
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted(catalog)}.{quoted(namespace)}")
            self._namespaces.add(namespace)
        declared = {**PROPERTIES, FORMAT_KEY: str(FORMAT), **table.properties}
        told = ", ".join(f"'{key}' = '{_quoted(value)}'" for key, value in declared.items())
        by = {**PARTITIONS, Layout.STREAM: _stream_partitions(table)}.get(table.layout)
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS {self.name(table)} ({_columns(table)}) USING iceberg"
            + (f" PARTITIONED BY ({by})" if by else "")
            + f" TBLPROPERTIES ({told})"
        )
        self._unwritten.add(table.path)

    def is_new(self, table: Table) -> bool:
        """Whether it was made here just now, so that it has neither rows nor commits."""
        self.ensure(table)
        return table.path in self._unwritten

    def read(self, table: Table) -> DataFrame:
        """All rows of a table; it is made if it is not there."""
        self.ensure(table)
        frames = {} if self._frames is None else self._frames
        # What another thread commits meanwhile makes this one an older reading, not the newest.
        key = table.path, self._commits[table.path]
        rows = frames.get(key)
        if rows is None:
            rows = self.spark.table(self.name(table))
            if self.is_new(table):
                # What is known to be empty leaves the plan, and whatever would be joined to it.
                rows = nothing(self.spark, rows.schema)
            frames[key] = rows
        return rows

    def append(self, table: Table, rows: DataFrame, summary: Mapping[str, str]) -> None:
        """Add rows; ``summary`` stands in the same commit."""
        self.ensure(table)
        self._unwritten.discard(table.path)
        with_properties(rows.writeTo(self.name(table)), summary).append()
        self._commits[table.path] += 1

    def take_back(self, table: Table, batch: Batch) -> None:
        """Undo a batch, rows and offsets; and what upkeep did since, which it can do again."""
        if batch.parent is not None:
            parent = f"snapshot_id => {batch.parent}"
            call(self.spark, self.location, table, "rollback_to_snapshot", parent)
            return
        # Nothing was before the first batch, so there is no commit to go back to.
        empty = self.read(table).where("false").writeTo(self.name(table))
        with_properties(empty, properties(batch.number + 1, NOTHING)).overwrite(F.lit(True))

    def replace_minutes(self, table: Table, rows: DataFrame, minutes: Sequence[int]) -> None:
        """Put these rows in the place of those of the minutes, and of those about all time."""
        if table.layout is Layout.HOUR:
            others = self.read(table).where(_around(table, minutes) & ~in_minutes(minutes))
            rows = rows.unionByName(others)
        self.replace_around(table, rows, minutes)

    def around(self, table: Table, minutes: Sequence[int]) -> DataFrame:
        """The rows that are written anew with those of the minutes: these, and whatever is in the
        same partitions or about all time."""
        return self.read(table).where(_around(table, minutes) | F.col("minute").isNull())

    def replace_around(self, table: Table, rows: DataFrame, minutes: Sequence[int]) -> None:
        """Put these rows in the place of all of :meth:`around`."""
        self.replace(table, rows, _around(table, minutes) | F.col("minute").isNull())

    def replace(self, table: Table, rows: DataFrame, condition: Column) -> None:
        """Put these rows in the place of those that meet a condition, which whole files do."""
        self.ensure(table)
        self._unwritten.discard(table.path)
        rows.writeTo(self.name(table)).overwrite(condition)
        self._commits[table.path] += 1

    def replace_whole(self, table: Table, rows: DataFrame) -> None:
        """Put these rows in the place of all."""
        self.replace(table, rows, F.lit(True))

    def stretches(self, table: Table, since_us: int) -> DataFrame:
        """The stretches that were not told to be over at the beginning of an hour."""
        return self.read(table).where(_not_over(since_us))

    def replace_stretches(self, table: Table, rows: DataFrame, since_us: int) -> None:
        """Put these in their place."""
        self.replace(table, rows, _not_over(since_us))

    def snapshot(self, table: Table) -> int | None:
        """The newest commit of a table; None if there is none."""
        self.ensure(table)
        newest = handle(self.spark, self.name(table)).currentSnapshot()
        return None if newest is None else int(newest.snapshotId())

    def rows_written(self, table: Table) -> int:
        """How many rows its newest commit added."""
        newest = handle(self.spark, self.name(table)).currentSnapshot()
        return 0 if newest is None else int(newest.summary().get("added-records") or 0)

    def added(self, table: Table, since: int | None, until: int) -> DataFrame:
        """The rows that were added after a snapshot, up to another."""
        if since is None:
            return self.spark.read.option("versionAsOf", until).table(self.name(table))
        return (
            self.spark.read.format("iceberg")
            .option("start-snapshot-id", since)
            .option("end-snapshot-id", until)
            .load(self.name(table))
        )

    def has_snapshot(self, table: Table, snapshot: int) -> bool:
        """Whether a snapshot is still there: old ones expire."""
        return handle(self.spark, self.name(table)).snapshot(snapshot) is not None


def _not_over(since_us: int) -> Column:
    return F.col("told_until").isNull() | (F.col("told_until") >= literal(since_us))


def _around(table: Table, minutes: Sequence[int]) -> Column:
    """The partitions that hold the minutes."""
    if table.layout is not Layout.HOUR:
        return in_minutes(minutes)
    hours = sorted({minute - minute % HOUR_US for minute in minutes})
    return _within_any([(hour, hour + HOUR_US) for hour in hours])


def _within_any(spans: Iterable[Span]) -> Column:
    joined: list[Span] = []
    for begin, end in spans:
        if joined and joined[-1][1] == begin:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((begin, end))
    return in_ranges("minute", fewer(joined))  # whole hours: what is between them is written again


def _stream_partitions(table: Table) -> str:
    return {TRACE.path: "class, hours(time)", MESSAGES.path: "hours(timestamp)"}.get(table.path, "")


def _columns(table: Table) -> str:
    return ", ".join(f"`{name}` {kind}" for name, kind in columns_of(table.columns).items())


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")
