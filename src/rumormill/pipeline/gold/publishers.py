"""Each publisher: how much of what it published came to those who should get it."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.measures import deliveries as row
from rumormill.pipeline.gold.measures.columns import number, summed, with_sums
from rumormill.pipeline.gold.registry import Tables, gold_table

_KEYS: Final = ("minute", "network", "topic", "publisher")
_SUMS: Final = ("published", "expected", "missing")


@gold_table(
    columns="minute timestamp, network string, topic string, publisher string, published bigint,"
    " expected bigint, missing bigint",
    sums=_SUMS,
)
def publishers(tables: Tables) -> DataFrame:
    """One row for each publisher of a topic and minute."""
    made = {"expected": number(F.col("expected")), "missing": number(row.missing())}
    expected = tables["deliveries"].where("expected")
    one = {"published": F.lit(1).cast("long")}
    both = with_sums(tables["publications"], _KEYS, _SUMS, one).unionByName(
        with_sums(expected, _KEYS, _SUMS, made)
    )
    return summed(both, _KEYS, _SUMS)
