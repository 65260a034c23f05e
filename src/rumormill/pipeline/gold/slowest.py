"""The slowest message of each topic and minute, and the way that it took."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.measures import deliveries as row
from rumormill.pipeline.gold.measures.columns import number
from rumormill.pipeline.gold.registry import Tables, gold_table

COPIES: Final = 200
"""Of the way that a message took, so many copies at most."""

_TOPIC: Final = ("minute", "network", "topic")
_MESSAGE: Final = (*_TOPIC, "message_id")


@gold_table(
    columns="minute timestamp, network string, topic string, message_id binary, publisher string,"
    " published_at timestamp, slowest_ms double, reached bigint, expected bigint,"
    " tree array<struct<node: string, peer: string, hop: int, latency_ms: double>>",
)
def slowest(tables: Tables) -> DataFrame:
    """The message whose last expected first copy took longest; ``tree`` are its first copies.

    They are in the order in which they came. Of more than :data:`COPIES`, the earliest are there
    (so whoever handed one on is among them) and the last one.
    """
    deliveries = tables["deliveries"].where("published_at is not null")
    came = deliveries.where(row.came() & F.col("latency_ms").isNotNull())
    # In steps, as the largest number is found without sorting; the largest row would not be.
    longest = came.groupBy(*_TOPIC).agg(F.max("latency_ms").alias("slowest_ms"))
    last = came.join(F.broadcast(longest), list(_TOPIC)).where("latency_ms = slowest_ms")
    chosen = last.groupBy(*_TOPIC, "slowest_ms").agg(F.min("message_id").alias("message_id"))
    whole = deliveries.join(F.broadcast(chosen), list(_MESSAGE))
    step = F.struct("latency_ms", "hop", "node", "peer")
    return (
        whole.groupBy(*_MESSAGE, "slowest_ms")
        .agg(
            F.min("publisher").alias("publisher"),
            F.min("published_at").alias("published_at"),
            F.sum(number(row.delivered())).alias("reached"),
            F.sum(number(F.col("expected"))).alias("expected"),
            F.sort_array(F.collect_list(F.when(row.delivered(), step))).alias("copies"),
        )
        .withColumn("tree", F.transform(_shortened(F.col("copies")), _in_order))
    )


def _shortened(copies: Column) -> Column:
    few = F.concat(F.slice(copies, 1, COPIES - 1), F.slice(copies, -1, 1))
    return F.when(F.size(copies) > COPIES, few).otherwise(copies)


def _in_order(copy: Column) -> Column:
    return F.struct(copy["node"], copy["peer"], copy["hop"], copy["latency_ms"])
