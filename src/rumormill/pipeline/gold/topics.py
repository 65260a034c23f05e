"""The figures of topics: delivery ratio, latency, copies, hops; by minute and over all time."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.measures.bins import cumulated, percentiles, upper_end
from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.silver.columns import share

_KEYS: Final = ("minute", "network", "topic", "promise")
_PERCENTILES: Final = {"latency_p50": 0.5, "latency_p90": 0.9, "latency_p99": 0.99}
_SUMS: Final = (
    "published", "expected", "delivered", "missing", "unexpected", "skipped", "duplicates",
    "payload", "recoveries",
)  # fmt: skip


@gold_table(
    columns="minute timestamp, network string, topic string, promise string, published bigint,"
    " expected bigint, delivered bigint, missing bigint, unexpected bigint, skipped bigint,"
    " ratio double, latency_p50 double, latency_p90 double, latency_p99 double,"
    " latency_max double, duplicates bigint, duplicates_per_delivery double, hops_mean double,"
    " hops_max int, bytes_per_delivery double, recoveries bigint",
    after=("latencies", "links"),
)
def topics(tables: Tables) -> DataFrame:
    """One row for each topic and minute of publication, and one for all time."""
    sums = tables["latencies"].unionByName(tables.totals("latencies"))
    figures = _figures(sums)
    bytes_sent = F.col("payload") * F.coalesce("overhead", F.lit(1.0))
    known = F.col("payload") > 0
    return _with_overhead(tables, figures, sums).select(
        "*",
        share(F.col("expected") - F.col("missing"), F.col("expected")).alias("ratio"),
        share(F.col("duplicates"), F.col("delivered")).alias("duplicates_per_delivery"),
        F.when(known, share(bytes_sent, F.col("delivered"))).alias("bytes_per_delivery"),
    )


def _figures(sums: DataFrame) -> DataFrame:
    """Sums, percentiles and hops of each topic, in one shuffle: that by topic serves all steps."""
    hop, delivered = F.col("hop"), F.col("delivered")
    # What has a bin and was not delivered was superseded: the newer value came after so long.
    timed = F.when(F.col("bin").isNotNull(), delivered + F.col("skipped")).otherwise(0)
    by_bin = (
        sums.repartition(*_KEYS)
        .groupBy(*_KEYS, "bin")
        .agg(
            F.sum(timed).alias("count"),
            *[F.sum(name).alias(name) for name in _SUMS],
            F.sum(hop * delivered).alias("hops"),
            F.sum(F.when(hop.isNotNull(), delivered)).alias("with_hop"),
            F.max(F.when(delivered > 0, hop)).alias("hops_max"),
        )
    )
    highest = F.max(F.when(F.col("count") > 0, upper_end(F.col("bin"))))
    return (
        cumulated(by_bin, _KEYS)
        .groupBy(*_KEYS)
        .agg(
            *[F.sum(name).alias(name) for name in _SUMS],
            *percentiles(_PERCENTILES),
            highest.alias("latency_max"),
            share(F.sum("hops"), F.sum("with_hop")).alias("hops_mean"),
            F.max("hops_max").alias("hops_max"),
        )
    )


def _with_overhead(tables: Tables, figures: DataFrame, sums: DataFrame) -> DataFrame:
    """With the bytes sent for each byte of payload: 1 where not all packets were traced."""
    keys = ["minute", "network"]
    links = (
        tables["links"]
        .select(*keys, "sent_bytes")
        .unionByName(tables.totals("links").select(*keys, "sent_bytes"))
    )
    sent = links.groupBy(*keys).agg(F.sum("sent_bytes").alias("sent"))
    payload = sums.groupBy(*keys).agg(F.sum("payload").alias("all"))
    both = _join(payload, sent)
    factor = F.greatest(F.lit(1.0), share(F.col("sent"), F.col("all")))
    return _join(figures, both.select(*keys, factor.alias("overhead")))


def _join(left: DataFrame, right: DataFrame) -> DataFrame:
    """By minute and network; no minute (all time) is a minute too."""
    other = right.withColumnsRenamed({"minute": "its_minute", "network": "its_network"})
    same = F.col("minute").eqNullSafe(F.col("its_minute")) & F.col("network").eqNullSafe(
        F.col("its_network")
    )
    return left.join(F.broadcast(other), same, "left").drop("its_minute", "its_network")
