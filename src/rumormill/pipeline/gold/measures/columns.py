"""Expressions that several gold tables share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.silver.columns import in_minutes
from rumormill.system.times import micros_of


def made_anew(minutes: Sequence[datetime]) -> Column:
    """Whether ``minute`` is among these."""
    return in_minutes(micros_of(minute) for minute in minutes)


def is_other(peer: str = "peer", node: str = "node") -> Column:
    """Whether ``peer`` is somebody else: own messages come from nobody, or from oneself."""
    return F.col(peer).isNotNull() & (F.col(peer) != F.col(node))


def number(condition: Column, value: Column | int = 1) -> Column:
    """A value where something holds, else (also where that is not known) 0: to be summed up."""
    chosen = F.lit(value) if isinstance(value, int) else value
    return F.when(condition, F.coalesce(chosen, F.lit(0))).otherwise(0).cast("long")


def with_sums(
    rows: DataFrame, keys: Sequence[str], sums: Iterable[str], made: Mapping[str, Column]
) -> DataFrame:
    """Keys and sums of each row, ready for a union: 0 where ``made`` says nothing."""
    zero = F.lit(0).cast("long")
    return rows.select(*keys, *[made.get(name, zero).alias(name) for name in sums])


def summed(rows: DataFrame, keys: Sequence[str], sums: Iterable[str]) -> DataFrame:
    """One row for each value of the keys."""
    return rows.groupBy(*keys).agg(*[F.sum(name).alias(name) for name in sums])
