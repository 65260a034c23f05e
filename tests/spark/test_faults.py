"""kill -9 of all that can be killed while a million records pass: no row is lost or doubled."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from rumormill.capture.schema import MESSAGES
from rumormill.pipeline.parameters import RunParameters
from rumormill.pipeline.runner import Runner
from tests.helpers.capture.many_records import differences, read_spool, write_messages
from tests.helpers.places import environment, program
from tests.helpers.ports import own_port
from tests.helpers.spark.pipeline_process import PATIENCE, PipelineProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROWS = 1_000_000
BATCH = 50_000
NODE = "tests.helpers.capture.spool_node"


@pytest.fixture(scope="module")
def spool(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Path:
    """A million messages."""
    folder = tmp_path_factory.mktemp("million") / "spool"
    write_messages(folder, ROWS)
    return folder


@pytest.fixture(scope="module")
def records(spool: Path) -> pa.Table:
    return read_spool(spool)


def run_once(spool: Path | str, tables: Path) -> PipelineProcess:
    return PipelineProcess(
        "run", "--spool", spool, "--tables", tables, "--once", "--kind", "messages",
        "--batch", str(BATCH),
    )  # fmt: skip


def check_tables(spark: SparkSession, spool: Path, records: pa.Table, tables: Path) -> None:
    """The table equals the spool, row for row: as DuckDB reads it, and as Spark does."""
    assert differences(records, tables / "bronze/messages") == (0, 0)
    captured = summary(spark.read.parquet(str(tables / "bronze/messages")))
    original = summary(spark.read.format("rumormill").load(str(spool)))
    assert captured == original
    assert captured[0] == captured[1] == records.num_rows


def summary(frame: DataFrame) -> tuple[int, ...]:
    """Rows, different offsets, and the sum of a hash over every row's values."""
    found = frame.selectExpr(
        "count(*)", "count(distinct offset)",
        "sum(cast(xxhash64(offset, value, topic, timestamp, sender, message_id) as decimal(38)))",
    ).first()  # fmt: skip
    assert found is not None
    return tuple(int(value) for value in found)


# ---- the driver


def being_written(tables: Path) -> bool:
    """A batch is half written."""
    return any((tables / "_staging").glob("*/bronze/messages/*/_temporary/0/*"))


def published_but_not_committed(tables: Path) -> bool:
    """A batch is in the table, but Spark does not know that yet."""
    newest = max((int(each.name.split("=")[1]) for each in batches(tables)), default=-1)
    return newest >= 0 and not (tables / "_checkpoints/messages/commits" / str(newest)).exists()


def batches(tables: Path) -> Iterator[Path]:
    yield from (tables / "bronze/messages").glob("batch_id=*")


def await_moment(run: PipelineProcess, moment: Callable[[Path], bool], tables: Path) -> None:
    """Look often: the moment is short."""
    deadline = time.monotonic() + PATIENCE
    while not moment(tables):
        assert time.monotonic() < deadline and run.alive(), run.errors
        time.sleep(0.002)


