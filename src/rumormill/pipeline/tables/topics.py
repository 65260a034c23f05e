"""Gold, by topic: delivery ratio, latency, copies, hops; whole, by minute, by hop, as a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, share
from rumormill.pipeline.tables.percentiles import BIN_US, histogram, percentiles
from rumormill.pipeline.tables.schema import GOLD

TOPIC: Final = ("network", "topic")
TOPIC_MINUTE: Final = ("network", "topic", "minute")

LATENCIES: Final = {"latency_p50": 0.5, "latency_p90": 0.9, "latency_p99": 0.99, "latency_max": 1.0}
CURVE_POINTS: Final = 200


def topics(publications: DataFrame, deliveries: DataFrame, traffic: DataFrame) -> DataFrame:
    """One row a topic."""
    found = _figures(publications, deliveries, traffic, TOPIC)
    return in_order(found, GOLD["topics"])


def topic_minutes(publications: DataFrame, deliveries: DataFrame, traffic: DataFrame) -> DataFrame:
    """One row for each topic and minute of publication."""
    found = _figures(publications, deliveries, traffic, TOPIC_MINUTE)
    return in_order(found, GOLD["topic_minutes"])


def _figures(
    publications: DataFrame, deliveries: DataFrame, traffic: DataFrame, keys: Sequence[str]
) -> DataFrame:
    published = publications.groupBy(*keys).agg(
        F.count(F.lit(1)).alias("published"), F.sum("expected").alias("expected")
    )
    first = F.col("first")
    delivered = deliveries.groupBy(*keys).agg(
        F.count_if(first).alias("delivered"),
        F.count_if(first & ~F.col("expected")).alias("unexpected"),
        F.sum("duplicates").alias("duplicates"),
        F.avg("hop").alias("hops_mean"),
        F.max("hop").alias("hops_max"),
        F.sum(_copies() * F.col("size")).alias("payload"),
        F.count_if(first & F.col("recovered")).alias("recoveries"),
    )
    both = published.join(delivered, list(keys), "full").fillna(
        0, ["published", "expected", "delivered", "unexpected", "duplicates", "recoveries"]
    )
    ranks = _latencies(deliveries, keys)
    same = [F.col(f"figures.{key}").eqNullSafe(F.col(f"ranks.{key}")) for key in keys]
    joined = both.alias("figures").join(ranks.alias("ranks"), same, "left")
    overhead = _overhead(deliveries, traffic)
    found = joined.select("figures.*", *[F.col(f"ranks.{name}") for name in LATENCIES])
    return found.join(F.broadcast(overhead), "network", "left").select(
        "*",
        share(F.col("delivered") - F.col("unexpected"), F.col("expected")).alias("ratio"),
        share(F.col("duplicates"), F.col("delivered")).alias("duplicates_per_delivery"),
        share(F.col("payload") * F.coalesce("overhead", F.lit(1.0)), F.col("delivered")).alias(
            "bytes_per_delivery"
        ),
    )


def _copies() -> Column:
    return F.col("duplicates") + F.col("first").cast("long")


def _latencies(deliveries: DataFrame, keys: Sequence[str]) -> DataFrame:
    ranks = percentiles(_with_micros(deliveries), keys, "latency_us", LATENCIES)
    return ranks.select(*keys, *[(F.col(name) / 1000).alias(name) for name in LATENCIES])


def _with_micros(deliveries: DataFrame) -> DataFrame:
    return deliveries.where("first").withColumn(
        "latency_us", F.round(F.col("latency_ms") * 1000).cast("long")
    )


def _overhead(deliveries: DataFrame, traffic: DataFrame) -> DataFrame:
    """Bytes sent for each byte of payload; 1 where not all packets were traced, or none."""
    payload = deliveries.groupBy("network").agg(F.sum(_copies() * F.col("size")).alias("all"))
    sent = traffic.groupBy("network").agg(F.sum("sent_bytes").alias("sent"))
    factor = share(F.col("sent"), F.col("all"))
    return payload.join(sent, "network").select(
        "network", F.greatest(F.lit(1.0), factor).alias("overhead")
    )


def hops(deliveries: DataFrame) -> DataFrame:
    """How many first copies came over how many hops, and how long that took."""
    keys = (*TOPIC, "hop")
    known = _with_micros(deliveries).where("hop is not null")
    counted = known.groupBy(*keys).agg(F.count(F.lit(1)).alias("deliveries"))
    medians = percentiles(known, keys, "latency_us", {"median": 0.5})
    found = counted.join(medians, list(keys), "left").withColumn(
        "latency_p50", F.col("median") / 1000
    )
    return in_order(found, GOLD["hops"])


def latency_cdf(deliveries: DataFrame) -> DataFrame:
    """Which share of the deliveries took at most so long: at most 200 points a topic."""
    bins = histogram(_with_micros(deliveries), TOPIC, "latency_us")
    up_to = share(F.col("before") + F.col("count"), F.col("total"))
    order = Window.partitionBy(*TOPIC).orderBy("bin")
    step = F.floor(F.col("share") * CURVE_POINTS)
    points = bins.withColumn("share", up_to).withColumn("step", step)
    new = F.lag("step").over(order).isNull() | (F.lag("step").over(order) < F.col("step"))
    found = points.withColumn("new", new).where("new")
    # Everything in a bin is below its upper end.
    latency = ((F.col("bin") + 1) * BIN_US / 1000).alias("latency_ms")
    return in_order(found.select(*TOPIC, latency, "share"), GOLD["latency_cdf"])
