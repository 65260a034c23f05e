"""What a minute of events costs when it is the first, and when there are hundreds before it.

One network is captured on and on; after each minute the spool is read into bronze, and what is new
is refined, in one process whose Java is warm. Beside it: many small batches of another, quieter
network, one after the other.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.formatting import number
from bench.goals import Goal, fixed
from bench.progress import Progress
from bench.spark import trace_events
from bench.spark.process import SparkProcess
from bench.spark.readers import no_java
from bench.spark.summary import versions
from bench.tables import Table
from rumormill.pipeline.session import BRIEF, THROUGHPUT

NEIGHBOURS = 3
"""A minute's figure is the median of so many: it, and those just before it."""
BEFORE = 2
"""Minutes before those, whose messages may still be under way in them, are as busy as they are."""
TOGETHER = 10
"""Quiet minutes that are brought in by one step: they are there to be history, not to be timed."""
HOUR = 60
"""Minutes after which a stream looks after its tables."""
KEPT_BYTES = 1_000_000_000
"""Of the spool: what is in bronze need not stay there."""
BATCH_SECONDS = 5.0
"""Of trace time, in a small batch."""
LAYERS = ("bronze", "silver", "gold")

FIGURES = (
    "events", "refined_events", "ingest_seconds", "refine_seconds", "seconds", "cpu_seconds",
)  # fmt: skip

MINUTE_SECONDS = 9.0
SAME = 1.2
SMALL_SECONDS = 3.0

Row = dict[str, Any]


@dataclass(frozen=True)
class MinutesPlan:
    """How much is measured."""

    events: int = 600_000
    """In each minute, about."""
    minutes: tuple[int, ...] = (1, 10, 100, 300)
    """Whose figures count, each brought in by a step of its own; all up to the last are made."""
    between: float = 0.1
    """How busy the others are: so many times the events. Of them only their number matters."""
    warm_up: int = 10
    """Minutes that are made and removed again before: so many Java takes to compile well what it
    runs, and what is asked here is what history costs."""
    small: int = 5_000
    """Events of a small batch, about."""
    batches: int = 20
    """Small batches; the second half counts."""
    settings: Mapping[str, str] = field(default_factory=lambda: THROUGHPUT)
    """Of Java: a stream's, which lives long enough to be compiled well."""


QUICK = MinutesPlan(events=20_000, minutes=(1, 2), warm_up=1, small=500, batches=2, settings=BRIEF)
"""That everything works: no process of it lives long enough for figures."""


