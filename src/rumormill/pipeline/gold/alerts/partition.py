"""Alert: the mesh of a topic is in parts that nothing joins."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.alerts.parameters import AlertParameters
from rumormill.pipeline.gold.alerts.rows import alert


def partition(mesh_minutes: DataFrame, parameters: AlertParameters) -> DataFrame:
    """Nodes that were subscribed for the whole of a minute, and that no link of it joined.

    Not the parts of the usual graph of a minute: a trace that begins or ends has nodes without
    links for most of what it covers, and whoever comes late has none at first.
    """
    found = mesh_minutes.where(F.col("cut_off") >= max(1, parameters.partition_nodes))
    words = F.format_string(
        "%d of %d nodes are cut off from the largest part of the mesh, for the whole minute",
        F.col("cut_off"),
        F.col("nodes"),
    )
    return alert(found, "partition", words, topic="topic", minute="minute")
