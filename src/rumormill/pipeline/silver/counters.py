"""How often each kind of event happened on each link in each minute."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import CONTROL, COUNTERS
from rumormill.pipeline.silver.columns import as_declared, count_of_event, minute_of

CAPTURED: Final = "captured_"
"""So begins what was dropped, if it was a record on its way to a spool (capture's ``losses``)."""


def counters(events: DataFrame) -> DataFrame:
    """One row for each node, peer, minute and kind of event."""
    count = count_of_event()
    dropped = F.col("event") == "dropped"
    what = F.when(dropped, F.get_json_object("fields", "$.what"))
    inside = ", ".join(f"{name} bigint" for name in CONTROL)
    held = F.when(F.col("event") == "packet_sent", F.from_json("fields", inside))
    named = F.when(F.col("event") == "exchange_sent", F.from_json("fields", "peers bigint"))
    found = (
        events.select(
            minute_of(F.col("time")).alias("minute"),
            "network",
            "node",
            "peer",
            "event",
            "time",
            "size",
            count.alias("count"),
            F.when(dropped, count).alias("lost"),
            F.when(what.startswith(CAPTURED), count).alias("uncaptured"),
            held.alias("held"),
            named["peers"].alias("exchanged"),
        )
        .groupBy("minute", "network", "node", "peer", "event")
        .agg(
            F.sum("count").alias("count"),
            F.sum("size").alias("bytes"),
            *[_sum(name, name) for name in ("lost", "uncaptured", "exchanged")],
            *[_sum(f"held.{name}", name) for name in CONTROL],
            F.min("time").alias("first_at"),
            F.max("time").alias("last_at"),
        )
    )
    return as_declared(found, COUNTERS.columns)


def _sum(column: str, name: str) -> Column:
    return F.coalesce(F.sum(column), F.lit(0)).alias(name)
