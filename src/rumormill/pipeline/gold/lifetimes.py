"""How long subscriptions and links of meshes lasted."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.measures.columns import made_anew
from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.silver.columns import minute_of


@gold_table(
    columns="minute timestamp, network string, topic string, kind string, bin int, ended bigint",
    sums=("ended",),
)
def lifetimes(tables: Tables) -> DataFrame:
    """How many ended in a minute, by how long they had lasted: bins double in width.

    Bin 0 is below a quarter of a second, bin 1 below three quarters, bin n below 2^(n+1)/4 - 1/4.
    """
    ended = _ended(tables, "mesh", "mesh").unionByName(
        _ended(tables, "subscriptions", "subscription")
    )
    return ended.groupBy("minute", "network", "topic", "kind", "bin").agg(
        F.count(F.lit(1)).alias("ended")
    )


def _ended(tables: Tables, name: str, kind: str) -> DataFrame:
    seconds = (F.unix_micros("until") - F.unix_micros("since")) / 1_000_000
    width = F.floor(F.log2(F.greatest(seconds, F.lit(0.0)) * 4 + 1))
    ended = tables[name].select(
        minute_of(F.col("until")).alias("minute"),
        "network",
        "topic",
        F.lit(kind).alias("kind"),
        width.cast("int").alias("bin"),
    )
    return ended.where(made_anew(tables.minutes))
