"""Gold, by node and by link: who handed on how much, and whose messages were refused."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import in_order, is_other, share
from rumormill.pipeline.tables.schema import GOLD

_COUNTS: Final = tuple(
    field.name for field in GOLD["peers"] if field.dataType.simpleString() == "bigint"
)


def links(firsts: DataFrame, traffic: DataFrame) -> DataFrame:
    """What each ``peer`` sent to each ``node``: first copies, and further ones.

    ``firsts``: see :func:`rumormill.pipeline.tables.sums.links_in`.
    Among the further ones are those that came back to the publisher.
    """
    keys = ["network", "node", "peer"]
    copies = traffic.where(is_other("peer")).groupBy(*keys)
    counted = copies.agg(F.sum(F.col("delivered") + F.col("duplicates")).alias("copies"))
    found = counted.where("copies > 0").join(firsts, keys, "left").fillna(0, ["first"])
    repeated = (F.col("copies") - F.col("first")).alias("repeated")
    return in_order(found.select(*keys, "first", repeated), GOLD["links"])


def peers(links: DataFrame, traffic: DataFrame, expected: DataFrame, came: DataFrame) -> DataFrame:
    """One row a node, also for those that only others tell of.

    ``expected``: see :func:`rumormill.pipeline.tables.publications.expected_of_nodes`; ``came``:
    see :func:`rumormill.pipeline.tables.sums.nodes_in`.
    """
    lacking = expected.join(came, ["network", "node"], "left").fillna(0, ["came"])
    lacking = lacking.withColumn("missing", F.col("expected") - F.col("came")).drop("came")
    here = traffic.groupBy("network", "node").agg(
        F.sum("published").alias("published"),
        F.sum("rejected").alias("rejected_here"),
        F.sum("ignored").alias("ignored_here"),
        F.sum("dropped").alias("dropped_here"),
    )
    received = links.groupBy("network", "node").agg(
        F.sum("first").alias("delivered"), F.sum("repeated").alias("duplicates")
    )
    sent = links.groupBy("network", F.col("peer").alias("node")).agg(
        F.sum("first").alias("first_sent"), F.sum("repeated").alias("repeat_sent")
    )
    refused = (
        traffic.where(is_other("peer"))
        .groupBy("network", F.col("peer").alias("node"))
        .agg(F.sum("rejected").alias("rejected_by_others"))
    )
    found = here
    for other in (received, sent, refused, lacking):
        found = found.join(other, ["network", "node"], "full")
    all_first = F.sum("first_sent").over(Window.partitionBy("network"))
    found = found.fillna(0, list(_COUNTS)).withColumn(
        "contribution", share(F.col("first_sent"), all_first)
    )
    return in_order(found, GOLD["peers"])
