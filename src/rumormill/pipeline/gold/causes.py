"""Why things happened: what was refused, spared, dropped or ended, by reason."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import Tables, gold_table


@gold_table(
    columns="minute timestamp, network string, topic string, event string, reason string,"
    " count bigint",
    sums=("count",),
)
def causes(tables: Tables) -> DataFrame:
    """One row for each topic, kind of event and reason; ``topic`` is null for what names none."""
    named = tables["reasons"].groupBy("minute", "network", "topic", "event", "reason")
    return named.agg(F.sum("count").alias("count"))
