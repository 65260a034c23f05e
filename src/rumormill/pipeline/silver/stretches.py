"""Stretches of time: from an event that begins something to the next that ends it.

They are made anew from an hour on (``since_us``), out of the stretches that were open then and the
events since; so late events mend them, and nobody has to read what is long over. Two ends are told
apart: ``told_until``, which events about the thing itself tell; and ``until``, which is earlier
where the node's run ended without a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.silver.columns import literal
from rumormill.pipeline.silver.runs import NODE


def open_at(stored: DataFrame, since_us: int) -> DataFrame:
    """The stretches that had begun and were not told to be over."""
    return stored.where(F.col("since") < literal(since_us))


def in_runs(rows: DataFrame, runs: DataFrame, time: str) -> DataFrame:
    """With the run that a time of a node is in: ``run`` (its begin), ``run_end`` if it is over."""
    ends = F.when(F.col("ended"), F.col("last_at"))
    known = runs.select(
        *NODE,
        F.col("since").alias("run"),
        ends.alias("run_end"),
        F.coalesce(
            F.lead("since").over(Window.partitionBy(*NODE).orderBy("since")),
            F.lit("9999-01-01").cast("timestamp"),
        ).alias("next_run"),
    )
    here = (
        (F.col("row.network") == F.col("run.network"))
        & (F.col("row.node") == F.col("run.node"))
        & (F.col(f"row.{time}") >= F.col("run.run"))
        & (F.col(f"row.{time}") < F.col("run.next_run"))
    )
    joined = rows.alias("row").join(F.broadcast(known).alias("run"), here, "left")
    return joined.select("row.*", "run.run", "run.run_end")


def told(changes: DataFrame, keys: Sequence[str], *carried: str) -> DataFrame:
    """From each beginning to the next change: ``since``, ``told_until``, ``ended_by``.

    ``changes``: keys, ``time``, ``begins``, ``place`` (in which order at one instant), ``reason``
    and ``run``. Beginning again within a run changes nothing. ``carried``: columns of beginnings.
    """
    order = Window.partitionBy(*keys).orderBy("time", "begins", "place")
    again = (
        F.col("begins")
        & F.lag("begins").over(order)
        & F.lag("run").over(order).eqNullSafe(F.col("run"))
    )
    changed = changes.withColumn("again", F.coalesce(again, F.lit(False))).where("not again")
    return (
        changed.select(
            *keys,
            *carried,
            "begins",
            "run_end",
            F.col("time").alias("since"),
            F.lead("time").over(order).alias("told_until"),
            F.when(~F.lead("begins").over(order), F.lead("reason").over(order)).alias("reason"),
        )
        .where("begins")
        .drop("begins")
    )


def effective_end() -> Column:
    """The told end, or that of the node's run, whichever comes first; never before the begin."""
    return F.when(
        F.col("run_end").isNotNull(),
        F.least(F.col("told_until"), F.greatest("since", "run_end")),
    ).otherwise(F.col("told_until"))


def ended_silently() -> Column:
    """Whether the run's end was the end."""
    return F.col("run_end").isNotNull() & (
        F.col("told_until").isNull() | (F.col("run_end") < F.col("told_until"))
    )
