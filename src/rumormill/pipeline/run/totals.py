"""Sums over all time, kept by adding what is new and taking off what was there before."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import GoldTable

_GONE: Final = "__gone"
"""A column that no table has."""


def with_totals(gold: GoldTable, fresh: DataFrame, before: DataFrame, anew: Column) -> DataFrame:
    """The rows of some minutes, and the sums over all time with them.

    ``before``: the rows that these come in the place of, which are those of the minutes (that is
    ``anew``), the sums as they were, and what else is written again with them, as it is. All are of
    one table and are written in one commit, so a crash leaves the old sums with the old rows.
    """
    keys = ["minute", *gold.keys]
    nothing = F.lit(None).cast("timestamp")
    twice = fresh.withColumn("minute", F.explode(F.array(F.col("minute"), nothing)))
    # What is made anew is taken off the sums; of those, the minute is not known to be among these.
    # Asked once a row: there may be a hundred ranges of minutes.
    gone = F.col(_GONE)
    minute = F.when(~gone, F.col("minute")).alias("minute")
    counted = [F.when(gone, -F.col(name)).otherwise(F.col(name)).alias(name) for name in gold.sums]
    there = before.withColumn(_GONE, anew).select(minute, *gold.keys, *counted)
    every = twice.select(*keys, *gold.sums).unionByName(there)
    summed = every.groupBy(*keys).agg(*[F.sum(name).alias(name) for name in gold.sums])
    anything = F.greatest(*[F.abs(F.coalesce(name, F.lit(0))) for name in gold.sums], F.lit(0)) > 0
    return summed.where(F.col("minute").isNotNull() | anything)
