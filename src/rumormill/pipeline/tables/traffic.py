"""What went over each link in each minute: packets, control messages, copies, rejections.

``counts`` is the one look at every event of a trace; ``counters``, ``traffic`` and the gold tables
of peers, links and events are made from it.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, minute_of, node_key
from rumormill.pipeline.tables.schema import SILVER

CONTROL: Final = ("messages", "ihave", "iwant", "graft", "prune")
"""What a packet may hold, as its event's ``fields`` count it."""


def counts(trace: DataFrame) -> DataFrame:
    """How often each kind of event happened on each link in each minute; batch or stream.

    Nodes are numbers here (``node_key``, ``peer_key``): names are long, and rows many.
    """
    sent = F.col("event") == "packet_sent"
    rows = trace.select(
        node_key("node").alias("node_key"),
        node_key("peer").alias("peer_key"),
        minute_of(F.col("time")).alias("minute"),
        "event",
        "time",
        F.col("size").alias("bytes"),
        F.when(F.col("event") == "dropped", F.coalesce("count", F.lit(1))).alias("lost"),
        F.when(sent, F.col("fields")).alias("fields"),
    )
    return (
        _with_contents(rows)
        .groupBy("node_key", "peer_key", "minute", "event")
        .agg(
            F.count("*").alias("count"),
            F.sum("bytes").alias("bytes"),
            F.sum("lost").alias("lost"),
            *[F.sum(name).alias(name) for name in CONTROL],
            F.min("time").alias("first_at"),
            F.max("time").alias("last_at"),
        )
    )


def _with_contents(rows: DataFrame) -> DataFrame:
    """What the packets hold: the same few descriptions over and over, so each is read once.

    A stream cannot be joined with itself, and reads each of them.
    """
    contents = F.from_json("fields", ", ".join(f"{name} long" for name in CONTROL))
    if rows.isStreaming:
        return rows.withColumn("held", contents).select("*", "held.*")
    known = (
        rows.where("fields is not null")
        .select("fields")
        .distinct()
        .select(F.xxhash64("fields").alias("fields_key"), contents.alias("held"))
        .select("fields_key", "held.*")
    )
    key = F.when(F.col("fields").isNotNull(), F.xxhash64("fields"))
    return rows.withColumn("fields_key", key).join(F.broadcast(known), "fields_key", "left")


def names(table: DataFrame) -> DataFrame:
    """Every node that is named in a trace (or in its history), with its number."""
    nodes = table.select("network", F.col("node").alias("name"))
    peers = table.select("network", F.col("peer").alias("name")).where("name is not null")
    return nodes.union(peers).distinct().withColumn("key", node_key("name"))


def all_named(numbers: DataFrame, names: DataFrame) -> bool:
    """Whether every ``node_key`` and ``peer_key`` has a name. Runs a small query."""
    keys = numbers.select(F.col("node_key").alias("key")).union(numbers.select("peer_key"))
    keys = keys.distinct()
    strange = keys.where("key is not null").join(F.broadcast(names), "key", "left_anti")
    return strange.isEmpty()


def counters(counts: DataFrame, names: DataFrame) -> DataFrame:
    """The same with names."""
    return in_order(_named(counts, names), SILVER["counters"])


def _named(numbers: DataFrame, names: DataFrame) -> DataFrame:
    nodes = names.select("network", F.col("name").alias("node"), F.col("key").alias("node_key"))
    peers = names.select(F.col("name").alias("peer"), F.col("key").alias("peer_key"))
    found = numbers.join(F.broadcast(nodes), "node_key")
    return found.join(F.broadcast(peers), "peer_key", "left")


def traffic(counts: DataFrame, names: DataFrame) -> DataFrame:
    """One row for each link and minute."""
    found = counts.groupBy("node_key", "peer_key", "minute").agg(
        _of("packet_sent", "count").alias("sent_packets"),
        _of("packet_sent", "bytes").alias("sent_bytes"),
        _of("packet_received", "count").alias("received_packets"),
        _of("packet_received", "bytes").alias("received_bytes"),
        *[_of("packet_sent", name).alias(name) for name in CONTROL],
        _of("dropped", "lost").alias("dropped"),
        _of("published", "count").alias("published"),
        _of("delivered", "count").alias("delivered"),
        _of("duplicate", "count").alias("duplicates"),
        _of("rejected", "count").alias("rejected"),
        _of("ignored", "count").alias("ignored"),
    )
    return in_order(_named(found, names), SILVER["traffic"])


def _of(event: str, column: str) -> Column:
    return F.coalesce(F.sum(F.when(F.col("event") == event, F.col(column))), F.lit(0))


def events(counters: DataFrame) -> DataFrame:
    """Gold: how many events of each kind there were."""
    return counters.groupBy("network", "event").agg(F.sum("count").alias("count"))


def activity(counters: DataFrame) -> DataFrame:
    """Between which times each node did anything, minute by minute."""
    return counters.groupBy("network", "node", "minute").agg(
        F.min("first_at").alias("first_at"), F.max("last_at").alias("last_at")
    )
