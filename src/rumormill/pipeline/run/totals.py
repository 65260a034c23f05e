"""Sums over all time, kept by adding what is new and taking off what was there before."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import GoldTable


def with_totals(
    gold: GoldTable, fresh: DataFrame, before: DataFrame, totals: DataFrame
) -> DataFrame:
    """The rows of some minutes, and the sums over all time with them.

    ``before``: the rows that the fresh ones replace; ``totals``: the sums as they were. All are of
    one table and are written in one commit, so a crash leaves the old sums with the old rows.
    """
    keys = ["minute", *gold.keys]
    nothing = F.lit(None).cast("timestamp")
    twice = fresh.withColumn("minute", F.explode(F.array(F.col("minute"), nothing)))
    taken_off = [(-F.col(name)).alias(name) for name in gold.sums]
    less = before.select(nothing.alias("minute"), *gold.keys, *taken_off)
    columns = [*keys, *gold.sums]
    every = twice.select(*columns).unionByName(less).unionByName(totals.select(*columns))
    summed = every.groupBy(*keys).agg(*[F.sum(name).alias(name) for name in gold.sums])
    anything = F.greatest(*[F.abs(F.coalesce(name, F.lit(0))) for name in gold.sums], F.lit(0)) > 0
    return summed.where(F.col("minute").isNotNull() | anything)
