"""Alerts about censorship: messages that are kept from others."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.tables.alert_rows import AlertParameters, alert
from rumormill.pipeline.tables.columns import share


def censorship_of_publishers(
    publications: DataFrame,
    came: DataFrame,
    traffic: DataFrame,
    parameters: AlertParameters,
) -> DataFrame:
    """One publisher's messages reach far fewer of those who should get them."""
    keys = ["network", "topic", "publisher"]
    expected = publications.groupBy(*keys).agg(F.sum("expected").alias("expected"))
    both = expected.join(came, keys, "left").fillna(0, ["came"])
    topic = Window.partitionBy("network", "topic")
    rest = F.sum("expected").over(topic) - F.col("expected")
    rest_came = F.sum("came").over(topic) - F.col("came")
    rated = (
        both.withColumn("rest", rest)
        .withColumn("rest_came", rest_came)
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
        (gap >= parameters.censorship_gap) & (gap >= parameters.censorship_sigmas * deviation)
    ).join(_overloaded(traffic, parameters), ["network", "publisher"], "left_anti")
    words = F.format_string(
        "%.1f %% of its messages' deliveries took place; of the other publishers', %.1f %%",
        F.col("ratio") * 100,
        F.col("usual") * 100,
    )
    return alert(found, "censorship", words, node=F.col("publisher"), topic=F.col("topic"))


def _overloaded(traffic: DataFrame, parameters: AlertParameters) -> DataFrame:
    """Publishers that dropped much themselves, for want of room."""
    sums = traffic.groupBy("network", F.col("node").alias("publisher")).agg(
        F.sum("dropped").alias("dropped"), F.sum("published").alias("published")
    )
    return sums.where(F.col("dropped") > parameters.censorship_drops * F.col("published"))


def censorship_by_peers(
    links: DataFrame, mesh: DataFrame, parameters: AlertParameters
) -> DataFrame:
    """A peer gets messages, is in the meshes of others, and hands on next to nothing."""
    keys = ["network", "node"]
    got = links.groupBy(*keys).agg(F.sum("first").alias("got"))
    gave = links.groupBy("network", F.col("peer").alias("node")).agg(
        F.sum(F.col("first") + F.col("repeated")).alias("gave")
    )
    friends = mesh.groupBy("network", F.col("peer").alias("node")).agg(
        F.count_distinct("node").alias("friends")
    )
    rated = (
        got.join(friends, keys)
        .join(gave, keys, "left")
        .fillna(0, ["gave"])
        .where(
            (F.col("got") >= parameters.censorship_deliveries)
            & (F.col("friends") >= parameters.censorship_mesh)
        )
        .withColumn("rate", share(F.col("gave"), F.col("got")))
        .withColumn("usual", F.median("rate").over(Window.partitionBy("network")))
    )
    found = rated.where(F.col("rate") < parameters.censorship_copies * F.col("usual"))
    words = F.format_string(
        "hands on %.2f copies of each message that it gets; the node in the middle, %.2f",
        F.col("rate"),
        F.col("usual"),
    )
    return alert(found, "censorship", words, node=F.col("node"))
