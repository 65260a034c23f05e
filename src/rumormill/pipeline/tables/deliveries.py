"""Every message at every node that it came to: when, from whom, over how many hops."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import (
    SECOND_COPY,
    in_order,
    is_other,
    message_key,
    minute_of,
    name_key,
)
from rumormill.pipeline.tables.propagation import (
    ASKED,
    DELIVERED,
    PUBLISHED,
    REPEATED,
    propagation,
)
from rumormill.pipeline.tables.schema import SILVER


def deliveries(
    trace: DataFrame,
    publications: DataFrame,
    subscriptions: DataFrame,
    names: DataFrame,
    latest: int | None = None,
) -> DataFrame:
    """One row for each message and node other than its publisher.

    ``latest``: how many microseconds after its publication a copy counts as one of it.
    """
    known = propagation(_compact(trace, publications), latest)
    found = _readable(known, publications, names).unionByName(
        _without_publication(trace, publications, latest)
    )
    return in_order(_with_expected(found, subscriptions), SILVER["deliveries"])


def _compact(trace: DataFrame, publications: DataFrame) -> DataFrame:
    """The events that :mod:`propagation` needs, as numbers."""

    def rows(table: DataFrame, kind: int, peer: Column, value: Column) -> DataFrame:
        return table.select(
            "message",
            F.lit(kind).alias("kind"),
            name_key("node").alias("node"),
            peer.alias("peer"),
            F.unix_micros("time").alias("time"),
            value.cast("long").alias("value"),
        )

    nobody = F.lit(None).cast("long")
    published = publications.withColumnRenamed("publisher", "node")
    keyed = trace.withColumn("message", message_key())
    delivered = keyed.where("event = 'delivered'")
    # IWANT names no topic, so a message is known by its id alone.
    asked = trace.where("event = 'asked'").select("network", "message_id", "node", "peer", "time")
    asked = asked.join(
        publications.select("network", "message_id", "message"), ["network", "message_id"]
    )
    repeated = (
        keyed.where(F.col("event") == SECOND_COPY)
        .select("message", name_key("node").alias("node"))
        .groupBy("message", "node")
        .agg(F.count(F.lit(1)).alias("value"))
        .select("message", F.lit(REPEATED).alias("kind"), "node", nobody.alias("peer"),
                nobody.alias("time"), "value")
    )  # fmt: skip
    return (
        rows(published, PUBLISHED, nobody, F.col("size"))
        .unionByName(rows(delivered, DELIVERED, name_key("peer"), F.col("size")))
        .unionByName(rows(asked, ASKED, name_key("peer"), nobody))
        .unionByName(repeated)
    )


def _readable(known: DataFrame, publications: DataFrame, names: DataFrame) -> DataFrame:
    """Names for numbers, and what the publication tells."""
    messages = publications.select(
        "network",
        "topic",
        "message_id",
        "publisher",
        F.col("time").alias("published_at"),
        F.col("size").alias("published_size"),
        "minute",
        "message",
    )
    nodes = F.broadcast(names.select(F.col("name").alias("node"), F.col("key").alias("node_key")))
    peers = F.broadcast(names.select(F.col("name").alias("peer"), F.col("key").alias("peer_key")))
    numbered = known.withColumnsRenamed({"node": "node_key", "peer": "peer_key"})
    return (
        numbered.withColumn("time", F.timestamp_micros("time"))
        .join(messages, "message")
        .join(nodes, "node_key")
        .join(peers, "peer_key", "left")
        .withColumn("size", F.coalesce("published_size", "size"))
        .drop("node_key", "peer_key", "published_size")
    )


def _without_publication(
    trace: DataFrame, publications: DataFrame, latest: int | None
) -> DataFrame:
    """Messages whose publication is not in the trace: neither latency nor hop is known."""
    known = publications.select("message", F.col("time").alias("published_at"))
    condition = F.col("copy.message") == F.col("known.message")
    if latest is not None:
        apart = F.unix_micros("copy.time") - F.unix_micros("known.published_at")
        condition &= F.abs(apart) <= latest
    copies = (
        trace.where(F.col("event") == "delivered")
        .where(is_other("peer"))
        .withColumn("message", message_key())
        .alias("copy")
        .join(known.alias("known"), condition, "left_anti")
    )
    first = F.min_by(
        F.struct("network", "topic", "message_id", "sender", "peer", "time", "size"), "time"
    )
    return (
        copies.groupBy("message", "node")
        .agg(first.alias("first"), F.count(F.lit(1)).alias("copies"))
        .select(
            "first.network",
            "first.topic",
            "first.message_id",
            F.col("first.sender").alias("publisher"),
            "node",
            "first.peer",
            "first.time",
            F.lit(None).cast("timestamp").alias("published_at"),
            F.lit(None).cast("int").alias("hop"),
            F.lit(True).alias("first"),
            F.lit(False).alias("recovered"),
            "first.size",
            minute_of(F.col("first.time")).alias("minute"),
            (F.col("copies") - 1).alias("duplicates"),
            "message",
        )
    )


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
        (latency / 1000).alias("latency_ms"),
    )
