"""Exact percentiles of any number of rows, without collecting or sorting them all.

First all values are counted in bins; the counts say in which bin each percentile lies, and which
one of that bin's values it is. Then only the values of those few bins are looked at. Groups of
several sizes (a topic; a topic in a minute) share the counts.

The rule: of ``n`` values in order, counted from 0, the percentile ``f`` is number
``min(n - 1, floor(f * n))``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

BINS_PER_OCTAVE: Final = 32
"""Bins grow with the values: each is about two percent wide."""


def bin_of(value: Column) -> Column:
    """The bin of a whole number, also of one below zero."""
    place = F.floor(F.log2(F.abs(value) + 1) * BINS_PER_OCTAVE)
    return (F.signum(value) * place).cast("int")


def upper_end(number: Column) -> Column:
    """What no value in a bin exceeds."""
    size = F.pow(F.lit(2.0), F.when(number < 0, -number).otherwise(number + 1) / BINS_PER_OCTAVE)
    return F.when(number < 0, 1 - size).otherwise(size - 1)


def histogram(rows: DataFrame, keys: Sequence[str], value: str) -> DataFrame:
    """How many values each bin of each group has: keys, ``bin``, ``count``."""
    known = rows.where(F.col(value).isNotNull())
    return known.groupBy(*keys, bin_of(F.col(value)).alias("bin")).agg(F.count("*").alias("count"))


def cumulated(bins: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The same for fewer keys, with how many values lie ``before`` a bin, and in ``total``."""
    group = Window.partitionBy(*keys)
    before = group.orderBy("bin").rowsBetween(Window.unboundedPreceding, -1)
    return (
        bins.groupBy(*keys, "bin")
        .agg(F.sum("count").alias("count"))
        .withColumn("before", F.coalesce(F.sum("count").over(before), F.lit(0)))
        .withColumn("total", F.sum("count").over(group))
    )


def percentiles(
    rows: DataFrame, bins: DataFrame, keys: Sequence[str], value: str, wanted: Mapping[str, float]
) -> DataFrame:
    """One row a group: keys, and a column for each of ``wanted`` (name: fraction).

    ``bins``: the :func:`histogram` of the same values, by these keys and maybe others. Nulls do not
    count.
    """
    places = _places(cumulated(bins, keys), keys, wanted)
    # One number instead of many keys: rows are many, and most are in none of the bins.
    place = F.xxhash64(*keys, "bin")
    chosen = places.select(place.alias("place")).distinct()
    number = F.col(value)
    values = (
        rows.where(number.isNotNull())
        .withColumn("bin", bin_of(number))
        .select(place.alias("place"), value)
        .join(F.broadcast(chosen), "place", "left_semi")
        .groupBy("place")
        .agg(F.sort_array(F.collect_list(value)).alias("values"))
    )
    picked = F.element_at("values", (F.col("rank") + 1).cast("int"))
    each = [F.max(F.when(F.col("wanted") == name, picked)).alias(name) for name in wanted]
    return values.join(places.withColumn("place", place), "place").groupBy(*keys).agg(*each)


def _places(bins: DataFrame, keys: Sequence[str], wanted: Mapping[str, float]) -> DataFrame:
    """In which bin each percentile lies, and which one it is of that bin's values in order."""
    total = F.col("total")
    each = [
        F.struct(
            F.lit(name).alias("wanted"),
            F.least(total - 1, F.floor(total * fraction)).alias("number"),
        )
        for name, fraction in wanted.items()
    ]
    rank = F.col("each.number") - F.col("before")
    return (
        bins.withColumn("each", F.explode(F.array(*each)))
        .where("each.number >= before and each.number < before + count")
        .select(*keys, "bin", "each.wanted", rank.alias("rank"))
    )
