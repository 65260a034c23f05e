"""Alerts about peers that send what nobody wants, or the same over and over."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.gold.alerts.misbehaviour import breaks_rules
from rumormill.pipeline.gold.alerts.parameters import AlertParameters
from rumormill.pipeline.gold.alerts.rows import alert
from rumormill.pipeline.gold.measures.columns import is_other
from rumormill.pipeline.silver.columns import share


def spam_of_refused(links: DataFrame, reasons: DataFrame, parameters: AlertParameters) -> DataFrame:
    """Much of what a peer sends is rejected by those who get it.

    What is merely ignored is nobody's fault, and in some networks not even a message. Nor is it a
    message if a peer's conduct is rejected: that is taken off again.
    """
    refused, keys = F.col("rejected"), ("network", "minute", "peer")
    counted = links.where(is_other()).select(*keys, "rejected", "copies")
    conduct = reasons.where(is_other() & breaks_rules()).select(
        *keys, (-F.col("count")).alias("rejected"), F.lit(0).cast("long").alias("copies")
    )
    sent = (
        counted.unionByName(conduct)
        .groupBy(*keys)
        .agg(F.sum(refused).alias("refused"), F.sum(refused + F.col("copies")).alias("sent"))
    )
    minute = Window.partitionBy("network", "minute")
    others = F.sum("sent").over(minute) - F.col("sent")
    others_refused = F.sum("refused").over(minute) - F.col("refused")
    rated = sent.select(
        "*",
        share(F.col("refused"), F.col("sent")).alias("share"),
        F.coalesce(share(others_refused, others), F.lit(0.0)).alias("usual"),
    )
    found = rated.where(
        (F.col("refused") >= parameters.spam_events)
        & (F.col("share") >= parameters.spam_share)
        & (F.col("share") >= parameters.spam_factor * F.col("usual"))
    )
    words = F.format_string(
        "%.0f %% of the %d messages that it sent were rejected; of the others', %.1f %%",
        F.col("share") * 100,
        F.col("sent"),
        F.col("usual") * 100,
    )
    return alert(found, "spam", words, node="peer", minute="minute")


def spam_of_copies(links: DataFrame, parameters: AlertParameters) -> DataFrame:
    """A peer sends the same messages over and over."""
    node = Window.partitionBy("network", "minute", "node")
    messages = F.sum(F.col("delivered") + F.col("published")).over(node)
    counted = links.withColumn("messages", messages).where(is_other())
    found = counted.where(
        (F.col("copies") >= parameters.spam_least_copies)
        & (F.col("copies") > parameters.spam_copies * F.col("messages"))
    )
    words = F.format_string(
        "sent %d copies to %s, which had %d messages in that minute",
        F.col("copies"),
        F.col("node"),
        F.col("messages"),
    )
    return alert(found, "spam", words, node="peer", minute="minute")
