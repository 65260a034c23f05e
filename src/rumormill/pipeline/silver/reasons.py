"""Why things happened: how often each reason was named, by link, topic and minute."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import REASONS
from rumormill.pipeline.silver.columns import as_declared, count_of_event, minute_of

_KEYS: Final = ("minute", "network", "node", "peer", "topic", "event", "reason")


def reasons(events: DataFrame) -> DataFrame:
    """One row for each node, peer, topic, minute, kind of event and reason that it named."""
    named = events.where("reason is not null").withColumn("minute", minute_of(F.col("time")))
    found = named.groupBy(*_KEYS).agg(F.sum(count_of_event()).alias("count"))
    return as_declared(found, REASONS.columns)
