"""Questions to silver, by Spark on its tables and by DuckDB on the same files.

The trace is that of :mod:`bench.spark.tables`. pyiceberg tells which files a table has; that, and
the first question of a session, are not counted.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyiceberg.table import StaticTable

from bench.formatting import number
from bench.goals import Goal
from bench.progress import Progress
from bench.spark import trace_events
from bench.spark.asking import QUESTIONS, TABLES, in_duckdb
from bench.spark.process import SparkProcess
from bench.spark.readers import no_java
from bench.spark.summary import by_median, summed_up, versions
from bench.tables import Table
from rumormill.pipeline.session import BRIEF, THROUGHPUT
from rumormill.system.tables_location import parse_tables

THREADS = 2
"""Of DuckDB: as many as Spark has cores."""
TIMES_DUCKDB = 1.5

Row = dict[str, Any]


@dataclass(frozen=True)
class QuestionsPlan:
    """How much is measured."""

    events: int = 20_000_000
    nodes: int = 100
    times: int = 5
    """That each question is asked, by either."""
    settings: Mapping[str, str] = field(default_factory=lambda: THROUGHPUT)
    """Of Java."""


QUICK = QuestionsPlan(events=50_000, nodes=30, times=1, settings=BRIEF)


async def run(plan: QuestionsPlan, progress: Progress) -> Row:
    """Measure; returns the part ``questions`` of the results."""
    result: Row = {"events": plan.events, "versions": versions(), "rows": []}
    if missing := no_java():
        return {**result, "missing": {"spark": missing}}
    progress.begin("questions", 2 + 2 * len(QUESTIONS))
    with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
        spool, tables = Path(scratch) / "spool", Path(scratch) / "tables"
        progress.step(f"questions: making {plan.events:,} events")
        trace_events.write(spool, plan.events, trace_events.Network(nodes=plan.nodes))
        with SparkProcess(settings=plan.settings, tables=tables) as spark:
            progress.step("questions: making silver")
            spark.ask("ingest", spool=str(spool))
            spark.ask("refine")
            for name in QUESTIONS:
                progress.step(f"questions: {name}, Spark")
                asked = [spark.ask("question", name=name) for _ in range(1 + plan.times)][1:]
                progress.step(f"questions: {name}, DuckDB")
                others = [ask_duckdb(name, tables) for _ in range(1 + plan.times)][1:]
                result["rows"].append(
                    {
                        "question": name,
                        "spark": summed_up(asked),
                        "duckdb": summed_up(others),
                        "agree": agree(asked[0]["sums"], others[0]["sums"]),
                    }
                )
    return result


def ask_duckdb(name: str, tables: Path) -> Row:
    """The same question, from the files to its sums."""
    import duckdb

    places = [data_files(tables, table) for table in TABLES]
    began = time.perf_counter()
    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {THREADS}")
        found = connection.execute(in_duckdb(name, places)).fetchone()
    assert found is not None
    return {"sums": [float(each) for each in found], "seconds": time.perf_counter() - began}


def data_files(tables: Path, name: str) -> str:
    """A table of silver as DuckDB reads it: the files of its newest commit."""
    folder = parse_tables(str(tables)).table_folder("silver", name)
    scan = StaticTable.from_metadata(folder).scan()
    files = [task.file.file_path.removeprefix("file:") for task in scan.plan_files()]
    return f"read_parquet({files!r})"


def agree(ours: Sequence[float], theirs: Sequence[float]) -> bool:
    """Whether both found the same, but for the last digits of sums."""
    return all(abs(a - b) <= 1e-6 * max(abs(a), 1.0) for a, b in zip(ours, theirs, strict=True))


def questions_tables(part: Row) -> list[Table]:
    """Each question, side by side."""
    if not part["rows"]:
        return []
    table = Table(
        f"Questions to silver of {part['events']:,} events, seconds",
        ["about", "Spark", "median", "DuckDB", "median", "x DuckDB"],
        notes=["On the same files, two cores each. x DuckDB: by the medians.", *_different(part)],
    )
    for row in part["rows"]:
        ours, theirs = row["spark"]["seconds"], row["duckdb"]["seconds"]
        values = (ours["best"], ours["median"], theirs["best"], theirs["median"])
        times = ours["median"] / theirs["median"]
        table.lines.append([row["question"], *map(number, values), number(times)])
    return [table]


def _different(part: Row) -> list[str]:
    return [
        f"{row['question']}: they found DIFFERENT RESULTS."
        for row in part["rows"]
        if not row["agree"]
    ]


def questions_goals(part: Row) -> list[Goal]:
    """Not much behind DuckDB, by the medians."""
    return [
        Goal(
            f"{row['question']}, from silver, seconds",
            by_median("Spark", row["spark"]["seconds"]),
            False,
            by_median("DuckDB", row["duckdb"]["seconds"]).times(TIMES_DUCKDB),
            " s",
        )
        for row in part["rows"]
    ]
