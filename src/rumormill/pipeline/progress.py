"""A progress line for long Spark jobs: what is done, rows, rate and tasks.

    with progress(spark, "tables") as line:
        line.say("deliveries")
        ...
        line.count(rows)

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
from typing import IO, Final

from pyspark import StatusTracker
from pyspark.sql import SparkSession
from rich.console import Console
from rich.live import Live
from rich.spinner import Spinner

log = logging.getLogger("rumormill.pipeline")

TERMINAL_SECONDS: Final = 0.5
PLAIN_SECONDS: Final = 5.0


class Line:
    """What is shown."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._step = ""
        self._rows = 0
        self._began = time.monotonic()
        self._before = (self._began, 0)

    def say(self, step: str) -> None:
        """Name what is done now, such as the table that is being made."""
        self._step = step

    def count(self, rows: int) -> None:
        """So many rows more are done."""
        self._rows += rows

    def text(self, tasks: tuple[int, int], now: float) -> str:
        """The line, with how many tasks are done, and of how many; the rate since the last line.

        >>> line = Line("tables")
        >>> line.say("deliveries")
        >>> line.count(1_200_000)
        >>> line.text((3, 8), line._began + 12.0)
        'tables: deliveries, task 3 of 8, 1.2 M rows, 100 k rows/s, 12 s'
        """
        then, before = self._before
        rate = (self._rows - before) / max(now - then, 1e-9)
        self._before = (now, self._rows)
        parts = [self._step] if self._step else []
        if tasks[1]:
            parts.append(f"task {tasks[0]} of {tasks[1]}")
        if self._rows:
            parts += [f"{short_number(self._rows)} rows", f"{short_number(rate)} rows/s"]
        return f"{self.what}: {', '.join([*parts, f'{now - self._began:.0f} s'])}"


def tasks_of(tracker: StatusTracker) -> tuple[int, int]:
    """The tasks of the stages that run: how many are done, and how many there are."""
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)


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
    spark: SparkSession, what: str, *, stream: IO[str] | None = None, every: float = PLAIN_SECONDS
) -> Iterator[Line]:
    """Show how the jobs of the block get on, on ``stream`` (stderr)."""
    line = Line(what)
    console = Console(file=stream or sys.stderr)
    done = threading.Event()
    arguments = (spark.sparkContext.statusTracker(), line, console, done, every)
    thread = threading.Thread(target=_show, args=arguments, name="progress", daemon=True)
    thread.start()
    try:
        yield line
    finally:
        done.set()
        thread.join(timeout=5)


def _show(
    tracker: StatusTracker, line: Line, console: Console, done: threading.Event, every: float
) -> None:
    try:
        if not console.is_terminal:
            while not done.wait(every):
                text = line.text(tasks_of(tracker), time.monotonic())
                console.print(text, soft_wrap=True, markup=False, highlight=False)
            return
        spinner = Spinner("dots", line.what)
        with Live(spinner, console=console, transient=True, refresh_per_second=8):
            while not done.wait(TERMINAL_SECONDS):
                spinner.update(text=line.text(tasks_of(tracker), time.monotonic()))
    except Exception as error:  # whatever goes wrong with the line, the job goes on
        log.debug("no progress line: %r", error)
