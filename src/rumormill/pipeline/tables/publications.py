"""Every message that was published, and how many peers should have got it."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, message_key, minute_of
from rumormill.pipeline.tables.schema import SILVER


def published(history: DataFrame) -> DataFrame:
    """The ``published`` events, one a message: the first, if there are several."""
    rows = history.where("event = 'published' and message_id is not null").select(
        "network", "topic", "message_id", "node", "time", "size", message_key().alias("message")
    )
    first = F.min_by(F.struct("network", "topic", "message_id", "node", "time", "size"), "time")
    return (
        rows.groupBy("message")
        .agg(first.alias("first"))
        .select(
            "first.network",
            "first.topic",
            "first.message_id",
            F.col("first.node").alias("publisher"),
            "first.time",
            "first.size",
            minute_of(F.col("first.time")).alias("minute"),
            "message",
        )
    )


def publications(published: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """With the number of other nodes that were subscribed at the time."""
    members = subscriptions.select("network", "topic", "node", "since", "until")
    there = (
        (F.col("time") >= F.col("since"))
        & (F.col("until").isNull() | (F.col("time") < F.col("until")))
        & (F.col("node") != F.col("publisher"))
    )
    expected = (
        published.select("network", "topic", "publisher", "time", "message")
        .join(F.broadcast(members), ["network", "topic"])
        .where(there)
        .groupBy("message")
        .agg(F.count(F.lit(1)).alias("expected"))
    )
    found = published.join(expected, "message", "left").fillna(0, ["expected"])
    return in_order(found, SILVER["publications"])
