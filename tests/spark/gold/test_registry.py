"""Declaring gold tables: a user's own stands beside those of the house."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rumormill.core.errors import ConfigError
from rumormill.pipeline.gold import HOUSE, GoldTable, Registry, Tables, gold_table
from rumormill.pipeline.gold import registry as module
from rumormill.pipeline.lake.declared import columns_of
from rumormill.pipeline.lake.schema import Layout, Table
from tests.helpers.spark.hand_made import HandMade, at, rows

GOLD = {
    "latencies", "topics", "links", "peers", "publishers", "mesh_minutes", "events", "causes",
    "scores", "lifetimes", "slowest", "values", "clocks", "alerts", "problems", "nodes",
}  # fmt: skip


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """What is declared here stays here."""
    registry = Registry()
    monkeypatch.setattr(module, "HOUSE", registry)
    yield registry


def test_the_house_declares_its_tables_each_after_those_it_reads() -> None:
    tables = HOUSE.tables
    assert set(tables) >= GOLD
    places = {name: place for place, name in enumerate(tables)}
    assert all(
        places[before] < places[name] for name, each in tables.items() for before in each.after
    )


def test_tables_with_sums_say_what_a_row_is_about() -> None:
    assert HOUSE.tables["publishers"].keys == ("network", "topic", "publisher")
    assert HOUSE.tables["slowest"].keys[-1] == "tree"
    assert HOUSE.tables["links"].table.layout is Layout.MINUTE


def test_a_table_of_the_users_own_is_made_like_any_other(
    spark: SparkSession, apart: Registry
) -> None:
    @gold_table(
        columns="minute timestamp, network string, topic string, large bigint",
        sums=("large",),
        title="Large messages",
    )
    def large_messages(tables: Tables) -> DataFrame:
        large = tables["publications"].where("size > 100000")
        # In any order, and of any type that can be cast.
        counted = large.groupBy("topic", "network", "minute").agg(F.count("*").alias("large"))
        return counted.withColumn("large", F.col("large").cast("string"))

    table = apart.tables["large_messages"]
    assert (table.keys, table.by_minute) == (("network", "topic"), True)
    assert table.table.properties == {"rumormill.title": "Large messages"}
    sizes = [(50, 10), (70, 200_000), (80, 300_000)]
    given = [{"topic": "news", "time": at(time), "size": size} for time, size in sizes]
    made = table.make(HandMade(spark, {"publications": given}))
    assert [field.simpleString() for field in made.schema][-1] == "large:bigint"
    assert rows(made, "minute network topic large") == [(60.0, "net", "news", 2)]


def test_a_column_that_is_not_made_is_named(spark: SparkSession, apart: Registry) -> None:
    @gold_table(columns="network string, oddity bigint")
    def odd(tables: Tables) -> DataFrame:
        return tables["runs"].select("network")

    with pytest.raises(ConfigError, match="odd: the column 'oddity' is not made"):
        odd(HandMade(spark, {"runs": []}))


def test_sums_need_a_minute_and_columns_of_their_name(apart: Registry) -> None:
    def empty(tables: Tables) -> DataFrame:
        return tables["runs"]

    with pytest.raises(ConfigError, match="empty: sums need a column minute"):
        gold_table(columns="network string, n bigint", sums=("n",))(empty)
    with pytest.raises(ConfigError, match="empty: there is no column 'm' to sum up"):
        gold_table(columns="minute timestamp, n bigint", sums=("m",))(empty)


def declared(name: str, *after: str) -> GoldTable:
    table = Table(name, "gold", "network string", Layout.WHOLE)
    return GoldTable(table, lambda tables: tables["runs"], after=after)


def test_two_tables_of_one_name_are_refused() -> None:
    registry = Registry()
    registry.add(declared("twice"))
    with pytest.raises(ConfigError, match="there are two tables 'twice'"):
        registry.add(declared("twice"))


def test_tables_that_cannot_be_made_one_after_the_other_are_refused() -> None:
    registry = Registry()
    registry.add(declared("hen", "egg"))
    with pytest.raises(ConfigError, match="hen reads 'egg', and there is no such table"):
        _ = registry.tables
    registry.add(declared("egg", "hen"))
    with pytest.raises(ConfigError, match="tables wait for each other: hen after egg after hen"):
        _ = registry.tables


def test_columns_are_read_as_sql_writes_them() -> None:
    nested = "a map<string, decimal(10, 2)>,`by` string ,  c array<struct<x: int, y: int>>"
    assert columns_of(nested) == {
        "a": "map<string, decimal(10, 2)>",
        "by": "string",
        "c": "array<struct<x: int, y: int>>",
    }
    with pytest.raises(ConfigError, match="'lonely' is no column"):
        columns_of("a int, lonely")
    with pytest.raises(ConfigError, match="two columns 'a'"):
        columns_of("a int, a string")
