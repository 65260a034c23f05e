"""Trace events from a spool to bronze, and from bronze to silver and gold, all tables.

The events are those of :mod:`bench.spark.trace_events`, seeded, of a small network and of a large
one. Every round is a process of its own: its first run meets a cold Java, its third is warm. Before
each run silver and gold are removed, so that all of bronze is new.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.formatting import number
from bench.goals import Goal, fixed
from bench.progress import Progress
from bench.spark import trace_events
from bench.spark.process import SparkFailedError, SparkProcess
from bench.spark.readers import no_java
from bench.spark.summary import by_median, summed_up, versions
from bench.tables import Table
from rumormill.pipeline.session import THROUGHPUT

INGEST, FIRST, WARM = "spool to bronze", "bronze to gold, first run", "bronze to gold, warm"
WANTED = {INGEST: 400_000.0, FIRST: 300_000.0, WARM: 500_000.0}
"""Events a second."""

Row = dict[str, Any]


@dataclass(frozen=True)
class TablesPlan:
    """How much is measured."""

    events: int = 20_000_000
    nodes: tuple[int, ...] = (100, 1000)
    ingests: int = 3
    """Of the whole spool, in one process."""
    rounds: int = 3
    runs: int = 3
    """Bronze to gold in each process: Java still compiles in the second."""


QUICK = TablesPlan(events=50_000, nodes=(30,), ingests=1, rounds=1, runs=1)


async def run(plan: TablesPlan, progress: Progress) -> Row:
    """Measure; returns the part ``tables`` of the results."""
    result: Row = {"events": plan.events, "versions": versions(), "missing": {}, "rows": []}
    if missing := no_java():
        return {**result, "missing": {"spark": missing}}
    progress.begin("tables", len(plan.nodes) * (2 + plan.rounds))
    for nodes in plan.nodes:
        with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
            try:
                result["rows"] += _measure(plan, nodes, Path(scratch), progress)
            except SparkFailedError as problem:  # what was measured of the others counts
                result["missing"][f"{nodes} nodes"] = str(problem)
    return result


def _measure(plan: TablesPlan, nodes: int, scratch: Path, progress: Progress) -> list[Row]:
    spool, tables = scratch / "spool", scratch / "tables"
    words = f"tables: {nodes} nodes"
    progress.step(f"{words}, making {plan.events:,} events")
    size = trace_events.write(spool, plan.events, trace_events.Network(nodes=nodes))
    progress.step(f"{words}, into bronze")
    ingested: list[Row] = []
    with SparkProcess(settings=THROUGHPUT, tables=tables) as spark:
        for _ in range(plan.ingests):
            spark.ask("clear", layers=["bronze"])
            ingested.append(spark.ask("ingest", spool=str(spool)))
    first: list[Row] = []
    warm: list[Row] = []
    for turn in range(plan.rounds):
        progress.step(f"{words}, bronze to gold, round {turn + 1} of {plan.rounds}")
        with SparkProcess(settings=THROUGHPUT, tables=tables) as spark:
            for place in range(plan.runs):
                spark.ask("clear", layers=["silver", "gold"])
                refined = spark.ask("refine")
                if place == 0:
                    first.append(refined)
                elif place == plan.runs - 1:
                    warm.append(refined)
    common = {"nodes": nodes, "bytes": size}
    return [
        {**common, "what": what, **summed_up(samples)}
        for what, samples in ((INGEST, ingested), (FIRST, first), (WARM, warm))
        if samples
    ]


def tables_tables(part: Row) -> list[Table]:
    """Each way for each network."""
    if not part["rows"]:
        return []
    table = Table(
        f"{part['events']:,} trace events into all tables, local[2]",
        ["way", "nodes", "events/s", "median", "seconds", "median", "CPU seconds"],
        notes=[
            "Best and median. first run: of a new process, whose Java is cold; warm: the last of"
            " its runs. CPU: of Java and its Python workers, the best."
        ],
    )
    for row in part["rows"]:
        table.lines.append(
            [
                row["what"],
                str(row["nodes"]),
                number(row["events_per_second"]["best"]),
                number(row["events_per_second"]["median"]),
                number(row["seconds"]["best"]),
                number(row["seconds"]["median"]),
                number(row["cpu_seconds"]["best"]),
            ]
        )
    return [table]


def tables_goals(part: Row) -> list[Goal]:
    """Events a second, by the median."""
    return [
        Goal(
            f"{row['what']}, {row['nodes']} nodes, events/s",
            by_median("rumormill", row["events_per_second"]),
            True,
            fixed("wanted", WANTED[row["what"]]),
        )
        for row in part["rows"]
    ]
