"""What a lake knows of its tables before it reads them: their format, and whether they are new."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rumormill.core.errors import RumormillError
from rumormill.pipeline.lake.location import Location
from rumormill.pipeline.lake.schema import FORMAT, Layout, Table
from rumormill.pipeline.lake.store import FORMAT_KEY, Lake, LakeError

PLAIN = Table("plain", "gold", "minute timestamp, network string", Layout.WHOLE)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (f"SET TBLPROPERTIES ('{FORMAT_KEY}' = '{FORMAT + 1}')", str(FORMAT + 1)),
        (f"UNSET TBLPROPERTIES ('{FORMAT_KEY}')", "unknown"),
    ],
    ids=["newer", "somebody else's"],
)
def test_a_table_of_another_format_is_refused_with_one_sentence(
    spark: SparkSession, place: Location, change: str, told: str
) -> None:
    first = Lake(spark, place)
    first.ensure(PLAIN)
    before = first.snapshot(PLAIN)
    spark.sql(f"ALTER TABLE {first.name(PLAIN)} {change}")
    rows = spark.range(3).select(
        F.current_timestamp().alias("minute"), F.lit("net").alias("network")
    )
    uses: list[Callable[[Lake], object]] = [
        lambda lake: lake.read(PLAIN),
        lambda lake: lake.append(PLAIN, rows, {}),
        lambda lake: lake.replace_whole(PLAIN, rows),
    ]
    for use in uses:
        with pytest.raises(LakeError) as refused:
            use(Lake(spark, place))
        assert str(refused.value) == (
            f"{first.name(PLAIN)} has format {told}, and this rumormill writes {FORMAT}:"
            " name other --tables, and make them anew from the spools"
        )
        assert isinstance(refused.value, RumormillError)
    assert first.snapshot(PLAIN) == before


def test_a_table_that_was_just_made_is_known_to_be_empty_until_it_is_written_to(
    spark: SparkSession, place: Location
) -> None:
    lake = Lake(spark, place)
    assert lake.read(PLAIN).schema == spark.table(lake.name(PLAIN)).schema
    assert lake.is_new(PLAIN)
    assert "BatchScan" not in _plan(lake.read(PLAIN))
    rows = spark.range(3).select(
        F.current_timestamp().alias("minute"), F.lit("net").alias("network")
    )
    lake.append(PLAIN, rows, {})
    assert not lake.is_new(PLAIN)
    assert "BatchScan" in _plan(lake.read(PLAIN))
    assert lake.read(PLAIN).count() == 3
    assert not Lake(spark, place).is_new(PLAIN)


def _plan(rows: DataFrame) -> str:
    return str(rows._jdf.queryExecution().executedPlan().toString())
