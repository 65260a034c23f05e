"""What nodes think of their peers, minute by minute."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.lake.schema import COMPONENTS, POINTS, Layout

_KEYS: Final = ("minute", "network", "node", "peer")
_TOLD: Final = ("time", "score", "level", *COMPONENTS)


@gold_table(
    columns="minute timestamp, network string, node string, peer string, told bigint,"
    f" score double, lowest double, highest double, level string, {POINTS}",
    layout=Layout.MINUTE,
)
def scores(tables: Tables) -> DataFrame:
    """One row for each node and peer whose score it told in a minute: how that ended, and why.

    A score is told when it has moved: where a minute has no row, that of an earlier one holds.
    """
    # Of several at one time the greater, so that nothing depends on the order of arrival.
    last = F.max(F.struct(*_TOLD)).alias("last")
    by_peer = tables["scored"].groupBy(*_KEYS)
    return by_peer.agg(
        F.count("*").alias("told"),
        F.min("score").alias("lowest"),
        F.max("score").alias("highest"),
        last,
    ).select(*_KEYS, "told", "lowest", "highest", *[f"last.{name}" for name in _TOLD[1:]])
