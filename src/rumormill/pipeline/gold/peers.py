"""Each node: what came to it, what it handed on, and whose messages were refused."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rumormill.pipeline.gold.measures.columns import is_other, number, summed, with_sums
from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.silver.columns import share

_KEYS: Final = ("minute", "network", "node")
_COUNTS: Final = (
    "published", "expected", "missing", "skipped", "delivered", "duplicates", "first_sent",
    "repeat_sent", "rejected_by_others", "rejected_here", "ignored_here", "dropped_here",
)  # fmt: skip
_SUMS: Final = (*_COUNTS, "came", "latency_us")


@gold_table(
    columns="minute timestamp, network string, node string, "
    + ", ".join(f"{name} bigint" for name in _COUNTS)
    + ", latency_mean double, contribution double",
    after=("links",),
)
def peers(tables: Tables) -> DataFrame:
    """One row for each node that a trace names, by minute and over all time."""
    links = tables["links"].unionByName(tables.totals("links"))
    here = with_sums(
        links,
        _KEYS,
        _SUMS,
        {
            **{name: F.col(name) for name in ("published", "expected", "missing", "skipped")},
            "delivered": F.col("first"),
            "duplicates": number(is_other(), F.col("duplicates")),
            "rejected_here": F.col("rejected"),
            "ignored_here": F.col("ignored"),
            "dropped_here": F.col("dropped"),
            "came": F.col("came"),
            "latency_us": F.col("latency_us"),
        },
    )
    others = links.where(is_other()).drop("node").withColumnRenamed("peer", "node")
    sent = with_sums(
        others,
        _KEYS,
        _SUMS,
        {
            "first_sent": F.col("first"),
            "repeat_sent": F.col("duplicates"),
            "rejected_by_others": F.col("rejected"),
        },
    )
    # A node without a name stands for messages that came to none of several.
    found = summed(here.unionByName(sent).where("node is not null"), _KEYS, _SUMS)
    return _with_contribution(found).withColumn(
        "latency_mean", share(F.col("latency_us") / 1000, F.col("came"))
    )


def _with_contribution(found: DataFrame) -> DataFrame:
    """With its share of all first copies of the network that anybody handed on."""
    everybody = F.sum("first_sent").over(Window.partitionBy("minute", "network"))
    return found.withColumn("contribution", share(F.col("first_sent"), everybody))
