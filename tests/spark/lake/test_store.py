"""Tables of another format are refused before anything is read from them or written."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession
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
