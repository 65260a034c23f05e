"""Trace events from bronze to gold, and a question to silver beside DuckDB on the same files.

The events are those of :mod:`bench.trace_events`, seeded. Every round is a session of its own: the
first run of it meets a cold Java, the third is warm.
"""

from __future__ import annotations

import importlib.metadata
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import trace_events
from bench.progress import Progress
from bench.spark_process import SparkProcess
from bench.spark_readers import no_java
from bench.spark_refining import in_duckdb
from rumormill.pipeline.session import THROUGHPUT

THREADS = 2
"""Of DuckDB: as many as Spark has cores."""

Row = dict[str, Any]


@dataclass(frozen=True)
class AnalyticsPlan:
    """How much is measured."""

    events: int = 20_000_000
    rounds: int = 2
    runs: int = 3
    """Bronze to gold in each session: Java still compiles in the second."""
    questions: int = 5
    """To silver in each session, and to DuckDB."""


QUICK = AnalyticsPlan(events=200_000, rounds=1, runs=1, questions=1)


async def run(plan: AnalyticsPlan, progress: Progress) -> Row:
    """Measure; returns the part ``analytics`` of the results."""
    result: Row = {"events": plan.events, "versions": versions(), "rows": []}
    if missing := no_java():
        return {**result, "missing": {"spark": missing}}
    with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
        tables = Path(scratch) / "tables"
        progress.begin("analytics", 2 + plan.rounds * 2)
        progress.step(f"analytics: writing {plan.events:,} events")
        result["bytes"] = trace_events.write(tables, plan.events)
        refined: list[Row] = []
        asked: list[Row] = []
        for number in range(plan.rounds):
            words = f"analytics: round {number + 1} of {plan.rounds}"
            with SparkProcess(settings=THROUGHPUT) as spark:
                progress.step(f"{words}, bronze to gold")
                refined += [spark.ask("refine", tables=str(tables)) for _ in range(plan.runs)]
                progress.step(f"{words}, a question to silver")
                asked += [
                    spark.ask("per_message", tables=str(tables)) for _ in range(plan.questions)
                ]
        progress.step("analytics: the same question to DuckDB")
        others = [ask_duckdb(tables) for _ in range(plan.questions)]
    result["rows"] = [
        {"what": "refine", **_summary(refined, plan.events), "stages": _stages(refined)},
        {"what": "per_message", "by": "spark", **_summary(asked)},
        {"what": "per_message", "by": "duckdb", **_summary(others)},
    ]
    result["agree"] = agree(asked[0]["sums"], others[0]["sums"])
    return result


def ask_duckdb(tables: Path) -> Row:
    """The same question, from the files to its sums."""
    import duckdb

    began = time.perf_counter()
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {THREADS}")
        question = in_duckdb(*(_files(tables, each) for each in ("deliveries", "publications")))
        found = connection.execute(
            "SELECT count(*), avg(ratio), sum(duplicates), sum(p50), sum(p90), sum(p99)"
            f" FROM ({question})"
        ).fetchone()
    assert found is not None
    return {"sums": [float(each) for each in found], "seconds": time.perf_counter() - began}


def _files(tables: Path, name: str) -> str:
    return f"read_parquet('{tables / 'silver' / name}/**/*.parquet')"


def agree(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether both found the same, but for the last digits of sums."""
    return all(abs(a - b) <= 1e-6 * max(abs(a), 1.0) for a, b in zip(ours, theirs, strict=True))


def _summary(samples: Sequence[Row], events: int = 0) -> Row:
    seconds = [each["seconds"] for each in samples]
    found: Row = {"seconds": {"best": min(seconds), "median": statistics.median(seconds)}}
    if "cpu_seconds" in samples[0]:
        cpu = [each["cpu_seconds"] for each in samples]
        found["cpu_seconds"] = {"best": min(cpu), "median": statistics.median(cpu)}
    if events:
        found["events_per_second"] = {
            name: events / value for name, value in found["seconds"].items()
        }
        found["first_seconds"] = seconds[0]
    return found


def _stages(samples: Sequence[Row]) -> dict[str, float]:
    """Seconds of each table in the best run."""
    best = min(samples, key=lambda each: float(each["seconds"]))
    stages: dict[str, float] = best["stages"]
    return stages


def versions() -> dict[str, dict[str, str]]:
    """What takes part is made of."""
    packages = ("rumormill", "pyspark", "pyarrow", "duckdb")
    return {"spark": {name: importlib.metadata.version(name) for name in packages}}
