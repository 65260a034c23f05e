"""Questions to silver, in the dialects of Spark and of DuckDB; of an answer its sums are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import SparkSession

Row = dict[str, Any]

PER_MESSAGE = """
SELECT delivered / expected AS ratio, duplicates, {half} AS p50,
       {ninety} AS p90, {most} AS p99
FROM (
    SELECT network, topic, message_id, count_if(first) AS delivered,
           count_if(expected) AS expected, sum(duplicates) AS duplicates, {latencies} AS latencies
    FROM {deliveries} GROUP BY network, topic, message_id
) WHERE expected > 0
"""
"""Of each message: delivery ratio, copies too many, percentiles of latency."""

PER_MINUTE = """
SELECT delivered / expected AS ratio, published, slowest
FROM (
    SELECT minute, topic, count_if(first) AS delivered, count_if(expected) AS expected,
           max(latency_ms) AS slowest
    FROM {deliveries} GROUP BY minute, topic
) JOIN (
    SELECT minute, topic, count(*) AS published FROM {publications} GROUP BY minute, topic
) USING (minute, topic)
WHERE expected > 0
"""
"""Of each topic and minute: what came, what was published, the slowest."""

PER_WAY = """
SELECT firsts, latency, duplicates FROM (
    SELECT node, peer, count(*) AS firsts, avg(latency_ms) AS latency, sum(duplicates) AS duplicates
    FROM {deliveries} WHERE first GROUP BY node, peer
)
"""
"""Of each pair of nodes: first copies, their latency, copies too many."""

QUESTIONS = {
    "each message": (PER_MESSAGE, ("ratio", "duplicates", "p50", "p90", "p99")),
    "each topic and minute": (PER_MINUTE, ("ratio", "published", "slowest")),
    "each pair of nodes": (PER_WAY, ("firsts", "latency", "duplicates")),
}
"""By name: the question, and the columns that are summed up."""

TABLES = ("deliveries", "publications")
KNOWN = "FILTER (WHERE latency_ms IS NOT NULL)"


def in_spark(name: str, tables: Sequence[str]) -> str:
    """A question as Spark understands it; ``tables`` are what it calls those of TABLES."""
    return _sums(
        name,
        tables,
        f"sort_array(collect_list(latency_ms) {KNOWN})",
        lambda share: f"get(latencies, int(ceil(size(latencies) * {share})) - 1)",
    )


def in_duckdb(name: str, tables: Sequence[str]) -> str:
    """The same for DuckDB, which counts from 1."""
    return _sums(
        name,
        tables,
        f"list_sort(list(latency_ms) {KNOWN})",
        lambda share: f"latencies[ceil(len(latencies) * {share})::INT]",
    )


def _sums(name: str, tables: Sequence[str], latencies: str, place: Callable[[float], str]) -> str:
    question, columns = QUESTIONS[name]
    filled = question.format(
        latencies=latencies,
        half=place(0.5),
        ninety=place(0.9),
        most=place(0.99),
        **dict(zip(TABLES, tables, strict=True)),
    )
    sums = ", ".join(f"sum({column})" for column in columns)
    return f"SELECT count(*), {sums} FROM ({filled})"


def ask(spark: SparkSession, name: str) -> Row:
    """Ask silver; nobody looks at the answer but its sums."""
    (sums,) = spark.sql(in_spark(name, [f"lake.silver.{table}" for table in TABLES])).collect()
    return {"sums": [float(each) for each in sums]}
