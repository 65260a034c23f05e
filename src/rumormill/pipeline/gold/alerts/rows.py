"""What a row about an alert looks like."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F


def alert(
    found: DataFrame,
    kind: str,
    words: Column,
    *,
    topic: str | None = None,
    minute: str | None = None,
    node: str | None = None,
) -> DataFrame:
    """One row for each row of ``found``, with ``words`` about it; columns by their names."""

    def column(name: str | None, type_name: str) -> Column:
        return (F.lit(None) if name is None else F.col(name)).cast(type_name)

    return found.select(
        column(minute, "timestamp").alias("minute"),
        "network",
        column(topic, "string").alias("topic"),
        F.lit(kind).alias("kind"),
        column(node, "string").alias("node"),
        words.alias("detail"),
    )
