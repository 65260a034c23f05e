"""Which stretches of time changed, and so which minutes have to be made anew."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

ALWAYS = "9999-01-01"
"""Later than anything."""


def changed(
    before: DataFrame, after: DataFrame, keys: Sequence[str], begin: str, end: str, also: str | None
) -> DataFrame:
    """For stretches that differ, in which range of time: network, topic, ``from_at``, ``to_at``.

    ``begin`` and ``end``: the columns that count; ``also``: one more, a map.
    """
    same = [*keys, "since"]
    old = _side(before, same, begin, end, also, "old")
    new = _side(after, same, begin, end, also, "new")
    both = old.join(new, same, "full")
    there = F.col("old_begin").isNotNull() & F.col("new_begin").isNotNull()
    begins = F.col("old_begin") != F.col("new_begin")
    ends = F.col("old_end") != F.col("new_end")
    others = ~F.col("old_also").eqNullSafe(F.col("new_also"))
    begin_from, end_from = F.least("old_begin", "new_begin"), F.least("old_end", "new_end")
    begin_to, end_to = F.greatest("old_begin", "new_begin"), F.greatest("old_end", "new_end")
    whole = ~there | others
    return (
        both.where(whole | begins | ends)
        .select(
            "network",
            "topic",
            F.when(whole, F.least("since", begin_from))
            .when(begins, begin_from).otherwise(end_from).alias("from_at"),
            F.when(whole | ends, end_to).otherwise(begin_to).alias("to_at"),
        )
        .groupBy("network", "topic", "from_at", "to_at")
        .agg(F.count("*").alias("stretches"))
    )  # fmt: skip


def _side(
    rows: DataFrame, same: Sequence[str], begin: str, end: str, also: str | None, name: str
) -> DataFrame:
    more: Column = F.lit("")
    if also is not None:
        more = F.to_json(F.sort_array(F.map_entries(also)))
    return rows.select(
        *same,
        F.col(begin).alias(f"{name}_begin"),
        F.coalesce(F.col(end), F.lit(ALWAYS).cast("timestamp")).alias(f"{name}_end"),
        more.alias(f"{name}_also"),
    )
