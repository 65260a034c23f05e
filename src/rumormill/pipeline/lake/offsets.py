"""How far the source was read: in the commit that added the rows, and so never beside the truth.

Each append to bronze carries the offsets behind its last record as a property of its snapshot.
Snapshots expire, and compaction adds new ones without the property; so :func:`mark` repeats the
offsets in an empty commit whenever the newest snapshot lacks them.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

PROPERTY: Final = "rumormill.offsets"
OPTION: Final = f"snapshot-property.{PROPERTY}"
"""For ``frame.writeTo(table).option(OPTION, offsets).append()``."""


def read_offsets(spark: SparkSession, table: str) -> str | None:
    """The offsets of the newest commit that has some; None if nothing was ever read.

    Only commits that led to the table as it is count: not those of a branch, nor those that were
    rolled back.
    """
    found = _history(spark, table).where(F.col("offsets").isNotNull()).limit(1).collect()
    return found[0]["offsets"] if found else None


def mark(spark: SparkSession, table: str) -> bool:
    """Repeat the offsets in an empty commit if the newest one lacks them; whether it had to."""
    newest = _history(spark, table).limit(1).collect()
    if not newest or newest[0]["offsets"] is not None:
        return False
    offsets = read_offsets(spark, table)
    if offsets is None:
        return False
    nothing = spark.table(table).where("false")
    nothing.writeTo(table).option(OPTION, offsets).append()
    return True


def _history(spark: SparkSession, table: str) -> DataFrame:
    """The table's own commits, newest first, with their offsets."""
    commits = spark.table(f"{table}.history").where("is_current_ancestor")
    summaries = spark.table(f"{table}.snapshots").select("snapshot_id", "summary")
    return (
        commits.join(summaries, "snapshot_id")
        .orderBy(F.col("made_current_at").desc())
        .select("snapshot_id", F.col("summary")[PROPERTY].alias("offsets"))
    )
