"""All copies of all messages as numbers, and what becomes of them at each node.

This is the one look at the events of messages, four fifths of a trace. Names and ids are long and
come again and again, so they are replaced by numbers on the way (64 bits of xxhash64) and put back
where one row is left of many.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import message_key

_COPIES: Final = ("delivered", "duplicate")


def strangers(trace: DataFrame, copies: DataFrame) -> DataFrame | None:
    """Messages whose publication is not in the trace, as their copies describe them.

    None if there are none, which is usual: asking that is a small query, describing them another
    look at the whole trace.
    """
    wanted = copies.where("not known").select("message").distinct()
    if wanted.isEmpty():
        return None
    message = F.struct("topic", "message_id", "sender", "size")
    return (
        trace.where(F.col("event").isin(*_COPIES))
        .withColumn("message", message_key())
        .join(F.broadcast(wanted), "message", "left_semi")
        .groupBy("message")
        # Only deliveries tell the sender.
        .agg(F.max_by(message, F.col("sender").isNotNull()).alias("found"))
        .select("message", "found.*")
    )
