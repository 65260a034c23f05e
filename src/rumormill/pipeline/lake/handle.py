"""A table as Iceberg's own library has it: what its metadata says is no query, and no job."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def handle(spark: SparkSession, table: str) -> Any:
    """The table of this name as it is now, an ``org.apache.iceberg.Table`` of Java."""
    java: Any = spark.sparkContext._jvm
    return java.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, table)
