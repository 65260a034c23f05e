"""Exact percentiles of any number of rows, without collecting or sorting them all.

All values are laid into bins; their numbers say in which bin each percentile lies, and which one of
that bin's values it is. Then only the values of those few bins are put in order. Groups of several
sizes (a topic; a topic in a minute) share the bins.

The rule is that of :mod:`rumormill.core.percentiles`, in Spark's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rumormill.core.percentiles import EXACTLY
from rumormill.pipeline.tables.sums_of_deliveries import BINS_PER_OCTAVE


def upper_end(number: Column) -> Column:
    """What no value in a bin exceeds."""
    size = F.pow(F.lit(2.0), F.when(number < 0, -number).otherwise(number + 1) / BINS_PER_OCTAVE)
    return F.when(number < 0, 1 - size).otherwise(size - 1)


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


def percentiles(bins: DataFrame, keys: Sequence[str], wanted: Mapping[str, float]) -> DataFrame:
    """One row a group: keys, and a column for each of ``wanted`` (name: fraction).

    ``bins``: the values by these keys and maybe others, as in ``sums.py``.
    """
    places = _places(cumulated(bins, keys), keys, wanted)
    # One number instead of many keys: bins are many, and most are not among the chosen.
    place = F.xxhash64(*keys, "bin")
    chosen = places.select(place.alias("place")).distinct()
    values = (
        bins.select(place.alias("place"), "values")
        .join(F.broadcast(chosen), "place", "left_semi")
        .groupBy("place")
        .agg(F.sort_array(F.flatten(F.collect_list("values"))).alias("values"))
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
            F.greatest(F.lit(0), F.ceil(total * (fraction * EXACTLY)) - 1).alias("number"),
        )
        for name, fraction in wanted.items()
    ]
    rank = F.col("each.number") - F.col("before")
    return (
        bins.withColumn("each", F.explode(F.array(*each)))
        .where("each.number >= before and each.number < before + count")
        .select(*keys, "bin", "each.wanted", rank.alias("rank"))
    )
