"""Exact percentiles of any number of rows, without collecting or sorting them all.

First all values are counted in narrow bins; the counts say in which bin each percentile lies, and
which one of that bin's values it is. Then only the values of those few bins are looked at.

The rule: of ``n`` values in order, counted from 0, the percentile ``f`` is number
``min(n - 1, floor(f * n))``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

BIN_US: Final = 256
"""Width of a bin. Values are whole microseconds."""


def histogram(rows: DataFrame, keys: Sequence[str], value: str) -> DataFrame:
    """How many values each bin of each group has, and how many lie before it.

    Columns: keys, ``bin``, ``count``, ``before``, ``total``.
    """
    counted = (
        rows.where(F.col(value).isNotNull())
        .groupBy(*keys, F.floor(F.col(value) / BIN_US).alias("bin"))
        .agg(F.count(F.lit(1)).alias("count"))
    )
    group = Window.partitionBy(*keys)
    before = group.orderBy("bin").rowsBetween(Window.unboundedPreceding, -1)
    return counted.select(
        *keys,
        "bin",
        "count",
        F.coalesce(F.sum("count").over(before), F.lit(0)).alias("before"),
        F.sum("count").over(group).alias("total"),
    )


def percentiles(
    rows: DataFrame, keys: Sequence[str], value: str, wanted: Mapping[str, float]
) -> DataFrame:
    """One row a group: keys, and a column for each of ``wanted`` (name: fraction).

    ``value`` is a column of whole numbers; nulls do not count.
    """
    places = _places(histogram(rows, keys, value), keys, wanted)
    bins = places.select(*keys, "bin").distinct()
    values = (
        rows.where(F.col(value).isNotNull())
        .withColumn("bin", F.floor(F.col(value) / BIN_US))
        .alias("left")
        .join(F.broadcast(bins).alias("right"), _same((*keys, "bin")), "left_semi")
        .groupBy(*keys, "bin")
        .agg(F.sort_array(F.collect_list(value)).alias("values"))
    )
    picked = F.element_at("values", (F.col("place") + 1).cast("int"))
    return (
        values.alias("left")
        .join(F.broadcast(places).alias("right"), _same((*keys, "bin")))
        .select(*[f"left.{key}" for key in keys], "wanted", picked.alias("picked"))
        .groupBy(*keys)
        .agg(
            *[
                F.max(F.when(F.col("wanted") == name, F.col("picked"))).alias(name)
                for name in wanted
            ]
        )
    )


def _places(bins: DataFrame, keys: Sequence[str], wanted: Mapping[str, float]) -> DataFrame:
    """In which bin each percentile lies, and which one it is of that bin's values in order."""
    total = F.col("total")
    each = F.explode(
        F.array(
            *[
                F.struct(
                    F.lit(name).alias("wanted"),
                    F.least(total - 1, F.floor(total * fraction)).alias("rank"),
                )
                for name, fraction in wanted.items()
            ]
        )
    )
    return (
        bins.select(*keys, "bin", "count", "before", each.alias("percentile"))
        .where("percentile.rank >= before and percentile.rank < before + count")
        .select(
            *keys,
            "bin",
            "percentile.wanted",
            (F.col("percentile.rank") - F.col("before")).alias("place"),
        )
    )


def _same(keys: Sequence[str]) -> list[Column]:
    """Equal keys; groups may have a null among theirs, and null is a group too."""
    return [F.col(f"left.{key}").eqNullSafe(F.col(f"right.{key}")) for key in keys]
