"""Every message that was published."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import PUBLICATIONS
from rumormill.pipeline.silver.columns import as_declared, minute_of
from rumormill.pipeline.silver.runs import EVERY, ONE

MESSAGE: Final = ("network", "topic", "message_id")


def publications(rare: DataFrame, promises: DataFrame, margin_us: int) -> DataFrame:
    """One row for each ``published`` event that no other of its message precedes by the margin.

    ``promises``: what each network promises (``runs.py``); a message to one subscriber says so.
    """
    rows = rare.where("event = 'published' and message_id is not null")
    order = Window.partitionBy(*MESSAGE).orderBy("time", "node")
    before = F.unix_micros(F.lag("time").over(order))
    again = F.coalesce(F.unix_micros("time") - before <= margin_us, F.lit(False))
    to_one = F.get_json_object("fields", "$.mode") == "unicast"
    promise = F.when(to_one, ONE).otherwise(F.coalesce("network_promise", F.lit(EVERY)))
    found = (
        rows.withColumn("again", again)
        .where("not again")
        .join(F.broadcast(promises), "network", "left")
        .withColumns(
            {
                "minute": minute_of(F.col("time")),
                "publisher": F.col("node"),
                "promise": promise,
            }
        )
    )
    return as_declared(found, PUBLICATIONS.columns)
