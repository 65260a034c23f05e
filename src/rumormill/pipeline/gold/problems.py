"""What the trace leaves open, and what in it cannot be right."""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import Tables, gold_table

_OF_DELIVERIES: Final = {
    "negative_latency": (
        "negative",
        "deliveries are earlier than their publication; the clocks differ by more than the trace"
        " tells",
    ),
    "publication_unknown": (
        "unpublished",
        "deliveries are of messages whose publication is not in the trace: no latency",
    ),
    "hop_unknown": (
        "strayed",
        "deliveries came from peers that got the message in a way that the trace does not tell",
    ),
}
_CLOCKS: Final = (
    "nodes' clocks could not be compared with any other: no link carried copies both ways"
)
_LOST: Final = "records were lost on their way to a spool: what is counted here is too little"


@gold_table(
    columns="network string, topic string, kind string, count bigint, detail string",
    after=("latencies", "links", "clocks"),
)
def problems(tables: Tables) -> DataFrame:
    """One row for each kind of problem that a topic has (``topic`` null: the network)."""
    sums = (
        tables.totals("latencies")
        .groupBy("network", "topic")
        .agg(*[F.sum(column).alias(column) for column, _ in _OF_DELIVERIES.values()])
    )
    of_topics = [
        _rows(sums.withColumn("count", F.col(column)), kind, words)
        for kind, (column, words) in _OF_DELIVERIES.items()
    ]
    unknown = tables["clocks"].where("not estimated").groupBy("network").count()
    lost = tables.totals("links").groupBy("network").agg(F.sum("uncaptured").alias("count"))
    found = [
        *of_topics,
        _rows(_of_network(unknown), "clock_unknown", _CLOCKS),
        _rows(_of_network(lost), "captured_lost", _LOST),
    ]
    return reduce(DataFrame.unionByName, found)


def _of_network(counted: DataFrame) -> DataFrame:
    return counted.withColumn("topic", F.lit(None).cast("string"))


def _rows(counted: DataFrame, kind: str, words: str) -> DataFrame:
    detail = F.concat(F.col("count").cast("string"), F.lit(f" {words}"))
    return counted.where("count > 0").select(
        "network", "topic", F.lit(kind).alias("kind"), "count", detail.alias("detail")
    )