async def run(plan: MinutesPlan, progress: Progress) -> Row:
    """Measure; returns the part ``minutes`` of the results."""
    result: Row = {"events": plan.events, "small": plan.small, "versions": versions(), "rows": []}
    if missing := no_java():
        return {**result, "missing": {"spark": missing}}
    progress.begin("minutes", plan.warm_up + max(plan.minutes) + plan.batches)
    steps: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
        for step in _minutes(plan, Path(scratch), progress):
            steps.append(step)
    with tempfile.TemporaryDirectory(prefix="rumormill-bench-") as scratch:
        small = list(_batches(plan, Path(scratch), progress))
    result["rows"] = [{"minute": each, **figures(steps, each)} for each in plan.minutes]
    result["steps"] = steps
    result["small_batches"] = figures(small, len(small), (len(small) + 1) // 2)
    return result


def _minutes(plan: MinutesPlan, scratch: Path, progress: Progress) -> Iterator[Row]:
    network = trace_events.at_rate(plan.events / 60)
    quiet = trace_events.at_rate(plan.between * plan.events / 60)
    counted = busy(plan.minutes)
    with SparkProcess(settings=plan.settings, tables=scratch / "tables") as spark:
        before = trace_events.Generator(network).spans(60.0)
        for turn in range(plan.warm_up):
            progress.step(f"minutes: warming up, {turn + 1} of {plan.warm_up}")
            trace_events.add(scratch / "warm-up", next(before), KEPT_BYTES)
            _step(spark, scratch / "warm-up")
        spark.ask("clear", layers=LAYERS)
        spool, last = scratch / "spool", max(plan.minutes)
        generator = trace_events.Generator(network)
        minutes = generator.spans(60.0)
        for minute in range(1, last + 1):
            progress.step(f"minutes: {minute} of {last}")
            generator.as_busy_as(network if minute in counted else quiet)
            trace_events.add(spool, next(minutes), KEPT_BYTES)
            if minute not in counted and minute + 1 not in counted and minute % TOGETHER:
                continue
            step = {"minute": minute, **_step(spark, spool)}
            if minute % HOUR == 0:
                step["upkeep_seconds"] = spark.ask("keep_up", snapshots=HOUR)["seconds"]
            yield step


def busy(counted: Sequence[int]) -> set[int]:
    """The minutes that count, their neighbours, and those just before.

    >>> sorted(busy([1, 10]))
    [1, 6, 7, 8, 9, 10]
    """
    around = NEIGHBOURS + BEFORE
    return {each for last in counted for each in range(max(1, last - around + 1), last + 1)}


def _batches(plan: MinutesPlan, scratch: Path, progress: Progress) -> Iterator[Row]:
    network = trace_events.at_rate(plan.small / BATCH_SECONDS)
    batches = trace_events.Generator(network).spans(BATCH_SECONDS)
    with SparkProcess(settings=plan.settings, tables=scratch / "tables") as spark:
        for turn in range(plan.batches):
            progress.step(f"minutes: small batch {turn + 1} of {plan.batches}")
            trace_events.add(scratch / "spool", next(batches))
            yield {"minute": turn + 1, **_step(spark, scratch / "spool")}


def _step(spark: SparkProcess, spool: Path) -> Row:
    ingested, refined = spark.ask("ingest", spool=str(spool)), spark.ask("refine")
    return {
        "events": ingested["events"],
        "refined_events": refined["events"],
        "ingest_seconds": ingested["seconds"],
        "refine_seconds": refined["seconds"],
        "seconds": ingested["seconds"] + refined["seconds"],
        "cpu_seconds": ingested["cpu_seconds"] + refined["cpu_seconds"],
    }


def figures(steps: list[Row], number: int, neighbours: int = NEIGHBOURS) -> Row:
    """Medians of a step and of those before it; of the first one, itself."""
    # The first one makes the tables: it stands for nothing but itself.
    first = 1 if number == 1 else max(2, number - neighbours + 1)
    chosen = [step for step in steps if first <= step["minute"] <= number]
    return {name: statistics.median(step[name] for step in chosen) for name in FIGURES}


def minutes_tables(part: Row) -> list[Table]:
    """Each minute that counts, and a small batch."""
    if not part["rows"]:
        return []
    table = Table(
        "What comes new in a minute into all tables, local[2], warm",
        ["what", "events", "seconds", "spool to bronze", "bronze to gold", "CPU seconds"],
        notes=[
            f"Each the median of {NEIGHBOURS} minutes, but for the first, which makes the tables;"
            " small batch: the median of the later half of them.",
            *_upkeep(part["steps"]),
        ],
    )
    rows = [(f"minute {row['minute']}", row) for row in part["rows"]]
    for name, row in [*rows, ("small batch", part["small_batches"])]:
        keys = ("events", "seconds", "ingest_seconds", "refine_seconds", "cpu_seconds")
        table.lines.append([name, *(number(row[key]) for key in keys)])
    return [table]


def _upkeep(steps: list[Row]) -> list[str]:
    took = [step["upkeep_seconds"] for step in steps if "upkeep_seconds" in step]
    if not took:
        return []
    return [
        f"Upkeep, every {HOUR} minutes and not counted: {number(statistics.median(took))} seconds."
    ]


def minutes_goals(part: Row) -> list[Goal]:
    """A minute is quick, whichever it is; so is a small batch."""
    if not part["rows"]:
        return []
    seconds = {row["minute"]: row["seconds"] for row in part["rows"]}
    goals = [
        Goal(f"minute {minute}, seconds", fixed("rumormill", each), False,
             fixed("wanted", MINUTE_SECONDS), " s")
        for minute, each in seconds.items()
    ]  # fmt: skip
    spread = max(seconds.values()) / min(seconds.values())
    small = part["small_batches"]["seconds"]
    return [
        *goals,
        Goal("the slowest of these minutes over the quickest", fixed("rumormill", spread), False,
             fixed("wanted", SAME)),
        Goal("a small batch, seconds", fixed("rumormill", small), False,
             fixed("wanted", SMALL_SECONDS), " s"),
    ]  # fmt: skip
