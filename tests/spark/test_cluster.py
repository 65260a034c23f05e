"""Source, tables and report on a standalone cluster; executors read from two nodes over HTTP."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.capture.spools import make_spool
from tests.helpers.node.http_node import http_node
from tests.helpers.spark.other_readers import ask_duckdb
from tests.helpers.spark.pipeline_process import PipelineProcess
from tests.helpers.spark.small_network import NODES, trace_rows
from tests.helpers.spark.spark_cluster import spark_cluster

ON_LOOPBACK = [
    "--conf=spark.driver.host=127.0.0.1",
    "--conf=spark.driver.bindAddress=127.0.0.1",
    "--conf=spark.executor.memory=512m",
    "--conf=spark.executor.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "--conf=spark.sql.shuffle.partitions=2",
]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("java")
def test_a_cluster_reads_two_nodes_and_makes_the_tables(tmp_path: Path) -> None:
    rows = trace_rows(2)
    mine = [row for row in rows if row["node"] in NODES[:2]]
    others = [row for row in rows if row["node"] not in NODES[:2]]
    spools = [make_spool(tmp_path / name) for name in ("mine", "others")]
    for spool, part in zip(spools, (mine, others), strict=True):
        spool.rows([captured(row) for row in part], kind="trace", batch=100)
    tables = tmp_path / "tables"
    with (
        http_node(spools[0].folder) as one,
        http_node(spools[1].folder) as other,
        spark_cluster(tmp_path) as cluster,
        PipelineProcess(
            "run", "--spool", one.address, "--spool", other.address, "--tables", tables, "--once",
            "--kind", "trace", "--master", cluster.master, *ON_LOOPBACK, quick=False,
        ) as run,
    ):  # fmt: skip
        assert run.end(600) == 0, run.errors
        for folder in cluster.folders:
            assert list(folder.glob("app-*/*/stderr")), "a worker had nothing to do"
    counted = ask_duckdb(
        'select partition, count(*), count(distinct "offset") '
        f"from read_parquet('{tables}/bronze/trace/**/*.parquet') group by all order by all"
    )
    assert counted == [(0, len(mine), len(mine)), (1, len(others), len(others))]
    report = subprocess.run(
        [sys.executable, "-m", "rumormill.cli", "report", "--tables", str(tables), "--json"],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    topics = json.loads(report.stdout)["topics"]
    for topic in ("news", "weather"):
        about = [row for row in rows if row["topic"] == topic]
        published = [row for row in about if row["event"] == "published"]
        delivered = [row for row in about if row["event"] == "delivered" and row["peer"]]
        assert topics[topic]["published"] == len(published)
        assert topics[topic]["expected"] == len(published) * (len(NODES) - 1)
        assert topics[topic]["delivered"] == len(delivered)


def captured(row: dict[str, Any]) -> dict[str, Any]:
    """The row as a spool keeps it: place and offset are not among its columns."""
    return {
        name: value for name, value in row.items() if name not in ("spool", "partition", "offset")
    }
