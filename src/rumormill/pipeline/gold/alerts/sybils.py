"""Alert: several peers at once lose the trust of nodes, by silence or by shared addresses.

One such peer is slow, or far away. Several in one minute are a crowd that came for the places in
meshes and hands nothing on, or one machine under many names. What else takes points from a peer it
did by itself, and ``misbehaviour`` and ``spam`` name it.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.alerts.parameters import AlertParameters
from rumormill.pipeline.gold.alerts.rows import alert

NAMED: Final = 3
"""Peers that an alert names."""

_WHY: Final = {
    "bring too few of the messages that they should": ("mesh_deliveries", "mesh_failures"),
    "share addresses": ("colocation",),
}
"""In words, and the parts of a score that it shows in."""


def sybils(scores: DataFrame, parameters: AlertParameters) -> DataFrame:
    """One row for each minute, network and reason."""
    why = [F.when(_points(parts) < 0, F.lit(words)) for words, parts in _WHY.items()]
    # A peer may be suspected of both: then it counts for each.
    suspects = scores.where("score < 0").withColumn("why", F.explode(F.array(*why)))
    found = (
        suspects.where("why is not null")
        .groupBy("minute", "network", "why")
        .agg(
            F.sort_array(F.collect_set("peer")).alias("peers"),
            F.size(F.collect_set("node")).alias("witnesses"),
            F.min("score").alias("lowest"),
        )
        .where(F.size("peers") >= parameters.sybils_peers)
    )
    words = F.format_string(
        "%d peers have scores below 0, down to %.1f, as they %s: %s; told by %d of the nodes",
        F.size("peers"),
        F.col("lowest"),
        F.col("why"),
        F.array_join(F.slice("peers", 1, NAMED), ", "),
        F.col("witnesses"),
    )
    return alert(found, "sybils", words, minute="minute")


def _points(parts: tuple[str, ...]) -> Column:
    return reduce(Column.__add__, [F.coalesce(part, F.lit(0.0)) for part in parts])
