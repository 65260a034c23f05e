"""How often each kind of event happened."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import Tables, gold_table


@gold_table(columns="minute timestamp, network string, event string, count bigint", sums=("count",))
def events(tables: Tables) -> DataFrame:
    """More than there are rows of an event where what repeats was summed up."""
    counted = tables["counters"].groupBy("minute", "network", "event")
    return counted.agg(F.sum("count").alias("count"))
