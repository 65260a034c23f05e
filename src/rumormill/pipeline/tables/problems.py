"""Gold: what the trace leaves open, and what in it cannot be right."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order
from rumormill.pipeline.tables.schema import GOLD


def problems(deliveries: DataFrame, skew: DataFrame) -> DataFrame:
    """One row for each kind of problem of a topic (or of the network) that there is."""
    first = F.col("first")
    known = F.col("published_at").isNotNull()
    kinds = [
        (
            "negative_latency",
            first & (F.col("latency_ms") < 0),
            "deliveries are earlier than their publication; the clocks differ by more than the"
            " trace tells",
        ),
        (
            "publication_unknown",
            first & ~known,
            "deliveries are of messages whose publication is not in the trace: no latency",
        ),
        (
            "hop_unknown",
            first & known & F.col("hop").isNull(),
            "deliveries came from peers that got the message in a way that the trace does not tell",
        ),
    ]
    counts = [F.count_if(condition).alias(kind) for kind, condition, _ in kinds]
    rows = [_row(kind, F.col(kind), words) for kind, _, words in kinds]
    by_topic = (
        deliveries.groupBy("network", "topic")
        .agg(*counts)
        .select("network", "topic", F.explode(F.array(*rows)).alias("problem"))
    )
    unknown = skew.where("not estimated").groupBy("network").agg(F.count(F.lit(1)).alias("nodes"))
    words = "nodes' clocks could not be compared with any other: no link carried copies both ways"
    clocks = unknown.select(
        "network",
        F.lit(None).alias("topic"),
        _row("clock_unknown", F.col("nodes"), words).alias("problem"),
    )
    both = by_topic.unionByName(clocks).select("network", "topic", "problem.*").where("count > 0")
    return in_order(both, GOLD["problems"])


def _row(kind: str, count: Column, words: str) -> Column:
    return F.struct(
        F.lit(kind).alias("kind"),
        count.cast("long").alias("count"),
        F.concat(count.cast("string"), F.lit(f" {words}")).alias("detail"),
    )
