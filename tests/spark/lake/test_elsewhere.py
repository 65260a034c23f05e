"""Each block of code in docs/tables-elsewhere.md runs as it stands, against tables made here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rumormill.pipeline.lake.location import Location, parse_tables, prepare
from rumormill.pipeline.lake.schema import DELIVERIES, Layout, Table
from rumormill.pipeline.lake.store import Lake
from tests.helpers.places import DOCS
from tests.helpers.spark.s3_store import S3Store, s3_store

TOPICS = Table(
    "topics",
    "gold",
    "minute timestamp, topic string, published bigint, ratio double, latency_p99 double",
    Layout.HOUR,
)

BLOCKS = re.findall(r"```python\n(.*?)```", (DOCS / "tables-elsewhere.md").read_text(), re.DOTALL)
FOLDER = [block for block in BLOCKS if "s3://" not in block]
S3 = [block for block in BLOCKS if "s3://" in block]

MINUTE = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def fill(spark: SparkSession, location: Location) -> None:
    lake = Lake(spark, location)
    values: dict[str, Any] = {
        "minute": MINUTE, "topic": "weather", "published": 7, "ratio": 1.0, "latency_p99": 12.5,
        "node": "a", "first": True, "latency_ms": 10.0,
    }  # fmt: skip
    for table in (TOPICS, DELIVERIES):
        lake.ensure(table)
        fields = spark.table(location.table(table.layer, table.name)).dtypes
        row = [F.lit(values.get(name)).cast(kind).alias(name) for name, kind in fields]
        lake.append(table, spark.range(0, 3, 1, 1).select(*row), {})


def run(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "a user's program"}
    exec(compile(block, "tables-elsewhere.md", "exec"), names)
    return names


def test_the_document_has_blocks_for_each_reader() -> None:
    for reader in ("to_arrow", "to_pandas", "polars", "duckdb"):
        assert any(reader in block for block in FOLDER), reader
    assert len(S3) == 1


@pytest.fixture
def tables(spark: SparkSession, place: Location, monkeypatch: pytest.MonkeyPatch) -> Path:
    fill(spark, place)
    assert place.folder is not None
    monkeypatch.chdir(place.folder.parent)
    return place.folder


def test_a_folder_is_read_as_the_document_says(
    tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for block in FOLDER:
        names = run(block)
        said = capsys.readouterr().out
        assert "weather" in said or "3" in said, block
        for name in ("rows", "topics"):
            if name in names and hasattr(names[name], "__len__"):
                assert len(names[name]) == 3


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3Store]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with s3_store("bucket") as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.mark.usefixtures("store")
def test_s3_is_read_as_the_document_says(capsys: pytest.CaptureFixture[str]) -> None:
    # Made here without Spark; the test on a cluster reads such tables that Spark has made.
    location = parse_tables("s3://bucket/tables")
    prepare(location)
    properties = {**location.reader_properties(), "init_catalog_tables": "true"}
    catalog = load_catalog("lake", warehouse=location.warehouse, **properties)
    row = {"topic": "weather", "published": 7, "ratio": 1.0, "latency_p99": 12.5}
    rows = pyarrow.Table.from_pylist([row] * 3)
    catalog.create_namespace("gold")
    catalog.create_table("gold.topics", rows.schema).append(rows)
    for block in S3:
        names = run(block)
        assert "('gold', 'topics')" in capsys.readouterr().out
        assert len(names["topics"]) == 3
