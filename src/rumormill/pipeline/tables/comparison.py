"""Two runs side by side."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order
from rumormill.pipeline.tables.schema import COMPARISON, GOLD

_KEYS: Final = ("network", "topic")
METRICS: Final = tuple(field.name for field in GOLD["topics"] if field.name not in _KEYS)


def compare(before: DataFrame, after: DataFrame) -> DataFrame:
    """Every figure of two runs' ``topics``, one row each.

    A topic that only one of the runs had is there too; the figures of the other are null.
    """
    old = _long(before, "before")
    new = _long(after, "after")
    change = F.col("after") - F.col("before")
    found = old.join(new, [*_KEYS, "metric"], "full").select(
        *_KEYS,
        "metric",
        "before",
        "after",
        change.alias("change"),
        F.when(F.col("before") != 0, change / F.abs("before")).alias("change_share"),
    )
    return in_order(found, COMPARISON)


def _long(topics: DataFrame, name: str) -> DataFrame:
    figures = [
        F.struct(F.lit(metric).alias("metric"), F.col(metric).cast("double").alias("value"))
        for metric in METRICS
    ]
    rows = topics.select(*_KEYS, F.explode(F.array(*figures)).alias("figure"))
    return rows.select(*_KEYS, "figure.metric", F.col("figure.value").alias(name))
