"""Who there is: what each node runs, how often it was opened, and whether it is still there."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.silver.runs import EVERY, promises


@gold_table(
    columns="network string, node string, agent string, promise string, runs int,"
    " first_at timestamp, last_at timestamp, present boolean",
)
def nodes(tables: Tables) -> DataFrame:
    """One row for each node that tells of itself (``runs`` above 0) or that another one told of.

    What a node says of itself counts; what its peers say fills the gaps, the latest first.
    """
    keys = ["network", "node"]
    since = F.col("since")
    told = (
        tables["runs"]
        .groupBy(*keys)
        .agg(
            F.max_by("agent", F.when(F.col("agent").isNotNull(), since)).alias("own_agent"),
            F.count(F.lit(1)).alias("runs"),
            F.min("since").alias("first_at"),
            F.max("last_at").alias("own_last_at"),
            F.max_by(~F.coalesce("ended", F.lit(False)), since).alias("own_present"),
        )
    )
    # Of two words at one time: the greater name, and rather there than gone.
    agent = F.when(F.col("agent").isNotNull(), F.struct("agent_at", "agent"))
    word = F.when(F.col("at").isNotNull(), F.struct("at", "present"))
    seen = (
        tables["sightings"]
        .groupBy(*keys)
        .agg(
            F.max(agent)["agent"].alias("seen_agent"),
            F.max("at").alias("seen_at"),
            F.max(word)["present"].alias("seen_present"),
        )
    )
    promised = promises(tables["runs"]).withColumnRenamed("network_promise", "promise")
    every = told.join(seen, keys, "full").join(F.broadcast(promised), "network", "left")
    return every.select(
        *keys,
        F.coalesce("own_agent", "seen_agent").alias("agent"),
        F.coalesce("promise", F.lit(EVERY)).alias("promise"),
        F.coalesce("runs", F.lit(0)).alias("runs"),
        "first_at",
        F.coalesce("own_last_at", "seen_at").alias("last_at"),
        F.coalesce("own_present", "seen_present", F.lit(False)).alias("present"),
    )
