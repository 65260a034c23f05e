"""Gold: what looks like trouble. Each alert says what was seen and what is usual."""

from __future__ import annotations

from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.tables.alert_rows import AlertParameters, alert
from rumormill.pipeline.tables.censorship import censorship_by_peers, censorship_of_publishers
from rumormill.pipeline.tables.columns import is_other, share
from rumormill.pipeline.tables.spam import spam_of_copies, spam_of_refused


def alerts(
    publications: DataFrame,
    came: DataFrame,
    mesh: DataFrame,
    traffic: DataFrame,
    links: DataFrame,
    mesh_minutes: DataFrame,
    parameters: AlertParameters = AlertParameters(),  # noqa: B008
) -> DataFrame:
    """All alerts; ``came`` is :func:`rumormill.pipeline.tables.sums.publishers_in`.

    ``minute`` and ``topic`` are null where one is about all of them.
    """
    kinds = [
        partition(mesh_minutes, parameters),
        eclipse(traffic, parameters),
        censorship_of_publishers(publications, came, traffic, parameters),
        censorship_by_peers(links, mesh, parameters),
        spam_of_refused(traffic, parameters),
        spam_of_copies(traffic, parameters),
    ]
    return reduce(DataFrame.unionByName, kinds)


def partition(mesh_minutes: DataFrame, parameters: AlertParameters) -> DataFrame:
    """The mesh of a topic falls into parts that each have subscribers."""
    apart = F.col("nodes") - F.col("largest")
    found = mesh_minutes.where((F.col("components") > 1) & (apart >= parameters.partition_nodes))
    words = F.format_string(
        "the mesh has %d parts; %d of %d nodes are cut off from the largest",
        F.col("components"),
        apart,
        F.col("nodes"),
    )
    return alert(found, "partition", words, topic=F.col("topic"), minute=F.col("minute"))


def eclipse(traffic: DataFrame, parameters: AlertParameters) -> DataFrame:
    """A node hears from next to nobody but one or two peers, while others hear from many.

    All copies count, not only the first ones: these come from whoever is fastest, which in a calm
    network may be one or two peers time and again, while the others bring theirs a moment later.
    """
    copies = F.col("delivered") + F.col("duplicates")
    suppliers = traffic.where(is_other("peer") & (copies > 0)).withColumn("copies", copies)
    counts = F.sort_array(F.collect_list("copies"), asc=False)
    top = F.aggregate(
        F.slice(counts, 1, parameters.eclipse_peers), F.lit(0).cast("long"), lambda a, b: a + b
    )
    nodes = (
        suppliers.groupBy("network", "minute", "node")
        .agg(
            F.sum("delivered").alias("delivered"),
            F.sum("copies").alias("copies"),
            share(top, F.sum("copies")).alias("share"),
        )
        .where(F.col("delivered") >= parameters.eclipse_deliveries)
        .withColumn("usual", F.median("share").over(Window.partitionBy("network", "minute")))
    )
    found = nodes.where(
        (F.col("share") >= parameters.eclipse_share) & (F.col("usual") <= parameters.eclipse_usual)
    )
    words = F.format_string(
        f"%.0f %% of its %d copies came from at most {parameters.eclipse_peers} peers;"
        " of the node in the middle, %.0f %%",
        F.col("share") * 100,
        F.col("copies"),
        F.col("usual") * 100,
    )
    return alert(found, "eclipse", words, node=F.col("node"), minute=F.col("minute"))
