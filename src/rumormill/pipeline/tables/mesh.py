"""Who had whom in its mesh of a topic, from when to when."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order
from rumormill.pipeline.tables.schema import SILVER

_LINK: Final = ("network", "topic", "node", "peer")

PEER_LEFT: Final = "peer left"
NODE_LEFT: Final = "subscription ended"
"""Why a peer is in the mesh no longer, where no prune says it."""


_ENDS: Final = ("pruned", PEER_LEFT, NODE_LEFT)
"""In this order, if several happen at once: a prune says best why. A graft comes after them."""


def mesh(history: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """One row for each stretch of time in which ``node`` had ``peer`` in its mesh of a topic.

    It begins with ``grafted`` and ends with ``pruned``, with the peer's or with the node's end.
    """
    changes = _changes(history, subscriptions)
    grafted = F.col("event") == "grafted"
    place = F.array_position(F.array(*map(F.lit, _ENDS)), F.col("event"))
    order = Window.partitionBy(*_LINK).orderBy("time", grafted, place)
    # Whoever is in the mesh can be grafted again, to no effect.
    again = F.coalesce(grafted & (F.lag("event").over(order) == "grafted"), F.lit(False))
    found = (
        changes.withColumn("again", again)
        .where("not again")
        .select(
            *_LINK,
            "event",
            "by",
            F.col("time").alias("since"),
            F.lead("time").over(order).alias("until"),
            F.lead("reason").over(order).alias("reason"),
        )
        .where(grafted)
    )
    return in_order(found, SILVER["mesh"])


def _changes(history: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Every event that begins or ends a link."""
    told = history.where(F.col("event").isin("grafted", "pruned")).select(
        *_LINK, "time", "event", "reason", F.get_json_object("fields", "$.by").alias("by")
    )
    links = told.select(*_LINK).distinct()
    left = history.where("event = 'peer_left'").select("network", "node", "peer", "time")
    ended = subscriptions.where("until is not null").select(
        "network", "topic", "node", F.col("until").alias("time")
    )
    return told.unionByName(
        _ends(left.join(links, ["network", "node", "peer"]), PEER_LEFT)
    ).unionByName(_ends(ended.join(links, ["network", "topic", "node"]), NODE_LEFT))


def _ends(rows: DataFrame, reason: str) -> DataFrame:
    return rows.select(
        *_LINK,
        "time",
        F.lit(reason).alias("event"),
        F.lit(reason).alias("reason"),
        F.lit(None).cast("string").alias("by"),
    )
