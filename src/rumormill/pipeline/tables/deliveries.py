"""Every message at every node that it came to: when, from whom, over how many hops."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, minute_of
from rumormill.pipeline.tables.propagation import COPY
from rumormill.pipeline.tables.schema import SILVER
from rumormill.pipeline.tables.skew import offsets


def deliveries(
    copies: DataFrame,
    publications: DataFrame,
    strangers: DataFrame | None,
    subscriptions: DataFrame,
    names: DataFrame,
    skew: DataFrame,
) -> DataFrame:
    """One row for each message and node other than its publisher.

    Of the messages in ``copies`` those in ``publications``, and in ``strangers`` (``copies.py``)
    those without one.
    """
    found = _on_one_clock(_named(copies.where(F.col("kind") == COPY), names), skew)
    rows = _of_publications(found, publications)
    if strangers is not None:
        rows = rows.unionByName(_of_strangers(found, strangers))
    return in_order(_with_expected(rows, subscriptions), SILVER["deliveries"])


def _named(copies: DataFrame, names: DataFrame) -> DataFrame:
    """Names for the numbers of nodes."""
    nodes = F.broadcast(
        names.select(F.col("name").alias("node"), F.col("key").alias("node_key"), "network")
    )
    peers = F.broadcast(names.select(F.col("name").alias("peer"), F.col("key").alias("peer_key")))
    return (
        copies.join(nodes, "node_key")
        .join(peers, "peer_key", "left")
        .drop("node_key", "peer_key", "kind", "id", "topic")
    )


def _on_one_clock(copies: DataFrame, skew: DataFrame) -> DataFrame:
    wrong = offsets(skew)
    micros = F.col("time")
    if wrong is not None:
        copies = copies.join(F.broadcast(wrong), ["network", "node"], "left")
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
    """Whether the node was subscribed when the message was published, and the latency.

    Where that time is not known, nothing was expected: ``expected`` of no publication counts it.
    """
    moment = F.col("published_at")
    there = (moment >= F.col("since")) & (F.col("until").isNull() | (moment < F.col("until")))
    keys = ["network", "topic", "node"]
    members = F.broadcast(subscriptions.select(*keys, "since", "until")).alias("member")
    same = [F.col(f"found.{key}") == F.col(f"member.{key}") for key in keys]
    joined = found.alias("found").join(members, [*same, there], "left")
    latency = F.unix_micros("time") - F.unix_micros("published_at")
    return joined.select(
        "found.*",
        F.col("since").isNotNull().alias("expected"),
        F.when(F.col("first"), latency / 1000).alias("latency_ms"),
    )
