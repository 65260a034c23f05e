"""How long a user waits for ``rumormill pipeline run --once``, Spark's start and end included.

A process of its own each time, into tables that are not there yet; then again, with nothing new.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bench
from bench.formatting import number
from bench.goals import Goal, fixed
from bench.progress import Progress
from bench.spark import trace_events
from bench.spark.process import SparkFailedError
from bench.spark.readers import no_java
from bench.spark.summary import by_median, summed_up, versions
from bench.tables import Table

MASTER = "local[2,4]"
FIRST, AGAIN = "first run", "nothing new"

Row = dict[str, Any]


@dataclass(frozen=True)
class Spool:
    """Of which size, and how soon its tables should be there."""

    events: int
    nodes: int
    wanted: float


@dataclass(frozen=True)
class FirstRunPlan:
    """How much is measured."""

    spools: tuple[Spool, ...] = (Spool(40_000, 10, 15.0), Spool(600_000, 100, 30.0))
    rounds: int = 3


QUICK = FirstRunPlan(spools=(Spool(5_000, 10, 15.0),), rounds=1)


async def run(plan: FirstRunPlan, progress: Progress) -> Row:
    """Measure; returns the part ``first-run`` of the results."""
    result: Row = {"rounds": plan.rounds, "versions": versions(), "rows": []}
    if missing := no_java():
        return {**result, "missing": {"spark": missing}}
    progress.begin("first-run", len(plan.spools) * plan.rounds)
    for each in plan.spools:
        with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
            spool = Path(scratch) / "spool"
            trace_events.write(spool, each.events, trace_events.Network(nodes=each.nodes))
            samples: dict[str, list[Row]] = {FIRST: [], AGAIN: []}
            for turn in range(plan.rounds):
                words = f"{each.events:,} events, {turn + 1} of {plan.rounds}"
                progress.step(f"first-run: {words}")
                tables = Path(scratch) / f"tables-{turn}"
                for what, found in samples.items():
                    found.append({"seconds": wait_for_run(spool, tables, new=what == FIRST)})
        result["rows"] += [
            {"what": what, "events": each.events, "wanted": each.wanted, **summed_up(found)}
            for what, found in samples.items()
        ]
    return result


def wait_for_run(spool: Path, tables: Path, *, new: bool) -> float:
    """Seconds until the command has ended; it must have found something new, or nothing."""
    command = [
        sys.executable, "-m", "rumormill.cli", "pipeline", "run", "--once", "--json",
        "--spool", str(spool), "--tables", str(tables), "--master", MASTER,
    ]  # fmt: skip
    began = time.perf_counter()
    done = subprocess.run(command, cwd=bench.ROOT, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    if done.returncode or ('"unchanged"' in done.stdout) == new:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise SparkFailedError(f"pipeline run: {said[-1][:300] if said else 'no word'}")
    return seconds


def first_run_tables(part: Row) -> list[Table]:
    """Seconds of each."""
    if not part["rows"]:
        return []
    table = Table(
        f"rumormill pipeline run --once, a process of its own, {MASTER}, seconds",
        ["run", "events in the spool", "best", "median"],
        notes=[f"Of {part['rounds']} rounds, from the command line to the end of the process."],
    )
    for row in part["rows"]:
        seconds = row["seconds"]
        table.lines.append(
            [row["what"], f"{row['events']:,}", number(seconds["best"]), number(seconds["median"])]
        )
    return [table]


def first_run_goals(part: Row) -> list[Goal]:
    """The first run is there soon, by the median."""
    return [
        Goal(
            f"first run, {row['events']:,} events, seconds",
            by_median("rumormill", row["seconds"]),
            False,
            fixed("wanted", row["wanted"]),
            " s",
        )
        for row in part["rows"]
        if row["what"] == FIRST
    ]
