"""How far the source was read: in the commit that added the rows, and so never beside the truth.

Each append to bronze carries, as properties of its snapshot, the offsets behind its last record and
a number that only grows. Snapshots expire, so :func:`mark` repeats both in an empty commit before
the last ones that have them go. Whoever compacts beside a writer may repeat offsets that are no
longer the newest; therefore the highest number counts, not the newest commit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession
from pyspark.sql import functions as F

from rumormill.pipeline.lake.handle import handle

OFFSETS: Final = "rumormill.offsets"
BATCH: Final = "rumormill.batch"
PLANNED: Final = "rumormill.planned"
"""How many rows the commit must have added; it has none where records may be skipped."""

NOTHING: Final = "null"
"""The offsets of a table whose first batch was taken back."""


@dataclass(frozen=True)
class Batch:
    """A commit that says how far the source was read."""

    snapshot: int
    parent: int | None
    number: int
    offsets: str
    planned: int | None
    added: int


def properties(number: int, offsets: str, planned: int | None = None) -> dict[str, str]:
    """What the commit of a batch carries."""
    told = {OFFSETS: offsets, BATCH: str(number)}
    return told if planned is None else {**told, PLANNED: str(planned)}


def with_properties(writer: DataFrameWriterV2, told: Mapping[str, str]) -> DataFrameWriterV2:
    """A writer whose commit carries them."""
    for key, value in told.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    return writer


def last_batch(spark: SparkSession, table: str, newest: int | None = None) -> Batch | None:
    """The batch with the highest number; None if nothing was ever read.

    Only commits that led to the table as it is count: not those of a branch, nor those that were
    rolled back. ``newest``: only so many of them.
    """
    found = _commits(spark, table, newest).where("offsets is not null").limit(1).collect()
    return Batch(**found[0].asDict()) if found else None


def newest_batch(spark: SparkSession, table: str) -> Batch | None:
    """What the newest commit says, without a query; None if it says nothing of the source."""
    commit = handle(spark, table).currentSnapshot()
    told = {} if commit is None else dict(commit.summary())
    if OFFSETS not in told:
        return None
    return Batch(
        snapshot=commit.snapshotId(),
        parent=commit.parentId(),
        number=int(told.get(BATCH, 0)),
        offsets=told[OFFSETS],
        planned=int(told[PLANNED]) if PLANNED in told else None,
        added=int(told.get("added-records", 0)),
    )


def read_offsets(spark: SparkSession, table: str) -> str | None:
    """The offsets of the last batch."""
    last = last_batch(spark, table)
    return None if last is None else last.offsets


def mark(spark: SparkSession, table: str, newest: int) -> bool:
    """Repeat the offsets in an empty commit if none of the newest has them; whether it had to."""
    last, kept = last_batch(spark, table), last_batch(spark, table, newest)
    if last is None or (kept is not None and kept.number == last.number):
        return False
    empty = spark.table(table).where("false").writeTo(table)
    with_properties(empty, properties(last.number, last.offsets)).append()
    return True


def _commits(spark: SparkSession, table: str, newest: int | None) -> DataFrame:
    """The table's own commits, the last batch first, and each before what only repeats it."""
    history = spark.table(f"{table}.history").where("is_current_ancestor")
    own = history.groupBy("snapshot_id").agg(F.max("made_current_at").alias("at"))
    if newest is not None:
        own = own.orderBy(F.col("at").desc()).limit(newest)
    summary = F.col("summary")
    planned, added = summary[PLANNED].cast("bigint"), summary["added-records"].cast("bigint")
    return (
        spark.table(f"{table}.snapshots")
        .join(own, "snapshot_id")
        .select(
            F.col("snapshot_id").alias("snapshot"),
            F.col("parent_id").alias("parent"),
            F.coalesce(summary[BATCH].cast("bigint"), F.lit(0)).alias("number"),
            summary[OFFSETS].alias("offsets"),
            planned.alias("planned"),
            F.coalesce(added, F.lit(0)).alias("added"),
            F.coalesce(planned, added).isNotNull().alias("itself"),
            "at",
        )
        .orderBy(F.col("number").desc(), F.col("itself").desc(), F.col("at").desc())
        .drop("itself", "at")
    )
