"""The pipeline at work: spools into bronze, what is new into silver and gold, until it is stopped.

    Runner(spark, RunParameters(spools=["spool"], tables="tables", once=True)).run()

A stream is the same as one run after the other: read what there is more, refine what is new, wait a
moment. However long a step takes, the next one has just what came meanwhile.
"""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from rumormill.capture.schema import TRACE
from rumormill.core.errors import ConfigError
from rumormill.pipeline.failures import PipelineError, may_pass, sentence_of
from rumormill.pipeline.gold import HOUSE
from rumormill.pipeline.lake import schema
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.lake.upkeep import Policy, upkeep, upkeep_due
from rumormill.pipeline.run.increment import Increment
from rumormill.pipeline.run.ingest import Ingest
from rumormill.pipeline.run.parameters import RunParameters
from rumormill.pipeline.silver.columns import SECOND_US
from rumormill.system.tables_location import parse_tables
from rumormill.system.times import time_of

Tell = Callable[[str, dict[str, object]], None]

PAUSES: Final = (1.0, 2.0, 5.0, 10.0, 30.0, 30.0)
"""Seconds after each failure in a row that may pass by itself; then it ends."""


class Runner:
    """Runs the pipeline; ``tell`` hears what happens, from several threads."""

    def __init__(
        self,
        spark: SparkSession,
        parameters: RunParameters,
        tell: Tell = lambda event, fields: None,
        *,
        policy: Policy = Policy(),  # noqa: B008 (it cannot change)
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._spark = spark
        self._parameters = parameters
        self._tell = tell
        self._stopping = threading.Event()
        self._failures = 0
        self._policy = replace(policy, bronze_days=parameters.keep_days)
        self._clock = clock
        self._kept_up_at: float | None = None
        for module in parameters.gold:
            import_gold(module)

    def stop(self) -> None:
        """Let :meth:`run` end soon; from any thread. What is being made is made next time."""
        self._stopping.set()
        self._spark.sparkContext.cancelAllJobs()

    def run(self) -> None:
        """Run until everything is read (``once``), or until it is stopped."""
        parameters = self._parameters
        location = parse_tables(parameters.tables)
        self._tell("ready", {"tables": parameters.tables, "spools": [*parameters.spools]})
        lake = Lake(self._spark, location)
        ingests = [Ingest(lake, kind, parameters) for kind in parameters.kinds]
        increment = Increment(
            lake, margin_us=round(parameters.margin * SECOND_US), stage=self._begin_table
        )
        while not self._stopping.is_set():
            try:
                self._turn(ingests, increment)
                if not parameters.once:
                    self._keep_up(lake)
                self._failures = 0
            except Exception as error:
                if self._stopping.is_set():  # it is what was cancelled
                    return
                self._put_off(error)
                continue
            if parameters.once:
                return
            self._stopping.wait(parameters.interval)

    def _keep_up(self, lake: Lake) -> None:
        """Remove what is old, join what is small; if it is due, and was not done lately."""
        now, policy, last = self._clock(), self._policy, self._kept_up_at
        lately = last is not None and now < last + 3600 * policy.every_hours
        if lately or self._stopping.is_set():
            return
        if upkeep_due(self._spark, lake.location, schema.BRONZE, policy):
            gold = [each.table for each in HOUSE.tables.values()]
            tables = [*schema.BRONZE, *schema.SILVER, *gold]
            wanted = (table for table in tables if not self._stopping.is_set())
            upkeep(self._spark, lake.location, wanted, policy, self._tell, orphans=False)
            self._kept_up_at = now

    def _turn(self, ingests: list[Ingest], increment: Increment) -> None:
        """Read what there is now, and refine it; in several steps if it is very much."""
        changed = False
        until = {ingest.kind: ingest.latest() for ingest in ingests}
        unrefined = 0
        for ingest in ingests:
            before = ingest.lost
            while not self._stopping.is_set() and (rows := ingest.step(until[ingest.kind])):
                self._tell("captured", {"kind": ingest.kind, "records": rows})
                changed = True
                unrefined += rows if ingest.kind == TRACE else 0
                if unrefined >= self._parameters.rows_per_step:
                    self._refine(increment)
                    unrefined = 0
            if ingest.lost > before:
                self._tell("skipped", {"kind": ingest.kind, "offsets": ingest.lost - before})
        if TRACE in self._parameters.kinds and not self._stopping.is_set():
            changed = self._refine(increment) or changed
        if self._parameters.once and not changed:
            self._tell("unchanged", {})

    def _refine(self, increment: Increment) -> bool:
        """One step; whether it had anything to do."""
        done = increment.run()
        if done is not None and done.too_late:
            self._tell("too_late", {"events": done.too_late})
        if done is not None and done.minutes:
            self._tell(
                "refined",
                {
                    "events": done.events,
                    "minutes": len(done.minutes),
                    "first_minute": time_of(done.minutes[0]).isoformat(),
                    "last_minute": time_of(done.minutes[-1]).isoformat(),
                },
            )
        return done is not None

    def _begin_table(self, table: str) -> None:
        if self._stopping.is_set():
            raise PipelineError(f"stopped before {table} was made")
        self._tell("stage", {"stage": table})

    def _put_off(self, error: Exception) -> None:
        """Try again after a while what may pass by itself: a worker was killed, a node is away."""
        if not may_pass(error) or self._failures >= len(PAUSES):
            raise error
        pause = PAUSES[self._failures]
        self._failures += 1
        self._tell("restarting", {"reason": sentence_of(error), "seconds": pause})
        self._stopping.wait(pause)


def import_gold(module: str) -> None:
    """Take in a module's gold tables; found where Python looks, and in the working folder."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise ConfigError("--gold", f"{module} cannot be imported: {error}") from error
