"""What went over each link in each minute: packets, control messages, copies, rejections.

``counts`` come from the one look at every event of a trace (``digest.py``); ``counters``,
``traffic`` and the gold tables of peers, links and events are made from them.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import CONTROL, in_order, node_key
from rumormill.pipeline.tables.digest import counts_in, digest
from rumormill.pipeline.tables.digest_events import COUNT, Look
from rumormill.pipeline.tables.schema import SILVER


def counts(trace: DataFrame) -> DataFrame:
    """How often each kind of event happened on each link in each minute; batch or stream.

    Nodes are numbers here: see :func:`rumormill.pipeline.tables.digest.counts_in`.
    """
    return counts_in(digest(trace, Look(kinds=frozenset({COUNT}))))


def names(table: DataFrame) -> DataFrame:
    """Every node that is named in a trace (or in its history), with its number."""
    nodes = table.select("network", F.col("node").alias("name"))
    peers = table.select("network", F.col("peer").alias("name")).where("name is not null")
    return nodes.union(peers).distinct().withColumn("key", node_key("name"))


def counters(counts: DataFrame, names: DataFrame) -> DataFrame:
    """The same with names."""
    nodes = names.select("network", F.col("name").alias("node"), F.col("key").alias("node_key"))
    peers = names.select(F.col("name").alias("peer"), F.col("key").alias("peer_key"))
    found = counts.join(F.broadcast(nodes), "node_key")
    return in_order(found.join(F.broadcast(peers), "peer_key", "left"), SILVER["counters"])


def traffic(counters: DataFrame) -> DataFrame:
    """One row for each link and minute."""
    found = counters.groupBy("network", "node", "peer", "minute").agg(
        _of("packet_sent", "count").alias("sent_packets"),
        _of("packet_sent", "bytes").alias("sent_bytes"),
        _of("packet_received", "count").alias("received_packets"),
        _of("packet_received", "bytes").alias("received_bytes"),
        *[_of("packet_sent", name).alias(name) for name in CONTROL],
        (_of("dropped", "lost") - _of("dropped", "uncaptured")).alias("dropped"),
        _of("published", "count").alias("published"),
        _of("delivered", "count").alias("delivered"),
        _of("duplicate", "count").alias("duplicates"),
        _of("rejected", "count").alias("rejected"),
        _of("ignored", "count").alias("ignored"),
    )
    return in_order(found, SILVER["traffic"])


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
