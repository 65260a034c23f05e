"""The tables of a small network on disk: what a run makes, and the programs of docs/pipeline.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from rumormill.capture.schema import MESSAGES, TRACE
from rumormill.pipeline.lake import FORMAT
from rumormill.pipeline.parameters import RunParameters
from rumormill.pipeline.runner import Runner
from rumormill.pipeline.tables import GOLD, SILVER
from tests.helpers.capture.many_records import differences, read_spool
from tests.helpers.capture.spools import TestSpool, make_spool
from tests.helpers.spark.other_readers import ask_duckdb
from tests.helpers.spark.small_network import trace_rows

PAGE = (Path(__file__).parents[2] / "docs" / "pipeline.md").read_text()
PLACES = ("spool", "partition", "offset")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]


def run_once(spark: SparkSession, spool: TestSpool, tables: Path) -> list[tuple[str, Any]]:
    told: list[tuple[str, Any]] = []
    parameters = RunParameters(
        spools=(str(spool.folder),), tables=tables, once=True, rows_per_batch=1000
    )
    Runner(spark, parameters, lambda event, fields: told.append((event, fields))).run()
    return told


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a spool and the tables that were made of it."""
    folder = tmp_path_factory.mktemp("small")
    spool = make_spool(folder / "spool")
    rows = [
        {name: value for name, value in row.items() if name not in PLACES} for row in trace_rows(2)
    ]
    spool.rows(rows, kind=TRACE, batch=200)
    spool.messages(["news", "weather"] * 100)
    told = run_once(spark, spool, folder / "tables")
    assert told[0][0] == "ready"
    assert told[-1][0] == "refined"
    return folder


def test_bronze_is_what_the_spool_holds(folder: Path) -> None:
    for kind in (MESSAGES, TRACE):
        table = folder / "tables/bronze" / kind
        assert differences(read_spool(folder / "spool", kind), table) == (0, 0)


def test_every_table_is_there_with_its_columns(folder: Path) -> None:
    for layer, tables in (("silver", SILVER), ("gold", GOLD)):
        for name, schema in tables.items():
            files = list((folder / "tables" / layer / name).rglob("*.parquet"))
            assert files, name
            for file in files:
                assert pq.read_schema(file).names == schema.names


def test_every_file_says_its_format(folder: Path) -> None:
    for file in (folder / "tables").rglob("*.parquet"):
        about = pq.read_metadata(file).metadata[b"org.apache.spark.sql.parquet.row.metadata"]
        marks = [field["metadata"] for field in json.loads(about)["fields"]]
        assert {"rumormill.tables": FORMAT} in marks, file


def test_gold_counts_what_was_published(folder: Path) -> None:
    published = sum(row["event"] == "published" for row in trace_rows(2))
    count = f"select sum(published) from read_parquet('{folder}/tables/gold/topics/*.parquet')"
    assert ask_duckdb(count) == [(published,)]


def programs() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("program", programs(), ids=["duckdb", "pandas", "spark"])
def test_the_programs_of_the_page_run(
    program: str,
    folder: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    # Java keeps the folder that it was started in.
    program = program.replace('parquet("tables', f'parquet("{folder}/tables')
    exec(compile(program, "docs/pipeline.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "weather" in printed or "delivered" in printed


def test_the_next_run_adds_what_is_new(spark: SparkSession, folder: Path) -> None:
    spool = make_spool(folder / "spool")
    spool.messages(["news"] * 50, first=200)
    spool.events(["published"] * 3)
    told = run_once(spark, spool, folder / "tables")
    new = {fields["kind"]: fields["rows"] for event, fields in told if event == "batch"}
    assert new == {MESSAGES: 50, TRACE: 3}
    for kind in (MESSAGES, TRACE):
        table = folder / "tables/bronze" / kind
        assert differences(read_spool(folder / "spool", kind), table) == (0, 0)
