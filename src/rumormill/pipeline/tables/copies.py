"""All copies of all messages as numbers, and what becomes of them at each node.

This is the one look at the events of messages, four fifths of a trace. Names and ids are long and
come again and again, so they are replaced by numbers on the way (64 bits of xxhash64) and put back
where one row is left of many.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import id_key, message_key, node_key, topic_key
from rumormill.pipeline.tables.propagation import (
    ASKED,
    DELIVERED,
    DUPLICATE,
    KINDS,
    PUBLISHED,
    propagation,
)

_COPIES: Final = ("delivered", "duplicate")


def copies(
    trace: DataFrame, published: DataFrame, *, latest_us: int | None = None, partitions: int = 8
) -> DataFrame:
    """What becomes of each message at each node, by their numbers.

    The columns are those of :data:`rumormill.pipeline.tables.propagation.OUTPUT`, and ``message``.
    ``published``: see :func:`rumormill.pipeline.tables.publications.published`. ``latest_us``: how
    far a copy may be from its publication and still be one of it. ``partitions`` hold whole
    messages, and each must fit into the memory of a Python worker.
    """
    event = F.col("event")
    kind = (
        F.when(event == "duplicate", DUPLICATE).when(event == "delivered", DELIVERED)
    ).otherwise(ASKED)
    events = trace.where(event.isin(*_COPIES, "asked"))
    rows = _rows(events, kind, "node", node_key("peer")).unionByName(
        _rows(published, F.lit(PUBLISHED), "publisher", F.lit(None).cast("long"))
    )
    found = propagation(rows, partitions, latest_us)
    return found.withColumn("message", F.xxhash64("id", "topic"))


def _rows(table: DataFrame, kind: Column, node: str, peer: Column) -> DataFrame:
    return table.select(
        id_key().alias("id"),
        topic_key().alias("topic"),
        node_key(node).alias("node_key"),
        peer.alias("peer_key"),
        (F.unix_micros("time") * KINDS + kind).alias("stamp"),
    )


def strangers(trace: DataFrame, copies: DataFrame) -> DataFrame | None:
    """Messages whose publication is not in the trace, as their copies describe them.

    None if there are none, which is usual: asking that is a small query, describing them another
    look at the whole trace.
    """
    wanted = copies.where("not known").select("message").distinct()
    if wanted.isEmpty():
        return None
    message = F.struct("topic", "message_id", "sender", "size")
    return (
        trace.where(F.col("event").isin(*_COPIES))
        .withColumn("message", message_key())
        .join(F.broadcast(wanted), "message", "left_semi")
        .groupBy("message")
        # Only deliveries tell the sender.
        .agg(F.max_by(message, F.col("sender").isNotNull()).alias("found"))
        .select("message", "found.*")
    )
