"""A progress line for long Spark jobs: rows, rate and stage, from Spark's own status.

    with progress(spark, "tables") as line:
        line.say("deliveries")
        deliveries(trace).write.parquet(...)

On a terminal it is one line that moves; elsewhere (a log, CI) a plain line every few seconds, and
none for what is done before the first is due. Always on stderr: stdout belongs to the command.
"""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

log = logging.getLogger("rumormill.pipeline")

TERMINAL_SECONDS: Final = 0.5
PLAIN_SECONDS: Final = 5.0


@dataclass(frozen=True)
class Sample:
    """How a job stands."""

    rows: int = 0
    """Read so far, by batch jobs and streams together."""
    tasks_done: int = 0
    tasks: int = 0
    """Of the stages that run now."""
    doing: str = ""
    """What a stream says that it does."""


class Watch:
    """Looks at a session again and again, and adds up what happened since it began."""

    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext._jsc.sc()
        self._spark = spark
        self._store = context.statusStore()
        self._next_stage: int = context.dagScheduler().nextStageId()
        self._running: dict[int, Any] = {}
        self._read = 0
        """By stages that are finished."""
        self._batches: dict[str, int] = {}
        self._streamed = 0
        for query in spark.streams.active:
            self._add_stream(query)
        self._streamed = 0  # what was read before does not count

    def sample(self) -> Sample:
        """How things stand now."""
        self._look_at_stages()
        active = [stage for stage in self._running.values() if str(stage.status()) == "ACTIVE"]
        doing = ""
        queries = self._spark.streams.active
        for query in queries:
            self._add_stream(query)
            doing = query.status["message"]
        rows = self._read + sum(stage.inputRecords() for stage in active)
        return Sample(
            # A stream counts its rows itself; its stages may read them several times.
            self._streamed if queries or self._streamed else rows,
            sum(stage.numCompleteTasks() for stage in active),
            sum(stage.numTasks() for stage in active),
            doing,
        )

    def _look_at_stages(self) -> None:
        while (stage := self._stage(self._next_stage)) is not None:
            self._running[self._next_stage] = stage
            self._next_stage += 1
        for number in list(self._running):
            stage = self._stage(number)
            if stage is None or str(stage.status()) not in ("ACTIVE", "PENDING"):
                # Rows that it read from files and tables; not those of other stages.
                self._read += (stage or self._running[number]).inputRecords()
                del self._running[number]
            else:
                self._running[number] = stage

    def _stage(self, number: int) -> Any | None:
        """A stage as Spark's own listener knows it; None if there is none yet, or no more."""
        try:
            return self._store.lastStageAttempt(number)
        except Py4JJavaError:
            return None

    def _add_stream(self, query: Any) -> None:
        for progress in query.recentProgress:
            seen = self._batches.get(progress["runId"], -1)
            if progress["batchId"] > seen:
                self._batches[progress["runId"]] = progress["batchId"]
                self._streamed += progress["numInputRows"]


class Line:
    """What is shown; :meth:`say` names the step that is under way."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._step = ""
        self._began = time.monotonic()
        self._before = (self._began, 0)

    def say(self, step: str) -> None:
        """Name what is done now, such as the table that is being made."""
        self._step = step

    def text(self, sample: Sample, now: float) -> str:
        """The line; the rate is that since the last one."""
        then, rows = self._before
        rate = (sample.rows - rows) / max(now - then, 1e-9)
        self._before = (now, sample.rows)
        return describe(self.what, self._step or sample.doing, sample, rate, now - self._began)


def describe(what: str, step: str, sample: Sample, rate: float, seconds: float) -> str:
    """One line about a job.

    >>> describe("tables", "deliveries", Sample(1_200_000, 3, 8), 350_000, 12.4)
    'tables: deliveries, task 3 of 8, 1.2 M rows, 350 k rows/s, 12 s'
    """
    parts = [step] if step else []
    if sample.tasks:
        parts.append(f"task {sample.tasks_done} of {sample.tasks}")
    if sample.rows:
        parts.append(f"{short_number(sample.rows)} rows")
        parts.append(f"{short_number(max(rate, 0))} rows/s")
    parts.append(f"{seconds:.0f} s")
    return f"{what}: {', '.join(parts)}"


def short_number(number: float) -> str:
    """A number that is read at a glance.

    >>> short_number(950), short_number(12_345), short_number(2_000_000)
    ('950', '12 k', '2.0 M')
    """
    if number < 1000:
        return f"{number:.0f}"
    for unit in ("k", "M", "G"):
        number /= 1000
        if number < 1000 or unit == "G":
            break
    return f"{number:.1f} {unit}" if number < 10 else f"{number:.0f} {unit}"


@contextmanager
def progress(
    spark: SparkSession,
    what: str,
    *,
    stream: IO[str] | None = None,
    every: float = PLAIN_SECONDS,
) -> Iterator[Line]:
    """Show how the jobs of the block get on, on ``stream`` (stderr)."""
    line = Line(what)
    console = Console(file=stream or sys.stderr)
    done = threading.Event()
    show = _on_terminal if console.is_terminal else _in_plain_lines
    thread = threading.Thread(
        target=_guarded,
        args=(show, spark, line, console, done, every),
        name="progress",
        daemon=True,
    )
    thread.start()
    try:
        yield line
    finally:
        done.set()
        thread.join(timeout=5)


def _guarded(show: Any, spark: SparkSession, *rest: Any) -> None:
    """Whatever goes wrong with the line, the job goes on."""
    try:
        show(Watch(spark), *rest)
    except Exception as error:
        log.debug("no progress line: %r", error)


def _on_terminal(
    watch: Watch, line: Line, console: Console, done: threading.Event, every: float
) -> None:
    spinner = Spinner("dots", line.what)
    with Live(spinner, console=console, transient=True, refresh_per_second=8):
        while not done.wait(TERMINAL_SECONDS):
            spinner.update(text=line.text(watch.sample(), time.monotonic()))


def _in_plain_lines(
    watch: Watch, line: Line, console: Console, done: threading.Event, every: float
) -> None:
    while not done.wait(every):
        text = line.text(watch.sample(), time.monotonic())
        console.print(text, soft_wrap=True, markup=False, highlight=False)
