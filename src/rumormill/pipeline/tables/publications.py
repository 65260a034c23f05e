"""Every message that was published, and how many peers should have got it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
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
    """With the number of other nodes that are expected to get each."""
    expected = _each_expected(published, subscriptions).groupBy("message").count()
    found = published.join(expected, "message", "left").withColumnRenamed("count", "expected")
    return in_order(found.fillna(0, ["expected"]), SILVER["publications"])


def expected_of_nodes(publications: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """How many messages are expected of each node."""
    each = _each_expected(publications, subscriptions)
    return each.groupBy("network", "node").agg(F.count(F.lit(1)).alias("expected"))


def is_expected(published_at: Column) -> Column:
    """Whether a message of that time is expected of a member of its topic."""
    until = F.col("expected_until")
    return (published_at >= F.col("expected_since")) & (until.isNull() | (published_at < until))


def _each_expected(published: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row for each message and node that is expected to get it: ``message``, ``node``."""
    members = subscriptions.select("network", "topic", "node", "expected_since", "expected_until")
    return (
        published.select("network", "topic", "publisher", "time", "message")
        .join(F.broadcast(members), ["network", "topic"])
        .where(is_expected(F.col("time")) & (F.col("node") != F.col("publisher")))
    )