def test_kill_9_of_the_driver(
    spark: SparkSession, spool: Path, records: pa.Table, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    kills = [
        (being_written, PipelineProcess.kill_python),
        (published_but_not_committed, PipelineProcess.kill_python),
        (being_written, PipelineProcess.kill_java),
        (published_but_not_committed, PipelineProcess.kill),
    ]
    for moment, kill in kills:
        with run_once(spool, tables) as run:
            written = len(list(batches(tables)))
            run.wait_until(lambda: run.rows() >= 2 * BATCH)
            await_moment(run, moment, tables)
            kill(run)
            assert run.end() != 0
            assert len(list(batches(tables))) > written
            if kill is PipelineProcess.kill_java:
                assert len(run.errors.splitlines()) == 1, run.errors
        # Whenever it was killed, what is there is right.
        assert differences(records, tables / "bronze/messages")[1] == 0
    with run_once(spool, tables) as run:
        assert run.end() == 0, run.errors
    check_tables(spark, spool, records, tables)


# ---- a compaction


def being_merged(tables: Path) -> bool:
    """The compacted files are half written."""
    return any((tables / "_staging").glob("*/bronze/messages/*/_temporary/0/*"))


def test_kill_9_of_a_compaction(spark: SparkSession, tmp_path: Path) -> None:
    spool, tables = tmp_path / "spool", tmp_path / "tables"
    write_messages(spool, 300_000)
    records = read_spool(spool)
    parameters = RunParameters(
        spools=(str(spool),), tables=tables, once=True, kinds=(MESSAGES,), rows_per_batch=20_000
    )
    Runner(spark, parameters).run()
    files = len(list((tables / "bronze/messages").rglob("*.parquet")))
    with PipelineProcess("compact", "--tables", tables) as run:
        await_moment(run, being_merged, tables)
        run.kill_python()
    assert len(list((tables / "bronze/messages").rglob("*.parquet"))) == files
    check_tables(spark, spool, records, tables)
    with PipelineProcess("compact", "--tables", tables) as run:
        assert run.end() == 0, run.errors
        assert [(each["table"], each["files_after"]) for each in run.named("compacted")] == [
            ("bronze/messages", 1)
        ]
    assert [each.name for each in sorted(batches(tables))] == ["batch_id=13", "batch_id=14"]
    check_tables(spark, spool, records, tables)


# ---- Python workers


def test_kill_9_of_python_workers(
    spark: SparkSession, spool: Path, records: pa.Table, tmp_path: Path
) -> None:
    tables = tmp_path / "tables"
    killed = []
    with run_once(spool, tables) as run:
        for part in ("pyspark.worker", "pyspark.daemon", "source_runner", "pyspark"):
            rows = run.rows()
            run.wait_until(lambda rows=rows: run.rows() >= rows + 3 * BATCH)  # type: ignore[misc]
            for process in run.workers():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if any(part in each for each in process.cmdline()):
                        process.kill()
                        killed.append(part)
        assert run.end() == 0, run.errors
        # The process that plans the batches ends the query with it; it was started again.
        assert run.named("restarting")
    assert "pyspark.worker" in killed and "source_runner" in killed
    check_tables(spark, spool, records, tables)


# ---- the node


class Node:
    """A process that captures and serves a spool; killed and started again on the same port."""

    def __init__(self, folder: Path) -> None:
        self._port = own_port()
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self.address = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._process = subprocess.Popen(
            program(NODE, self._folder, self._port, ROWS),
            stdout=subprocess.PIPE, text=True, env=environment(),
        )  # fmt: skip
        self.await_line(self.address)

    def await_line(self, line: str) -> None:
        assert self._process is not None and self._process.stdout is not None
        for each in self._process.stdout:
            if each.strip() == line:
                return
        raise AssertionError("the node ended")

    def kill(self) -> None:
        if self._process is not None:
            with self._process as process:
                process.kill()


def test_kill_9_of_the_node(spark: SparkSession, tmp_path: Path) -> None:
    spool, tables = tmp_path / "spool", tmp_path / "tables"
    node = Node(spool)
    node.start()
    try:
        with PipelineProcess(
            "run", "--spool", node.address, "--tables", tables, "--kind", "messages",
            "--batch", str(BATCH), "--interval", "0",
        ) as run:  # fmt: skip
            for _ in range(4):
                rows = run.rows()
                run.wait_until(lambda rows=rows: run.rows() > rows)  # type: ignore[misc]
                node.kill()
                node.start()
            node.await_line("captured")
            records = read_spool(spool)
            run.wait_until(lambda: run.rows() >= records.num_rows)
            run.terminate()
            assert run.end() == 0, run.errors
    finally:
        node.kill()
    check_tables(spark, spool, records, tables)
