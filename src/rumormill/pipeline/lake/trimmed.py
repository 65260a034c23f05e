"""Up to which time rows of bronze were removed, as a property of the table.

Minutes before it cannot be made anew: their events are gone, silver and gold still have them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from pyspark.sql import SparkSession

from rumormill.pipeline.lake.handle import handle
from rumormill.system.times import micros_of

PROPERTY: Final = "rumormill.trimmed-until"
"""Microseconds since 1970; it never goes back."""


def trimmed_until(spark: SparkSession, table: str) -> int | None:
    """Since when a table has all its rows; None if none was ever removed."""
    until = handle(spark, table).properties().get(PROPERTY)
    return None if until is None else int(until)


def will_trim(spark: SparkSession, table: str, border: datetime) -> None:
    """Say that rows before a time go. Before they do: whoever sees them gone knows it."""
    until, known = micros_of(border), trimmed_until(spark, table)
    if known is None or known < until:
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('{PROPERTY}' = '{until}')")
