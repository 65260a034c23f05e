"""Each block of code in docs/tables-elsewhere.md runs as it stands, against tables made here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

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
LATER = MINUTE + timedelta(minutes=1)
LONG_AGO = MINUTE - timedelta(days=100)

TOPIC_ROWS: list[dict[str, Any]] = [
    {"minute": minute, "topic": topic, "published": published, "ratio": ratio, "latency_p99": p99}
    for minute, topic, published, ratio, p99 in [
        (MINUTE, "weather", 7, 1.0, 12.5),
        (LATER, "weather", 4, 0.5, 30.25),
        (MINUTE, "news", 2, 1.0, 8.0),
        (None, "weather", 11, 0.75, 28.5),
        (None, "news", 2, 1.0, 8.0),
    ]
]
"""Some minutes, and all time."""

DELIVERY_ROWS: list[dict[str, Any]] = [
    {"minute": minute, "topic": topic, "node": node, "first": first, "latency_ms": latency}
    for minute, topic, node, first, latency in [
        (MINUTE, "weather", "a", True, 10.0),
        (MINUTE, "weather", "b", True, 20.0),
        (LATER, "weather", "a", False, None),
        (MINUTE, "news", "a", True, 5.0),
        (LONG_AGO, "weather", "a", True, 90.0),
    ]
]


def fill(spark: SparkSession, location: Location) -> None:
    lake = Lake(spark, location)
    for table, rows in ((TOPICS, TOPIC_ROWS), (DELIVERIES, DELIVERY_ROWS)):
        schema = lake.read(table).schema
        whole = [tuple(row.get(name) for name in schema.names) for row in rows]
        lake.append(table, spark.createDataFrame(whole, schema).coalesce(1), {})


def run(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "a user's program"}
    exec(compile(block, "tables-elsewhere.md", "exec"), names)
    return names


def cells(said: str) -> list[list[str]]:
    """The rows of a table that was printed, in order, without lines around them and numbers."""
    lines = [re.split(r"[\s│┆]+", line.strip(" │")) for line in said.splitlines()]
    rows = [line[line[0].isdigit() :] for line in lines]
    return sorted(row for row in rows if row and row[0] in ("news", "weather"))


COLUMNS = [*TOPIC_ROWS[0]]
OF_ALL_TIME = [["news", "2", "1.00", "8.0"], ["weather", "11", "0.75", "28.5"]]
PRINTED: dict[str, Callable[[str], bool]] = {
    "to_arrow().num_rows": lambda said: said == "3\n",
    "rows.num_rows": lambda said: said == f"3 {COLUMNS}\n",
    "to_pandas": lambda said: cells(said) == OF_ALL_TIME,
    "polars": lambda said: cells(said) == [["news", "2"], ["weather", "11"]],
    "duckdb": lambda said: cells(said) == [["news", "1", "5.0"], ["weather", "3", "20.0"]],
}
"""What each block prints, by a word that it alone has."""


def test_the_document_has_a_block_for_each_reader() -> None:
    for reader in PRINTED:
        assert len([block for block in FOLDER if reader in block]) == 1, reader
    assert len(FOLDER) == len(PRINTED) and len(S3) == 1


@pytest.fixture
def tables(spark: SparkSession, place: Location, monkeypatch: pytest.MonkeyPatch) -> Path:
    fill(spark, place)
    assert place.folder is not None
    monkeypatch.chdir(place.folder.parent)
    return place.folder


@pytest.mark.usefixtures("tables")
def test_a_folder_is_read_as_the_document_says(capsys: pytest.CaptureFixture[str]) -> None:
    for reader, right in PRINTED.items():
        (block,) = [block for block in FOLDER if reader in block]
        run(block)
        said = capsys.readouterr().out
        assert right(said), f"{block}\nprinted\n{said}"


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
    rows = pyarrow.Table.from_pylist(TOPIC_ROWS)
    catalog.create_namespace("gold")
    catalog.create_table("gold.topics", rows.schema).append(rows)
    (block,) = S3
    run(block)
    said = capsys.readouterr().out
    assert said.startswith("[('gold', 'topics')]\n")
    assert cells(said) == OF_ALL_TIME
