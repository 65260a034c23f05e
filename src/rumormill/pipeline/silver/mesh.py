"""Who had whom in its mesh of a topic, from when to when."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import MESH
from rumormill.pipeline.silver.columns import as_declared
from rumormill.pipeline.silver.stretches import (
    effective_end,
    ended_silently,
    in_runs,
    open_at,
    told,
)

LINK: Final = ("network", "topic", "node", "peer")

PEER_LEFT: Final = "peer left"
NODE_LEFT: Final = "subscription ended"
"""Why a peer is in the mesh no longer, where no prune says it."""


def mesh(rare: DataFrame, stored: DataFrame, runs: DataFrame, since_us: int) -> DataFrame:
    """All links that were not told to be over at ``since_us``; see ``stretches.py``.

    A link begins with ``grafted`` and ends with ``pruned``, with the peer's or the node's end.
    """
    changes = in_runs(_changes(rare, open_at(stored, since_us)), runs, "time")
    found = told(changes, LINK, "by").withColumns(
        {
            "until": effective_end(),
            "reason": F.when(ended_silently(), F.lit(NODE_LEFT)).otherwise(F.col("reason")),
        }
    )
    return as_declared(found, MESH.columns)


def _changes(rare: DataFrame, open_then: DataFrame) -> DataFrame:
    by = F.get_json_object("fields", "$.by")
    grafted = F.col("event") == "grafted"
    own = rare.where(F.col("event").isin("grafted", "pruned") & F.col("peer").isNotNull()).select(
        *LINK,
        "time",
        grafted.alias("begins"),
        F.lit(0).alias("place"),
        F.when(~grafted, F.col("reason")).alias("reason"),
        F.when(grafted, by).alias("by"),
    )
    before = open_then.select(
        *LINK,
        F.col("since").alias("time"),
        F.lit(True).alias("begins"),
        F.lit(0).alias("place"),
        F.lit(None).cast("string").alias("reason"),
        "by",
    )
    every = before.unionByName(own)
    links = every.select(*LINK).distinct()
    left = rare.where("event = 'peer_left'").select("network", "node", "peer", "time")
    over = rare.where("event = 'unsubscribed'").select("network", "topic", "node", "time")
    crashed = rare.where("event = 'node_crashed'").select("network", "node", "time")
    # At one instant a prune says best why.
    return (
        every.unionByName(_ends(left.join(links, ["network", "node", "peer"]), PEER_LEFT, 1))
        .unionByName(_ends(over.join(links, ["network", "topic", "node"]), NODE_LEFT, 2))
        .unionByName(_ends(crashed.join(links, ["network", "node"]), NODE_LEFT, 2))
    )


def _ends(rows: DataFrame, reason: str, place: int) -> DataFrame:
    return rows.select(
        *LINK,
        "time",
        F.lit(False).alias("begins"),
        F.lit(place).alias("place"),
        F.lit(reason).alias("reason"),
        F.lit(None).cast("string").alias("by"),
    )
