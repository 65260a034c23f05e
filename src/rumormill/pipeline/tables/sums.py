"""What gold needs of deliveries, from one look at them.

    found = keep("_sums", sums(deliveries))
    sums_in(found), latencies_in(found), links_in(found), nodes_in(found), publishers_in(found)

Python workers do the adding: ``sums_of_deliveries.py``.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.sums_of_deliveries import (
    BIN,
    COLUMNS,
    LINK,
    NAMES,
    OUTPUT,
    PUBLISHER,
    SUM,
    sum_deliveries,
)
from rumormill.pipeline.tables.workers import ParquetFiles, Work, in_workers

_SUMS: Final = (
    "delivered",
    "unexpected",
    "duplicates",
    "payload",
    "recoveries",
    "negative",
    "unpublished",
)


def sums(deliveries: DataFrame, files: ParquetFiles | None = None) -> DataFrame:
    """All kinds of sums; columns in ``sums_of_deliveries.OUTPUT``."""
    work = Work(COLUMNS, NAMES, OUTPUT, sum_deliveries)
    found = in_workers(deliveries, work, files)
    return found.withColumn("minute", F.timestamp_micros("minute"))


def sums_in(sums: DataFrame) -> DataFrame:
    """What can be added up, by topic, minute and hop: all that most figures need of deliveries."""
    keys = ("network", "topic", "minute", "hop")
    return _summed(sums.where(F.col("kind") == SUM), keys, _SUMS)


def latencies_in(sums: DataFrame) -> DataFrame:
    """How long the expected deliveries took, in microseconds: by topic, minute and hop, in bins.

    ``values`` are all that ``count`` counts. Several rows may be about the same bin.
    """
    bins = sums.where(F.col("kind") == BIN)
    return bins.select("network", "topic", "minute", "hop", "bin", "count", "values")


def links_in(sums: DataFrame) -> DataFrame:
    """How many ``first`` copies each node had from each peer."""
    links = sums.where((F.col("kind") == LINK) & F.col("peer").isNotNull())
    return _summed(links, ("network", "node", "peer"), ("first",))


def nodes_in(sums: DataFrame) -> DataFrame:
    """How many messages ``came`` to each node that was expected to get them."""
    return _summed(sums.where(F.col("kind") == LINK), ("network", "node"), ("came",))


def publishers_in(sums: DataFrame) -> DataFrame:
    """How many of each publisher's messages ``came`` to those who expected them."""
    rows = sums.where(F.col("kind") == PUBLISHER)
    return _summed(rows, ("network", "topic", "publisher"), ("came",))


def _summed(rows: DataFrame, keys: tuple[str, ...], columns: tuple[str, ...]) -> DataFrame:
    return rows.groupBy(*keys).agg(*[F.sum(name).alias(name) for name in columns])
