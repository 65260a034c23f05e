"""How far the clocks of the nodes are apart, as far as first copies tell.

A first copy that A handed to B gives one sample of the way from A to B: B's time of receipt less
A's time of having the message, which is the delay plus what B's clock is ahead of A's. The least
of a minute is kept (table ``ways``). Clocks are compared by the ways of ten minutes; a clock is
corrected only where it is off by more than any unevenness of the links could explain. That takes a
way of less than nothing: without one, nothing is corrected, and nothing is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.clock_offsets import Way, clocks
from rumormill.pipeline.lake.schema import WAYS
from rumormill.pipeline.silver.columns import MINUTE_US, as_declared, in_minutes

WINDOW_MINUTES: Final = 10
"""The ways of so many minutes, up to that of the publication, are looked at."""

_OFFSETS: Final = "network string, minute timestamp, node string, ahead_us bigint"


def ways(deliveries: DataFrame) -> DataFrame:
    """The least time from each peer to each node, by minutes."""
    linked = deliveries.where("first and link_us is not null and peer is not null")
    found = linked.groupBy("minute", "network", "node", "peer").agg(
        F.min("link_us").alias("least_us")
    )
    return as_declared(found, WAYS.columns)


def window_of(minutes: Sequence[int]) -> list[int]:
    """The minutes whose ways count for the clocks of these."""
    before = range(WINDOW_MINUTES)
    return sorted({minute - number * MINUTE_US for minute in minutes for number in before})


def offsets(ways: DataFrame, minutes: Sequence[int]) -> DataFrame | None:
    """What clocks are to be corrected by in these minutes; None if by nothing.

    ``ways``: of :func:`window_of` these minutes.
    """
    uneven = ways.where("least_us < 0").select("network").distinct()
    if uneven.isEmpty():
        return None
    each = F.explode(
        F.sequence(
            "minute", F.col("minute") + F.expr(f"interval {WINDOW_MINUTES - 1} minutes"),
            F.expr("interval 1 minute"),
        )
    )  # fmt: skip
    looked_at = (
        ways.join(F.broadcast(uneven), "network", "left_semi")
        .withColumn("minute", each)
        .where(in_minutes(minutes))
        .groupBy("network", "minute", "node", "peer")
        .agg(F.min("least_us").alias("least_us"))
    )
    return looked_at.groupBy("network", "minute").applyInArrow(_solve, _OFFSETS)


def _solve(table: pa.Table) -> pa.Table:
    rows = table.to_pylist()
    network, minute = rows[0]["network"], rows[0]["minute"]
    found = clocks([Way(row["peer"], row["node"], row["least_us"]) for row in rows], [])
    wrong = {node: round(clock.offset_us) for node, clock in found.items() if clock.applied}
    return pa.table(
        {
            "network": pa.array([network] * len(wrong), pa.string()),
            "minute": pa.array([minute] * len(wrong), table.schema.field("minute").type),
            "node": pa.array(list(wrong), pa.string()),
            "ahead_us": pa.array(list(wrong.values()), pa.int64()),
        }
    )


def window_after(minutes: Sequence[int]) -> list[int]:
    """The minutes for whose clocks the ways of these count."""
    after = range(WINDOW_MINUTES)
    return sorted({minute + number * MINUTE_US for minute in minutes for number in after})
