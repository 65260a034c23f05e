"""What :mod:`bench.spark_program` does with tables: refines them, and asks silver a question."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rumormill.pipeline.lake import Lake
from rumormill.pipeline.parameters import RunParameters
from rumormill.pipeline.refine import Refiner

Row = dict[str, Any]

PER_MESSAGE = """
SELECT message, delivered / expected AS ratio, duplicates, latencies[{half}] AS p50,
       latencies[{ninety}] AS p90, latencies[{most}] AS p99
FROM (
    SELECT message, count(*) AS delivered, sum(duplicates) AS duplicates,
           {sorted_list} AS latencies
    FROM {deliveries} WHERE first GROUP BY message
) JOIN (SELECT message, expected FROM {publications} WHERE expected > 0) USING (message)
"""
"""For each message: delivery ratio, copies too many, percentiles of latency. In two dialects."""


def in_spark(deliveries: str, publications: str) -> str:
    """The question as Spark understands it."""
    return PER_MESSAGE.format(
        sorted_list="sort_array(collect_list(latency_ms))",
        half="int(ceil(size(latencies) * 0.5)) - 1",
        ninety="int(ceil(size(latencies) * 0.9)) - 1",
        most="int(ceil(size(latencies) * 0.99)) - 1",
        deliveries=deliveries,
        publications=publications,
    )


def in_duckdb(deliveries: str, publications: str) -> str:
    """The same for DuckDB, which counts from 1."""
    return PER_MESSAGE.format(
        sorted_list="list_sort(list(latency_ms))",
        half="ceil(len(latencies) * 0.5)::INT",
        ninety="ceil(len(latencies) * 0.9)::INT",
        most="ceil(len(latencies) * 0.99)::INT",
        deliveries=deliveries,
        publications=publications,
    )


def refine(spark: SparkSession, tables: Path) -> Row:
    """From bronze to gold, as ``rumormill pipeline run --once`` does it; seconds of each table."""
    stages: dict[str, float] = {}
    began, stage = time.perf_counter(), ""

    def begin(table: str) -> None:
        nonlocal began, stage
        now = time.perf_counter()
        if stage:
            stages[stage] = stages.get(stage, 0.0) + now - began
        began, stage = now, table

    parameters = RunParameters(spools=("none",), tables=tables)
    lake = Lake(tables)
    with lake.writing(spark):
        refiner = Refiner(
            spark, lake, delay=parameters.delay, margin=parameters.margin, stage=begin
        )
        refiner.everything()
        refiner.make_gold()
    begin("")
    return {"stages": stages}


def per_message(spark: SparkSession, tables: Path) -> Row:
    """Ask silver; nobody looks at the answer but its sums."""
    for name in ("deliveries", "publications"):
        spark.read.parquet(str(tables / "silver" / name)).createOrReplaceTempView(name)
    answer = spark.sql(in_spark("deliveries", "publications"))
    (sums,) = answer.selectExpr(
        "count(*)", "avg(ratio)", "sum(duplicates)", "sum(p50)", "sum(p90)", "sum(p99)"
    ).collect()
    return {"sums": [float(each) for each in sums]}
