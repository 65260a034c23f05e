"""The programs of docs/spark.md run, and its tables list every option and column."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rumormill.pipeline.source.columns import MESSAGE_COLUMNS, TRACE_COLUMNS
from rumormill.pipeline.source.options import SOURCE_OPTIONS
from rumormill.pipeline.source.sink import SINK_OPTIONS
from tests.helpers.capture.spools import TestSpool, make_spool
from tests.helpers.node.http_node import HttpNode, http_node

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "spark.md").read_text()


def program(page: str, name: str) -> str:
    """The one program of a page that has this in it."""
    (found,) = [
        each for each in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if name in each
    ]
    return str(found)


@pytest.fixture
def place(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[HttpNode, TestSpool]]:
    """A folder with a spool and a node beside it, as the page has them; settings are put back."""
    monkeypatch.chdir(tmp_path)
    spool = make_spool(tmp_path / "spool")
    spool.messages(["weather", "news"] * 5)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    with http_node(spool.folder, topics=["weather", "echo"]) as node:
        yield node, spool
    assert before is not None
    spark.conf.set("spark.sql.shuffle.partitions", before)


def run(text: str, node: HttpNode) -> None:
    """Run a program in the folder of the test; Spark has begun in another one."""
    text = text.replace("http://127.0.0.1:7700", node.address)
    text = re.sub(r'"(spool|checkpoint)"\)', rf'"{Path.cwd()}/\1")', text)
    text = re.sub(r"spool-(a|b)", rf"{Path.cwd()}/spool-\1", text)
    exec(compile(text, "a page", "exec"), {})


def test_the_stream_of_the_page_counts(
    spark: SparkSession,
    place: tuple[HttpNode, TestSpool],
    capsys: pytest.CaptureFixture[str],
) -> None:
    run(program(PAGE, 'queryName("counts")'), place[0])
    assert "|12D3KooWsender|5" in capsys.readouterr().out


def test_the_batch_of_the_page_reads_two_spools(
    spark: SparkSession,
    place: tuple[HttpNode, TestSpool],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("spool-a", "spool-b"):
        spool = make_spool(tmp_path / name)
        spool.messages(["weather"] * 3)
        spool.events(["published"])
    run(program(PAGE, "spool-a,spool-b"), place[0])
    found = capsys.readouterr().out
    assert re.search(r"weather\s*\|\s*0\s*\|\s*3", found)
    assert re.search(r"weather\s*\|\s*1\s*\|\s*3", found)
    assert re.search(r"published\s*\|\s*2", found)


def test_the_place_of_the_page_has_the_rows_that_were_planned(
    spark: SparkSession,
    place: tuple[HttpNode, TestSpool],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    make_spool(tmp_path / "spool-a").messages(["weather"] * 3)
    run(program(PAGE, "SpoolReader"), place[0])
    assert capsys.readouterr().out == "True\n"


def test_the_rows_of_the_page_are_published(
    spark: SparkSession, place: tuple[HttpNode, TestSpool]
) -> None:
    run(program(PAGE, 'spark_session("forecast")'), place[0])
    assert sorted(b"rain at noon" in message.data for message in place[0].messages) == [False, True]


def test_the_stream_of_the_page_is_published(
    spark: SparkSession, place: tuple[HttpNode, TestSpool]
) -> None:
    run(program(PAGE, 'spark_session("echo")'), place[0])
    assert sorted((message.topic, message.data) for message in place[0].messages) == [
        ("echo", str(number).encode()) for number in range(0, 10, 2)
    ]


def names_in_table(after: str) -> list[str]:
    """The names in the first column of the first table behind a heading."""
    lines = PAGE.partition(after)[2].splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("|---"))
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[begin + 1 :])
    return [name for line in rows for name in re.findall(r"`(\w+)`", line.split("|")[1])]


def test_every_option_and_column_is_on_the_page_and_no_other() -> None:
    assert sorted(names_in_table("### Options of the source")) == sorted(SOURCE_OPTIONS)
    assert sorted(names_in_table("## Writing")) == sorted(SINK_OPTIONS)
    assert names_in_table("### Columns") == list(MESSAGE_COLUMNS)
    sentence = PAGE.partition("Trace events (`kind=trace`): ")[2].partition(", the rest")[0]
    assert re.findall(r"`(\w+)`", sentence) == list(TRACE_COLUMNS)
