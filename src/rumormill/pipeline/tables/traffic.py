"""What went over each link in each minute: packets, control messages, copies, rejections.

``counters`` is the one look at every event of a trace; ``traffic`` and the gold tables of peers,
links and events are made from it.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, minute_of
from rumormill.pipeline.tables.schema import SILVER

CONTROL: Final = ("messages", "ihave", "iwant", "graft", "prune")
"""What a packet may hold, as its event's ``fields`` count it."""

_LINK: Final = ("network", "node", "peer", "minute")


def counters(trace: DataFrame) -> DataFrame:
    """How often each kind of event happened on each link in each minute; batch or stream."""
    fields = F.when(
        F.col("event") == "packet_sent",
        F.from_json("fields", ", ".join(f"{name} long" for name in CONTROL)),
    )
    rows = trace.select(
        "network",
        "node",
        "peer",
        minute_of(F.col("time")).alias("minute"),
        "event",
        "time",
        F.col("size").alias("bytes"),
        F.when(F.col("event") == "dropped", F.coalesce("count", F.lit(1))).alias("lost"),
        fields.alias("fields"),
    )
    found = rows.groupBy(*_LINK, "event").agg(
        F.count(F.lit(1)).alias("count"),
        F.sum("bytes").alias("bytes"),
        F.sum("lost").alias("lost"),
        *[F.sum(f"fields.{name}").alias(name) for name in CONTROL],
        F.min("time").alias("first_at"),
        F.max("time").alias("last_at"),
    )
    return in_order(found, SILVER["counters"])


def traffic(counters: DataFrame) -> DataFrame:
    """One row for each link and minute."""
    found = counters.groupBy(*_LINK).agg(
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


def names(counters: DataFrame) -> DataFrame:
    """Every node that is named in a trace, with the number that stands for it in joins."""
    nodes = counters.select(F.col("node").alias("name"))
    peers = counters.select(F.col("peer").alias("name")).where("name is not null")
    return nodes.union(peers).distinct().select("name", F.xxhash64("name").alias("key"))
