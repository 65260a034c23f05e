"""The tables as the pipeline makes them, from a trace at once or from parts that arrive in turn.

Both write real tables, in a namespace of their own in the catalog of the tests' session.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from tests.helpers.second_opinion.oracle import TRACE, Row

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from rumormill.pipeline.lake.store import Lake

CATALOG = "lake"
_numbers = count(1)

_SPARK_TRACE = TRACE.set(
    TRACE.get_field_index("time"), pa.field("time", pa.timestamp("us", tz="UTC"))
)


Trace: TypeAlias = Sequence[Row] | pa.Table
"""Events; their times may lack a zone, and are in UTC."""


def tables_in_one(spark: SparkSession, trace: Trace) -> dict[str, DataFrame]:
    """Every silver and gold table, from all events at once."""
    return tables_in_batches(spark, [trace])


def tables_in_batches(spark: SparkSession, batches: Sequence[Trace]) -> dict[str, DataFrame]:
    """The same from one batch after the other, each refined before the next arrives."""
    from rumormill.pipeline.gold.registry import HOUSE
    from rumormill.pipeline.lake.schema import SILVER, TRACE
    from rumormill.pipeline.run.increment import Increment
    from rumormill.pipeline.run.ingest import with_class

    lake = new_lake(spark)
    for batch in batches:
        lake.append(TRACE, with_class(frame(spark, batch)), {})
        Increment(lake).run()
    made = [*SILVER, *(each.table for each in HOUSE.tables.values())]
    return {table.name: lake.read(table) for table in made}


def silver_of(spark: SparkSession, trace: Sequence[Row]) -> dict[str, list[Row]]:
    """The rows of every silver table."""
    from rumormill.pipeline.gold.registry import Registry
    from rumormill.pipeline.lake.schema import SILVER, TRACE
    from rumormill.pipeline.run.increment import Increment
    from rumormill.pipeline.run.ingest import with_class

    lake = new_lake(spark)
    lake.append(TRACE, with_class(frame(spark, trace)), {})
    Increment(lake, gold=Registry()).run()
    return {table.name: rows_of(lake.read(table)) for table in SILVER}


def new_lake(spark: SparkSession) -> Lake:
    """Tables that nobody has written yet."""
    from rumormill.pipeline.lake.store import Lake
    from rumormill.system.tables_location import parse_tables

    return Lake(spark, parse_tables(f"catalog:{CATALOG}.opinion{next(_numbers)}"))


def frame(spark: SparkSession, trace: Trace) -> DataFrame:
    """Rows of a trace as Spark has them."""
    if isinstance(trace, pa.Table):
        return spark.createDataFrame(trace.cast(_SPARK_TRACE))
    aware = [{**row, "time": row["time"].replace(tzinfo=UTC)} for row in trace]
    return spark.createDataFrame(pa.Table.from_pylist(aware, _SPARK_TRACE))


def rows_of(table: DataFrame) -> list[Row]:
    """All rows, as plain values."""
    rows: list[Row] = table.toArrow().to_pylist()
    return rows
