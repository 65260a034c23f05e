"""Gold, by topic: delivery ratio, latency, copies, hops; whole, by minute, by hop, as a curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, share
from rumormill.pipeline.tables.percentiles import (
    cumulated,
    percentiles,
    upper_end,
)
from rumormill.pipeline.tables.schema import GOLD

TOPIC: Final = ("network", "topic")
TOPIC_MINUTE: Final = ("network", "topic", "minute")
HOP: Final = ("network", "topic", "hop")

LATENCIES: Final = {"latency_p50": 0.5, "latency_p90": 0.9, "latency_p99": 0.99, "latency_max": 1.0}
CURVE_POINTS: Final = 200


@dataclass(frozen=True)
class Measured:
    """What the figures of topics are made from."""

    publications: DataFrame
    traffic: DataFrame
    sums: DataFrame
    latencies: DataFrame
    """See ``sums.py``."""


def topics(measured: Measured) -> DataFrame:
    """One row a topic."""
    return in_order(_figures(measured, TOPIC), GOLD["topics"])


def topic_minutes(measured: Measured) -> DataFrame:
    """One row for each topic and minute of publication."""
    return in_order(_figures(measured, TOPIC_MINUTE), GOLD["topic_minutes"])


def _figures(measured: Measured, keys: Sequence[str]) -> DataFrame:
    published = measured.publications.groupBy(*keys).agg(
        F.count("*").alias("published"), F.sum("expected").alias("expected")
    )
    names = ("delivered", "unexpected", "duplicates", "payload", "recoveries")
    hops = F.sum(F.when(F.col("hop").isNotNull(), F.col("delivered")))
    delivered = measured.sums.groupBy(*keys).agg(
        *[F.sum(name).alias(name) for name in names],
        share(F.sum(F.col("hop") * F.col("delivered")), hops).alias("hops_mean"),
        F.max("hop").alias("hops_max"),
    )
    counts = ["published", "expected", "delivered", "unexpected", "duplicates", "recoveries"]
    both = published.join(delivered, list(keys), "full").fillna(0, counts)
    bytes_sent = F.col("payload") * F.coalesce("overhead", F.lit(1.0))
    return (
        both.join(_ranks(measured, keys, LATENCIES), list(keys), "left")
        .join(F.broadcast(_overhead(measured.sums, measured.traffic)), "network", "left")
        .select(
            "*",
            share(F.col("delivered") - F.col("unexpected"), F.col("expected")).alias("ratio"),
            share(F.col("duplicates"), F.col("delivered")).alias("duplicates_per_delivery"),
            share(bytes_sent, F.col("delivered")).alias("bytes_per_delivery"),
        )
    )


def _ranks(measured: Measured, keys: Sequence[str], wanted: Mapping[str, float]) -> DataFrame:
    """Percentiles of latency, in milliseconds."""
    ranks = percentiles(measured.latencies, keys, wanted)
    return ranks.select(*keys, *[(F.col(name) / 1000).alias(name) for name in wanted])


def _overhead(sums: DataFrame, traffic: DataFrame) -> DataFrame:
    """Bytes sent for each byte of payload; 1 where not all packets were traced, or none."""
    payload = sums.groupBy("network").agg(F.sum("payload").alias("all"))
    sent = traffic.groupBy("network").agg(F.sum("sent_bytes").alias("sent"))
    factor = share(F.col("sent"), F.col("all"))
    return payload.join(sent, "network").select(
        "network", F.greatest(F.lit(1.0), factor).alias("overhead")
    )


def hops(measured: Measured) -> DataFrame:
    """How many first copies came over how many hops, and how long that took."""
    known = measured.sums.where("hop is not null")
    counted = known.groupBy(*HOP).agg(F.sum("delivered").alias("deliveries"))
    found = counted.join(_ranks(measured, HOP, {"latency_p50": 0.5}), list(HOP), "left")
    return in_order(found, GOLD["hops"])


def latency_cdf(latencies: DataFrame) -> DataFrame:
    """Which share of the deliveries took at most so long: at most 201 points a topic."""
    up_to = share(F.col("before") + F.col("count"), F.col("total"))
    order = Window.partitionBy(*TOPIC).orderBy("bin")
    before = F.lag("step").over(order)
    found = (
        cumulated(latencies, TOPIC)
        .withColumn("share", up_to)
        .withColumn("step", F.floor(F.col("share") * CURVE_POINTS))
        .withColumn("new", before.isNull() | (before < F.col("step")))
        .where("new")
        .withColumn("latency_ms", upper_end(F.col("bin")) / 1000)
    )
    return in_order(found, GOLD["latency_cdf"])
