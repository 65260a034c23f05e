"""Networks that promise the newest value: who has which value, and who is behind."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.silver.runs import NEWEST

_KEYS: Final = ("network", "topic", "node")


@gold_table(
    columns="network string, topic string, node string, value_at timestamp, had_at timestamp,"
    " newest_at timestamp, behind boolean",
    promise=NEWEST,
)
def values(tables: Tables) -> DataFrame:
    """One row for each node of a topic: when the newest value that it has was published.

    Made from its own earlier rows and what is new, so it costs the same after a month. A subscriber
    that never had a value is behind; whether one is that left the topic is not asked (null).
    """
    newest_only = F.col("promise") == NEWEST
    published = tables["publications"].where(newest_only)
    own = published.select(
        "network", "topic", F.col("publisher").alias("node"), _value("time", "time")
    )
    came = tables["deliveries"].where(newest_only & F.col("first"))
    came = came.where("published_at is not null").select(*_KEYS, _value("published_at", "time"))
    before = tables["values"]
    kept = before.where("value_at is not null").select(*_KEYS, _value("value_at", "had_at"))
    had = own.union(came).union(kept).groupBy(*_KEYS).agg(F.max("value").alias("value"))
    times = published.select("network", "topic", F.col("time").alias("newest_at")).union(
        before.select("network", "topic", "newest_at")
    )
    newest = times.groupBy("network", "topic").agg(F.max("newest_at").alias("newest_at"))
    open_still = tables["subscriptions"].where("until is null").select(*_KEYS).distinct()
    there = open_still.withColumn("subscribed", F.lit(True))
    behind = F.col("value_at").isNull() | (F.col("value_at") < F.col("newest_at"))
    had_at = F.timestamp_micros(-F.col("value.earlier"))
    return (
        had.join(there, list(_KEYS), "full")
        .join(F.broadcast(newest), ["network", "topic"])
        .select(*_KEYS, "value.value_at", had_at.alias("had_at"), "newest_at", "subscribed")
        .withColumn("behind", F.when(F.col("subscribed"), behind))
    )


def _value(published_at: str, had_at: str) -> Column:
    """The greatest is the newest, and of equally new ones that which the node had first."""
    earlier = -F.unix_micros(had_at)
    return F.struct(F.col(published_at).alias("value_at"), earlier.alias("earlier")).alias("value")
