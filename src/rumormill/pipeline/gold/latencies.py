"""What became of messages, by topic, hop and bin of latency: what topics are made from."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.measures import deliveries as row
from rumormill.pipeline.gold.measures.bins import bin_of
from rumormill.pipeline.gold.measures.columns import number, summed, with_sums
from rumormill.pipeline.gold.registry import Tables, gold_table
from rumormill.pipeline.lake.schema import Layout

_KEYS: Final = ("minute", "network", "topic", "promise", "hop", "bin")
SUMS: Final = (
    "published", "expected", "delivered", "missing", "unexpected", "skipped", "duplicates",
    "payload", "recoveries", "negative", "unpublished", "strayed",
)  # fmt: skip


@gold_table(
    columns="minute timestamp, network string, topic string, promise string, hop int, bin int, "
    + ", ".join(f"{name} bigint" for name in SUMS),
    sums=SUMS,
    layout=Layout.MINUTE,
)
def latencies(tables: Tables) -> DataFrame:
    """One row for each topic, hop and bin of a minute; publications have neither hop nor bin.

    A delivery has a bin if it was expected. Of a topic that promises the newest value, that is how
    long the node went without this value or a newer one.
    """
    nothing = F.lit(None).cast("int")
    publications = tables["publications"].select(
        *_KEYS[:4], nothing.alias("hop"), nothing.alias("bin")
    )
    known = F.col("published_at").isNotNull()
    timed = row.came() | row.skipped()
    bins = F.when(timed & known, bin_of(F.coalesce("stale_ms", "latency_ms"))).alias("bin")
    deliveries = tables["deliveries"].withColumn("bin", bins)
    made = {
        "expected": number(F.col("expected")),
        "delivered": number(row.delivered()),
        "missing": number(row.missing()),
        "unexpected": number(row.unexpected()),
        "skipped": number(row.skipped()),
        "duplicates": F.coalesce("duplicates", F.lit(0)),
        "payload": F.coalesce(F.col("size") * row.copies(), F.lit(0)),
        "recoveries": number(row.delivered() & F.col("recovered")),
        "negative": number(row.delivered() & (F.col("latency_ms") < 0)),
        "unpublished": number(row.delivered() & ~known),
        "strayed": number(row.delivered() & known & F.col("hop").isNull()),
    }
    # One shuffle for both, of sums that each task has made already.
    both = with_sums(publications, _KEYS, SUMS, {"published": F.lit(1).cast("long")}).unionByName(
        with_sums(deliveries, _KEYS, SUMS, made)
    )
    return summed(both, _KEYS, SUMS)
