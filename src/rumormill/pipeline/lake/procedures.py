"""The procedures of Iceberg's own, called by their names."""

from __future__ import annotations

from pyspark.sql import Row, SparkSession

from rumormill.pipeline.lake.location import Location
from rumormill.pipeline.lake.schema import Table
from rumormill.system.tables_location import quoted


def call(
    spark: SparkSession, location: Location, table: Table, procedure: str, *arguments: str
) -> list[Row]:
    """The answer of a procedure for one table."""
    name = f"table => '{location.namespace(table.layer)}.{table.name}'"
    catalog = quoted(location.catalog)
    return spark.sql(
        f"call {catalog}.system.{procedure}({', '.join([name, *arguments])})"
    ).collect()
