"""A cluster whose machines share no disk: a master, two workers, and an S3 store for the tables."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog

from rumormill.system.tables_location import parse_tables
from tests.helpers.capture.spools import make_spool
from tests.helpers.node.http_node import http_node
from tests.helpers.places import environment, program
from tests.helpers.spark.pipeline_process import PipelineProcess
from tests.helpers.spark.s3_store import S3Store, s3_store
from tests.helpers.spark.small_network import NODES, trace_rows
from tests.helpers.spark.spark_cluster import Cluster, spark_cluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600), pytest.mark.usefixtures("java")]

TABLES = "s3://lake/tables"

QUICK = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"

ON_LOOPBACK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "800m",
    "spark.executor.memory": "512m",
    "spark.driver.extraJavaOptions": QUICK,
    "spark.executor.extraJavaOptions": QUICK,
}


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[S3Store]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with s3_store("lake") as running:
        for name, value in running.environment.items():
            monkeypatch.setenv(name, value)
        yield running


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with spark_cluster(tmp_path) as running:
        yield running


def rows_of(table: str) -> list[dict[str, Any]]:
    """All rows of a table, read without Spark."""
    location = parse_tables(TABLES)
    catalog = load_catalog(location.catalog, **location.reader_properties())
    rows: list[dict[str, Any]] = catalog.load_table(table).scan().to_arrow().to_pylist()
    return rows


def test_both_workers_write_tables_that_are_nowhere_but_on_s3(
    store: S3Store, cluster: Cluster, tmp_path: Path
) -> None:
    settings = {**ON_LOOPBACK, **store.settings()}
    command = program(
        "tests.helpers.spark.cluster_tables", cluster.master, TABLES,
        *(f"{key}={value}" for key, value in settings.items()),
    )  # fmt: skip
    done = subprocess.run(
        command, env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["rows"], answer["sum"]) == (500, sum(range(0, 1000, 2)))
    for folder in cluster.folders:
        assert any(Path(each).is_relative_to(folder) for each in answer["folders"]), folder
    assert all(path.startswith(TABLES) for path in answer["files"])
    assert not list(tmp_path.rglob("*.parquet"))
    assert answer["shuffle"] == "200"  # Spark's own, for a cluster
    numbers = sorted(row["number"] for row in rows_of("gold.numbers"))
    assert numbers == list(range(0, 1000, 2))


def test_every_row_is_there_once_though_a_worker_and_the_driver_are_killed(
    store: S3Store, cluster: Cluster, tmp_path: Path
) -> None:
    rows = trace_rows(1)
    parts = [
        [row for row in rows if row["node"] in NODES[:2]],
        [row for row in rows if row["node"] not in NODES[:2]],
    ]
    spools = [make_spool(tmp_path / name) for name in ("mine", "others")]
    for spool, part in zip(spools, parts, strict=True):
        spool.rows([captured(row) for row in part], kind="trace", batch=50)
    settings = {**ON_LOOPBACK, **store.settings(), "spark.sql.shuffle.partitions": "2"}
    with http_node(spools[0].folder) as one, http_node(spools[1].folder) as other:
        command = [
            "run", "--spool", one.address, "--spool", other.address, "--tables", TABLES, "--once",
            "--kind", "trace", "--master", cluster.master,
            *(f"--conf={key}={value}" for key, value in settings.items()),
        ]  # fmt: skip
        with PipelineProcess(*command, "--batch", "60", quick=False) as run:
            run.wait_until(lambda: len(run.named("captured")) >= 1)
            cluster.kill_worker(0)
            run.wait_until(lambda: len(run.named("captured")) >= 3)
            run.kill()
        with PipelineProcess(*command, quick=False) as run:
            assert run.end(500) == 0, run.errors
            again = sum(event["records"] for event in run.named("captured"))
            assert 0 < again < len(rows), "it went on where the killed one had come to"
    trace = [(row["node"] in NODES[:2], row["offset"]) for row in rows_of("bronze.trace")]
    wanted = [(mine, each) for mine, part in zip((True, False), parts, strict=True)
              for each in range(len(part))]  # fmt: skip
    assert sorted(trace) == sorted(wanted)
    assert not list(tmp_path.rglob("*.parquet"))
    for topic in ("news", "weather"):
        about = [row for row in rows if row["topic"] == topic]
        minutes = [row for row in rows_of("gold.topics") if row["topic"] == topic and row["minute"]]
        published = [row for row in about if row["event"] == "published"]
        delivered = [row for row in about if row["event"] == "delivered" and row["peer"]]
        assert sum(row["published"] for row in minutes) == len(published)
        assert sum(row["delivered"] for row in minutes) == len(delivered)


def captured(row: dict[str, Any]) -> dict[str, Any]:
    """The row as a spool keeps it: place and offset are not among its columns."""
    return {
        name: value for name, value in row.items() if name not in ("spool", "partition", "offset")
    }
