"""Alerts about messages that are kept from others, over all time."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.gold.alerts.parameters import AlertParameters
from rumormill.pipeline.gold.alerts.rows import alert
from rumormill.pipeline.gold.measures.columns import is_other
from rumormill.pipeline.silver.columns import share


def censorship_of_publishers(
    publishers: DataFrame, links: DataFrame, parameters: AlertParameters
) -> DataFrame:
    """One publisher's messages reach far fewer of those who should get them."""
    topic = Window.partitionBy("network", "topic")
    came = F.col("expected") - F.col("missing")
    counted = publishers.withColumn("came", came)
    rated = (
        counted.withColumn("rest", F.sum("expected").over(topic) - F.col("expected"))
        .withColumn("rest_came", F.sum("came").over(topic) - F.col("came"))
        .where((F.col("expected") >= parameters.censorship_expected) & (F.col("rest") > 0))
        .withColumn("ratio", share(F.col("came"), F.col("expected")))
        .withColumn("usual", share(F.col("rest_came"), F.col("rest")))
    )
    # Two proportions compared, as in any book on statistics.
    all_expected = F.col("expected") + F.col("rest")
    pooled = share(F.col("came") + F.col("rest_came"), all_expected)
    spread = share(all_expected, F.col("expected") * F.col("rest"))
    deviation = F.sqrt(pooled * (1 - pooled) * spread)
    gap = F.col("usual") - F.col("ratio")
    found = rated.where(
        (gap > 0)
        & (gap >= parameters.censorship_gap)
        & (gap >= parameters.censorship_sigmas * deviation)
    ).join(F.broadcast(_overloaded(links, parameters)), ["network", "publisher"], "left_anti")
    words = F.format_string(
        "%.1f %% of its messages' deliveries took place; of the other publishers', %.1f %%",
        F.col("ratio") * 100,
        F.col("usual") * 100,
    )
    return alert(found, "censorship", words, node="publisher", topic="topic")


def _overloaded(links: DataFrame, parameters: AlertParameters) -> DataFrame:
    """Publishers that dropped much themselves, for want of room: that would explain the loss."""
    sums = links.groupBy("network", F.col("node").alias("publisher")).agg(
        F.sum("dropped").alias("dropped"), F.sum("published").alias("published")
    )
    return sums.where(F.col("dropped") > parameters.censorship_drops * F.col("published"))


def censorship_by_peers(links: DataFrame, parameters: AlertParameters) -> DataFrame:
    """A node gets messages from several peers, and hands on next to nothing.

    What others told it not to send (IDONTWANT), and what it dropped for want of room, counts as
    handed on: it was not kept back.
    """
    keys = ["network", "node"]
    others = links.where(is_other())
    got = others.groupBy(*keys).agg(
        F.sum("first").alias("got"),
        F.count_if(F.col("copies") > 0).alias("friends"),
        F.sum("dropped").alias("dropped"),
    )
    gave = others.groupBy("network", F.col("peer").alias("node")).agg(
        F.sum("copies").alias("copies"), F.sum("idontwant").alias("unwanted")
    )
    handed_on = F.col("copies") + F.col("unwanted") + F.col("dropped")
    rated = (
        got.join(gave, keys, "left")
        .fillna(0, ["copies", "unwanted"])
        .where(
            (F.col("got") >= parameters.censorship_deliveries)
            & (F.col("friends") >= parameters.censorship_mesh)
        )
        .withColumn("rate", share(handed_on, F.col("got")))
        .withColumn("usual", F.median("rate").over(Window.partitionBy("network")))
    )
    found = rated.where(F.col("rate") < parameters.censorship_copies * F.col("usual"))
    words = F.format_string(
        "hands on %.2f copies of each message that it gets; the node in the middle, %.2f",
        F.col("rate"),
        F.col("usual"),
    )
    return alert(found, "censorship", words, node="node")
