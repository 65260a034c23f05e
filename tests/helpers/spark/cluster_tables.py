"""Tables on a cluster, without the pipeline: made, added to, replaced, read; by which executors.

python -m tests.helpers.spark.cluster_tables MASTER TABLES KEY=VALUE ...
"""

from __future__ import annotations

import json
import sys

from pyspark import TaskContext
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import Layout, Table
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.session import spark_session
from rumormill.system.tables_location import parse_tables

NUMBERS = Table("numbers", "gold", "minute timestamp, number bigint, half bigint", Layout.WHOLE)


def main(master: str, tables: str, *pairs: str) -> None:
    settings = dict(pair.split("=", 1) for pair in pairs)
    location = parse_tables(tables)
    spark = spark_session("cluster", master, location=location, **settings)
    lake = Lake(spark, location)
    rows = spark.range(0, 1000, 1, 4).select(
        F.lit(None).cast("timestamp").alias("minute"), F.col("id").alias("number"),
        (F.col("id") % 2).alias("half"),
    )  # fmt: skip
    lake.append(NUMBERS, rows, {})
    lake.append(NUMBERS, rows, {"rumormill.offsets": "{}"})
    lake.replace(NUMBERS, rows.where("half = 0"), F.lit(True))

    def where(_: object) -> list[str]:
        import os

        context = TaskContext.get()
        assert context is not None
        return [os.getcwd()]  # the folder of the executor, inside that of its worker

    folders = spark.sparkContext.parallelize(range(8), 8).mapPartitions(where).distinct()
    files = spark.table(f"{location.table('gold', 'numbers')}.files")
    answer = {
        "rows": lake.read(NUMBERS).count(),
        "sum": lake.read(NUMBERS).agg(F.sum("number")).first()[0],  # type: ignore[index]
        "folders": folders.collect(),
        "files": [row["file_path"] for row in files.collect()],
        "shuffle": spark.conf.get("spark.sql.shuffle.partitions"),
    }
    sys.stdout.write(json.dumps(answer) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
