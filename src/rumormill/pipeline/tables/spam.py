"""Alerts about spam: peers that send what nobody wants, or the same over and over."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.tables.alert_rows import AlertParameters, alert
from rumormill.pipeline.tables.columns import is_other, share


def spam_of_refused(traffic: DataFrame, parameters: AlertParameters) -> DataFrame:
    """Much of what a peer sends is rejected or ignored by those who get it."""
    refused = F.col("rejected") + F.col("ignored")
    sent = (
        traffic.where(is_other("peer"))
        .groupBy("network", "minute", "peer")
        .agg(
            F.sum(refused).alias("refused"),
            F.sum(refused + F.col("delivered") + F.col("duplicates")).alias("sent"),
        )
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
        "%.0f %% of the %d messages that it sent were rejected or ignored; of the others', %.1f %%",
        F.col("share") * 100,
        F.col("sent"),
        F.col("usual") * 100,
    )
    return alert(found, "spam", words, node=F.col("peer"), minute=F.col("minute"))


def spam_of_copies(traffic: DataFrame, parameters: AlertParameters) -> DataFrame:
    """A peer sends the same messages over and over."""
    node = Window.partitionBy("network", "minute", "node")
    messages = F.sum(F.col("delivered") + F.col("published")).over(node)
    links = traffic.select(
        "network",
        "minute",
        "node",
        "peer",
        (F.col("delivered") + F.col("duplicates")).alias("copies"),
        messages.alias("messages"),
    ).where(is_other("peer"))
    found = links.where(
        (F.col("copies") >= parameters.spam_least_copies)
        & (F.col("copies") > parameters.spam_copies * F.col("messages"))
    )
    words = F.format_string(
        "sent %d copies to %s, which had %d messages in that minute",
        F.col("copies"),
        F.col("node"),
        F.col("messages"),
    )
    return alert(found, "spam", words, node=F.col("peer"), minute=F.col("minute"))
