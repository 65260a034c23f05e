"""Every message that was published, and how many peers should have got it."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, message_key, minute_of
from rumormill.pipeline.tables.schema import SILVER

LIMITS: Final = ("expected_since", "expected_until", "known_to")
"""Columns of a subscription that say which messages are expected."""


def published(history: DataFrame) -> DataFrame:
    """The ``published`` events, one a message: the first, if there are several."""
    told = ("network", "topic", "message_id", "node", "time", "size", "to_one")
    to_one = F.coalesce(F.get_json_object("fields", "$.mode") == "unicast", F.lit(False))
    rows = history.where("event = 'published' and message_id is not null")
    rows = rows.withColumns({"to_one": to_one, "message": message_key()})
    first = F.min_by(F.struct(*told), "time")
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
            "first.to_one",
        )
    )


def publications(published: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """With the number of other nodes that are expected to get each."""
    members = _each_member(published, subscriptions).groupBy("message").agg(F.count("*").alias("n"))
    # Of those that could get a message to one of them, one has to.
    expected = F.when(F.col("to_one"), F.least(F.col("n"), F.lit(1))).otherwise(F.col("n"))
    found = published.join(members, "message", "left").fillna(0, ["n"])
    return in_order(found.withColumn("expected", expected), SILVER["publications"])


def expected_of_nodes(
    publications: DataFrame, subscriptions: DataFrame, deliveries: DataFrame
) -> DataFrame:
    """How many messages are expected of each node; of those to one of many, what it got."""
    to_one = F.coalesce("to_one", F.lit(False))
    each = _each_member(publications.where(~to_one), subscriptions).select("network", "node")
    sent = publications.where(to_one).select("message")
    came = deliveries.where("first and expected").join(F.broadcast(sent), "message", "left_semi")
    every = each.unionByName(came.select("network", "node"))
    return every.groupBy("network", "node").agg(F.count(F.lit(1)).alias("expected"))


def is_expected(published_at: Column) -> Column:
    """Whether a message of that time, and of ``publisher``, is expected of a member of its topic.

    Of the member, :data:`LIMITS` have to be known.
    """
    until = F.col("expected_until")
    since = F.coalesce(F.element_at("known_to", F.col("publisher")), "expected_since")
    return (published_at >= since) & (until.isNull() | (published_at < until))


def _each_member(published: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row for each message and node of which it is expected: ``message``, ``node``."""
    members = subscriptions.select("network", "topic", "node", *LIMITS)
    return (
        published.select("network", "topic", "publisher", "time", "message")
        .join(F.broadcast(members), ["network", "topic"])
        .where(is_expected(F.col("time")) & (F.col("node") != F.col("publisher")))
    )
