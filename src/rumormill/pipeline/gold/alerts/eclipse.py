"""Alert: a node hears from next to nobody but one or two peers, while others hear from many.

What comes straight from publishers is no sign: whoever is next to them has it from them, and from
nobody else, in the calmest of networks. So of what a peer sent, as many copies are left out as it
published messages. Nor is it a sign that a node with two links hears from two peers, or that
everybody hears from the same side when there are few publishers.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.alerts.parameters import AlertParameters
from rumormill.pipeline.gold.alerts.rows import alert
from rumormill.pipeline.gold.measures.columns import is_other
from rumormill.pipeline.silver.columns import share

_MINUTE = ("minute", "network")


def eclipse(links: DataFrame, mesh: DataFrame, parameters: AlertParameters) -> DataFrame:
    """One row for each node and minute."""
    published = links.groupBy(*_MINUTE, F.col("node").alias("peer")).agg(
        F.sum("published").alias("own")
    )
    nodes = _nodes(links, published, parameters)
    around = _around(nodes, published, parameters)
    suspects = (
        nodes.join(F.broadcast(around), list(_MINUTE))
        .where(_is_suspect(parameters))
        .where(
            (F.col("usual") <= parameters.eclipse_usual)
            & (F.col("usual_links") >= parameters.eclipse_links)
            & (F.col("publishers") >= parameters.eclipse_publishers)
            & (F.col("nodes") >= parameters.eclipse_nodes)
            & (
                F.col("suspects")
                <= F.greatest(F.lit(1), F.col("nodes") * parameters.eclipse_rarely)
            )
        )
    )
    words = F.format_string(
        f"%.0f %% of the %d copies that were handed on to it came from at most"
        f" {parameters.eclipse_peers} of its %d peers; of the node in the middle, %.0f %%",
        F.col("share") * 100,
        F.col("relayed"),
        F.col("links"),
        F.col("usual") * 100,
    )
    found = _with_mesh(suspects, mesh).where(F.col("links") >= parameters.eclipse_links)
    return alert(found, "eclipse", words, node="node", minute="minute")


def _nodes(links: DataFrame, published: DataFrame, parameters: AlertParameters) -> DataFrame:
    """What each node heard in each minute, and from how many."""
    heard = (
        links.where(is_other())
        .select(*_MINUTE, "node", "peer", "copies", "delivered")
        .join(F.broadcast(published), [*_MINUTE, "peer"], "left")
        .withColumn("relayed", F.greatest(F.col("copies") - F.coalesce("own", F.lit(0)), F.lit(0)))
    )
    most = F.slice(F.sort_array(F.collect_list("relayed"), asc=False), 1, parameters.eclipse_peers)
    top = F.aggregate(most, F.lit(0).cast("long"), lambda a, b: a + b)
    return heard.groupBy(*_MINUTE, "node").agg(
        F.sum("delivered").alias("delivered"),
        F.sum("relayed").alias("relayed"),
        F.count(F.lit(1)).alias("links"),
        share(top, F.sum("relayed")).alias("share"),
    )


def _is_suspect(parameters: AlertParameters) -> Column:
    return (F.col("share") >= parameters.eclipse_share) & _heard_enough(parameters)


def _heard_enough(parameters: AlertParameters) -> Column:
    least = parameters.eclipse_copies
    return (F.col("delivered") >= least) & (F.col("relayed") >= least)


def _around(nodes: DataFrame, published: DataFrame, parameters: AlertParameters) -> DataFrame:
    """What is usual in the same network and minute."""
    heard = nodes.where(F.col("delivered") > 0)
    others = heard.groupBy(*_MINUTE).agg(
        F.count(F.lit(1)).alias("nodes"),
        F.median(F.when(_heard_enough(parameters), F.col("share"))).alias("usual"),
        F.median("links").alias("usual_links"),
        F.count_if(_is_suspect(parameters)).alias("suspects"),
    )
    # As many as would give the same concentration if all published alike.
    own = F.col("own").cast("double")
    alike = share(F.pow(F.sum(own), F.lit(2.0)), F.sum(own * own)).alias("publishers")
    return others.join(published.groupBy(*_MINUTE).agg(alike), list(_MINUTE))


def _with_mesh(suspects: DataFrame, mesh: DataFrame) -> DataFrame:
    """With the peers in its mesh as those it could hear from, where events tell of fewer."""
    stretches = mesh.select("network", "node", "peer", "since", "until")
    minute = F.col("minute")
    there = (F.col("since") < minute + F.expr("interval 1 minute")) & (
        F.coalesce("until", minute) >= minute
    )
    few = F.broadcast(suspects.select(*_MINUTE, "node"))
    meshed = (
        stretches.join(few, ["network", "node"])
        .where(there)
        .groupBy(*_MINUTE, "node")
        .agg(F.count_distinct("peer").alias("meshed"))
    )
    known = F.greatest("links", F.coalesce("meshed", F.lit(0)))
    joined = suspects.join(F.broadcast(meshed), [*_MINUTE, "node"], "left")
    return joined.withColumn("links", known)
