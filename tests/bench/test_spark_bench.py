"""Spark's benchmarks run from end to end, without Kafka; what they count is looked at, no times."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rumormill.core.errors import ConfigError
from rumormill.pipeline.class_archive import archive_path
from rumormill.pipeline.java import java_home

ROOT = Path(__file__).parents[2]
MISSING = "did not take part: mvn failed: no route to Central"
PATIENCE = 500
"""Seconds for what takes twenty on an idle machine."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(PATIENCE + 20)]


@pytest.fixture(autouse=True)
def java() -> None:
    try:
        java_home()
    except ConfigError as error:
        if os.environ.get("RUMORMILL_REQUIRE_PEERS"):
            raise
        pytest.skip(str(error))


def bench(part: str, output: Path) -> dict[str, Any]:
    """A quick run on a machine whose Maven finds nothing, and that has nothing of Kafka's."""
    command = [sys.executable, "-m", "bench", part, "--quick", "--json", "--output", str(output)]
    maven = output / "tools" / "mvn"
    maven.parent.mkdir()
    maven.write_text("#!/bin/sh\necho '[ERROR] no route to Central'\nexit 1\n")
    maven.chmod(0o755)
    path = f"{maven.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(cache_with_classes(output))}
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, env=environment
    )
    assert done.returncode == 0, done.stderr
    printed: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return printed[part]


def cache_with_classes(output: Path) -> Path:
    """Another cache than the user's, but Spark starts as fast as ever."""
    classes = archive_path(java_home(), "").parent
    cache = output / "cache"
    link = cache / "rumormill" / classes.name
    link.parent.mkdir(parents=True)
    link.symlink_to(classes)
    return cache


def test_the_sources_are_measured_and_kafka_is_said_to_be_missing(tmp_path: Path) -> None:
    part = bench("source", tmp_path)
    rows = {row["contestant"]: row for row in part["rows"]}
    for name in ("spool", "parquet"):
        assert rows[name]["missing"] == ""
        assert rows[name]["rows_per_second"]["best"] > 0
        assert rows[name]["cpu_us"]["best"] > 0
    assert rows["kafka"]["missing"] == MISSING
    page = (tmp_path / "latest.md").read_text()
    assert f"- kafka: missing, {MISSING}" in page
    assert f"cannot be said: Kafka, Spark's own source: {MISSING}" in page


def test_the_latency_of_every_row_is_measured(tmp_path: Path) -> None:
    part = bench("latency", tmp_path)
    own, kafka = part["rows"]
    assert own["missing"] == own["failed_rounds"] == ""
    assert 0 < own["p50"]["best"] <= own["p99"]["best"] <= own["max"]["best"]
    assert kafka["missing"] == MISSING


def test_spark_and_duckdb_answer_every_question_alike(tmp_path: Path) -> None:
    part = bench("questions", tmp_path)
    assert part["rows"]
    for row in part["rows"]:
        assert row["agree"], row["question"]
        count, *sums = row["spark"]["samples"][0]["sums"]
        assert count > 0
        assert all(each > 0 for each in sums)


def test_each_minute_brings_its_events_into_the_tables(tmp_path: Path) -> None:
    part = bench("minutes", tmp_path)
    assert [row["minute"] for row in part["rows"]] == [1, 2]
    for step in part["steps"]:
        assert step["refined_events"] == step["events"] > 0
