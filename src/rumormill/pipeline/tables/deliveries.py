"""Every message at every node that it came to: when, from whom, over how many hops."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, minute_of, node_key, topic_key
from rumormill.pipeline.tables.propagation import COPY
from rumormill.pipeline.tables.publications import LIMITS, is_expected
from rumormill.pipeline.tables.schema import SILVER


def deliveries(
    copies: DataFrame,
    publications: DataFrame,
    strangers: DataFrame | None,
    subscriptions: DataFrame,
    names: DataFrame,
    ahead: Mapping[int, int],
) -> DataFrame:
    """One row for each message and node other than its publisher.

    Of the messages in ``copies`` those in ``publications``, and in ``strangers`` those without one
    (see the file of that name). ``ahead``: what clocks are to be corrected by (``skew.py``).
    """
    found = _on_one_clock(copies.where(F.col("kind") == COPY), ahead)
    found = found.withColumnRenamed("topic", "topic_key")
    rows = _of_publications(found, publications)
    if strangers is not None:
        rows = rows.unionByName(_of_strangers(found, strangers))
    return in_order(_named(_with_expected(rows, subscriptions), names), SILVER["deliveries"])


def _named(rows: DataFrame, names: DataFrame) -> DataFrame:
    """Names for the numbers of nodes."""
    nodes = names.select(F.col("name").alias("node"), F.col("key").alias("node_key"), "network")
    peers = names.select(F.col("name").alias("peer"), F.col("key").alias("peer_key"))
    named = rows.join(F.broadcast(nodes), "node_key")
    return named.join(F.broadcast(peers), "peer_key", "left")


def _on_one_clock(copies: DataFrame, ahead: Mapping[int, int]) -> DataFrame:
    micros = F.col("time")
    if ahead:
        rows = list(ahead.items())
        wrong = copies.sparkSession.createDataFrame(rows, "node_key long, ahead long")
        copies = copies.join(F.broadcast(wrong), "node_key", "left")
        micros = micros - F.coalesce("ahead", F.lit(0))
    return copies.withColumn("time", F.timestamp_micros(micros)).drop("ahead")


def _of_publications(copies: DataFrame, publications: DataFrame) -> DataFrame:
    messages = publications.select(
        "topic",
        "message_id",
        "publisher",
        F.col("time").alias("published_at"),
        "size",
        "minute",
        "message",
    )
    return copies.where("known").join(messages, "message")


def _of_strangers(copies: DataFrame, strangers: DataFrame) -> DataFrame:
    """Neither latency nor hop is known."""
    messages = strangers.withColumnRenamed("sender", "publisher").withColumn(
        "published_at", F.lit(None).cast("timestamp")
    )
    joined = copies.where("not known").join(messages, "message")
    return joined.withColumn("minute", minute_of(F.col("time")))


def _with_expected(found: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Whether the node was expected to get what was published then, and the latency.

    Where that time is not known, nothing was expected: ``expected`` of no publication counts it.
    """
    there = is_expected(F.col("published_at"))
    # By their numbers: to compare the names of every row would take longer than all the rest.
    keys = {"node_key": node_key("node"), "topic_key": topic_key()}
    numbers = [key.alias(name) for name, key in keys.items()]
    members = F.broadcast(subscriptions.select(*numbers, *LIMITS)).alias("member")
    same = [F.col(f"found.{name}") == F.col(f"member.{name}") for name in keys]
    joined = found.alias("found").join(members, [*same, there], "left")
    latency = F.unix_micros("time") - F.unix_micros("published_at")
    return joined.select(
        "found.*",
        F.col("expected_since").isNotNull().alias("expected"),
        F.when(F.col("first"), latency / 1000).alias("latency_ms"),
    )
