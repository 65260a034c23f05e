"""What the tables need of a trace, from one look at all its events.

    found = keep("_digest", digest(trace))
    counts_in(found), history_in(found), copies_in(found)

Python workers do the looking: ``digest_events.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import CONTROL
from rumormill.pipeline.tables.digest_events import (
    COLUMNS,
    COUNT,
    NAME,
    NAMES,
    OUTPUT,
    PACKED,
    RARE,
    Look,
    digest_events,
)
from rumormill.pipeline.tables.packed import unpack
from rumormill.pipeline.tables.propagation import OUTPUT as COPIES
from rumormill.pipeline.tables.propagation import spread
from rumormill.pipeline.tables.schema import HISTORY
from rumormill.pipeline.tables.workers import ParquetFiles, Work, in_workers

BATCH_ROWS: Final = 65_536
"""Rows that Spark is handed at a time."""

BUCKET_EVENTS: Final = 600_000
"""Events of a bucket, about: one Python worker follows the copies of one at a time."""
LEAST_BUCKETS: Final = 8


def buckets_for(events: int) -> int:
    """How many buckets the copies of so many events are spread over."""
    return max(LEAST_BUCKETS, math.ceil(events / BUCKET_EVENTS))


def digest(
    trace: DataFrame,
    look: Look = Look(),  # noqa: B008
    files: ParquetFiles | None = None,
) -> DataFrame:
    """One look at a trace, batch or stream; columns in ``digest_events.OUTPUT``."""

    def digested(events: pa.Table) -> Iterator[pa.RecordBatch]:
        return digest_events(events, look)

    return in_workers(trace, Work(COLUMNS, NAMES, OUTPUT, digested), files)


def counts_in(digest: DataFrame) -> DataFrame:
    """How often each kind of event happened on each link in each minute.

    Nodes are numbers here (``node_key``, ``peer_key``): names are long, and rows many.
    """
    sums = ("count", "bytes", "lost", "uncaptured", *CONTROL)
    return (
        digest.where(F.col("kind") == COUNT)
        .groupBy("node_key", "peer_key", "minute", "event")
        .agg(
            *[F.sum(name).alias(name) for name in sums],
            F.timestamp_micros(F.min("first_at")).alias("first_at"),
            F.timestamp_micros(F.max("last_at")).alias("last_at"),
        )
        .withColumn("minute", F.timestamp_micros("minute"))
    )


def names_in(digest: DataFrame) -> DataFrame:
    """Every node that is named, with its number."""
    named = digest.where(F.col("kind") == NAME)
    return named.select("network", F.col("node").alias("name"), F.col("node_key").alias("key"))


def history_in(digest: DataFrame) -> DataFrame:
    """The rare events that tables need from all time."""
    rare = digest.where(F.col("kind") == RARE).withColumn("time", F.timestamp_micros("time"))
    return rare.select(*HISTORY.names)


def copies_in(digest: DataFrame, buckets: int, latest_us: int | None = None) -> DataFrame:
    """What becomes of each message at each node, by their numbers.

    The columns are those of :data:`rumormill.pipeline.tables.propagation.OUTPUT`, and ``message``.
    ``latest_us``: how far a copy may be from its publication and still be one of it.
    """

    def follow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        packs = [packed.as_buffer() for batch in batches for packed in batch.column("packed")]
        if packs:
            found = spread(unpack(packs), latest_us)
            yield from found.to_batches(max_chunksize=BATCH_ROWS)

    packed = digest.where(F.col("kind") == PACKED).select("bucket", "packed")
    # A bucket for each worker: by hashes of their numbers, some workers would get three.
    found = packed.repartitionById(buckets, "bucket").mapInArrow(follow, COPIES)
    return found.withColumn("message", F.xxhash64("id", "topic"))
