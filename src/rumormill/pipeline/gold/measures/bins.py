"""Latencies in bins: numbers that can be added up over minutes, and taken off again.

A bin is 1.1 % wide. A percentile is that of the counts, by the rule of
:mod:`rumormill.core.percentiles`, and reads as the middle of its bin: within 0.6 % of the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rumormill.core.percentiles import EXACTLY

BINS_PER_OCTAVE: Final = 64


def bin_of(milliseconds: Column) -> Column:
    """The bin of a time: 0 for nothing, and as many below it as above."""
    micros = F.round(milliseconds * 1000).cast("long")
    size = F.floor(F.log2(F.abs(micros) + 1) * BINS_PER_OCTAVE)
    return (F.signum(micros.cast("double")) * size).cast("int")


def lower_end(number: Column) -> Column:
    """The least value of a bin, in milliseconds."""
    return F.when(number < 0, -_size(1 - number)).otherwise(_size(number))


def upper_end(number: Column) -> Column:
    """What no value of a bin exceeds, in milliseconds."""
    return F.when(number < 0, -_size(-number)).otherwise(_size(number + 1))


def middle(number: Column) -> Column:
    """The mean of the two ends of a bin, in milliseconds."""
    return (lower_end(number) + upper_end(number)) / 2


def _size(number: Column) -> Column:
    return (F.pow(F.lit(2.0), number / BINS_PER_OCTAVE) - 1) / 1000


def cumulated(bins: DataFrame, keys: Sequence[str]) -> DataFrame:
    """``bins`` (keys, ``bin``, ``count``) with how many values are ``before`` and in ``total``."""
    group = Window.partitionBy(*keys)
    before = group.orderBy("bin").rowsBetween(Window.unboundedPreceding, -1)
    return bins.withColumn("before", F.coalesce(F.sum("count").over(before), F.lit(0))).withColumn(
        "total", F.sum("count").over(group)
    )


def percentiles(wanted: Mapping[str, float]) -> list[Column]:
    """Aggregates over the rows of :func:`cumulated`: a column for each name and share."""
    return [_percentile(fraction).alias(name) for name, fraction in wanted.items()]


def _percentile(fraction: float) -> Column:
    place = F.greatest(F.lit(0), F.ceil(F.col("total") * (fraction * EXACTLY)) - 1)
    here = (F.col("before") <= place) & (place < F.col("before") + F.col("count"))
    return F.max(F.when(here, middle(F.col("bin"))))
