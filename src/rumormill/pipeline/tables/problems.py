"""Gold: what the trace leaves open, and what in it cannot be right."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order
from rumormill.pipeline.tables.schema import GOLD


def problems(sums: DataFrame, skew: DataFrame, counters: DataFrame) -> DataFrame:
    """One row for each kind of problem of a topic (or of the network) that there is.

    ``sums``: see ``sums.py``.
    """
    strayed = F.when(F.col("hop").isNull(), F.col("delivered") - F.col("unpublished"))
    counted = sums.groupBy("network", "topic").agg(
        F.sum("negative").alias("negative"),
        F.sum("unpublished").alias("unpublished"),
        F.coalesce(F.sum(strayed), F.lit(0)).alias("strayed"),
    )
    rows = [
        _row(
            "negative_latency",
            F.col("negative"),
            "deliveries are earlier than their publication; the clocks differ by more than the"
            " trace tells",
        ),
        _row(
            "publication_unknown",
            F.col("unpublished"),
            "deliveries are of messages whose publication is not in the trace: no latency",
        ),
        _row(
            "hop_unknown",
            F.col("strayed"),
            "deliveries came from peers that got the message in a way that the trace does not tell",
        ),
    ]
    by_topic = counted.select("network", "topic", F.explode(F.array(*rows)).alias("problem"))
    unknown = skew.where("not estimated").groupBy("network").agg(F.count("*").alias("nodes"))
    words = "nodes' clocks could not be compared with any other: no link carried copies both ways"
    clocks = unknown.select(
        "network",
        F.lit(None).alias("topic"),
        _row("clock_unknown", F.col("nodes"), words).alias("problem"),
    )
    uncaptured = counters.groupBy("network").agg(F.sum("uncaptured").alias("records"))
    words = "records were lost on their way to a spool: what is counted here is too little"
    losses = uncaptured.select(
        "network",
        F.lit(None).alias("topic"),
        _row("captured_lost", F.coalesce("records", F.lit(0)), words).alias("problem"),
    )
    found = by_topic.unionByName(clocks).unionByName(losses)
    both = found.select("network", "topic", "problem.*")
    return in_order(both.where("count > 0"), GOLD["problems"])


def _row(kind: str, count: Column, words: str) -> Column:
    return F.struct(
        F.lit(kind).alias("kind"),
        count.cast("long").alias("count"),
        F.concat(count.cast("string"), F.lit(f" {words}")).alias("detail"),
    )
