"""What nodes told of the scores of their peers, each time that they did."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import POINTS, SCORED
from rumormill.pipeline.silver.columns import as_declared, minute_of


def scored(events: DataFrame) -> DataFrame:
    """One row for each ``scored`` event that names a peer and a score."""
    inside = F.from_json("fields", f"score double, level string, {POINTS}").alias("told")
    told = events.where("event = 'scored' and peer is not null").select("*", inside)
    found = told.select(
        minute_of(F.col("time")).alias("minute"), "network", "node", "peer", "time", "told.*"
    )
    return as_declared(found.where("score is not null"), SCORED.columns)
