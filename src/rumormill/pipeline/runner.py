"""The pipeline at work: spools into bronze, bronze into silver and gold, until it is stopped.

    Runner(spark, RunParameters(spools=["spool"], tables="tables", once=True)).run()

Bronze is filled by streaming queries, each on a thread of Spark's; silver and gold are made on the
thread that calls :meth:`Runner.run`, so a long refinement never holds bronze up.

What is done how often: a range of minutes is refined as soon as it is over, but not before a pause
as long as the last refinement took. Gold is about all minutes, so making it takes longer the longer
the stream has run; it is made anew when silver has grown, but only so often that it takes a tenth
of the time (``GOLD_SHARE``). For a day of a busy network that is every few minutes. Nothing reads
bronze a second time but ``once``, which refines everything anew.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from pyspark.sql import SparkSession

from rumormill.capture.schema import TRACE
from rumormill.pipeline.compaction import compact, find_jobs
from rumormill.pipeline.failures import PipelineError
from rumormill.pipeline.lake import Lake
from rumormill.pipeline.parameters import RunParameters
from rumormill.pipeline.refine import Refiner
from rumormill.pipeline.refined import time_of
from rumormill.pipeline.streams import BronzeStream, Tell

GOLD_SHARE: Final = 0.1
"""The share of the time that making gold may take while a stream runs."""

SILVER_SHARE: Final = 0.5
"""The same for silver."""

GLANCE: Final = 0.5
"""Seconds between two looks at whether something is to be done."""


class Runner:
    """Runs the pipeline; ``tell`` hears what happens, from several threads."""

    def __init__(
        self,
        spark: SparkSession,
        parameters: RunParameters,
        tell: Tell = lambda event, fields: None,
    ) -> None:
        self._spark = spark
        self._parameters = parameters
        self._tell = tell
        self._lake = Lake(parameters.tables)
        self._stopping = threading.Event()
        self._silver_turn = _Turn(SILVER_SHARE)
        self._gold_turn = _Turn(GOLD_SHARE)

    def stop(self) -> None:
        """Let :meth:`run` end soon; from any thread. What is being made is made next time."""
        self._stopping.set()
        self._spark.sparkContext.cancelAllJobs()

    def run(self) -> None:
        """Run until everything is read (``once``), or until it is stopped."""
        parameters = self._parameters
        with self._lake.writing(self._spark):
            refiner = Refiner(
                self._spark,
                self._lake,
                delay=parameters.delay,
                margin=parameters.margin,
                stage=self._begin_table,
            )
            streams = [
                BronzeStream(self._spark, self._lake, kind, parameters, self._tell)
                for kind in parameters.kinds
            ]
            self._tell("ready", {"tables": str(parameters.tables), "spools": [*parameters.spools]})
            try:
                self._work(streams, refiner)
            except Exception:
                if not self._stopping.is_set():  # else it is what was cancelled
                    raise
            finally:
                for stream in streams:
                    stream.stop()

    def _begin_table(self, table: str) -> None:
        if self._stopping.is_set():
            raise PipelineError(f"stopped before {table} was made")
        self._tell("stage", {"stage": table})

    def _work(self, streams: Sequence[BronzeStream], refiner: Refiner) -> None:
        while not self._stopping.is_set():
            for stream in streams:
                stream.check()
            if all(stream.done for stream in streams):
                return self._refine_everything(refiner)
            if not self._parameters.once:
                self._refine_what_is_over(refiner)
                self._compact_what_is_many(refiner)
            self._stopping.wait(GLANCE)

    def _refine_everything(self, refiner: Refiner) -> None:
        if not refiner.everything():
            self._tell("empty", {})
            return
        refiner.make_gold()
        self._tell("refined", _until(refiner))

    def _refine_what_is_over(self, refiner: Refiner) -> None:
        if TRACE in self._parameters.kinds and self._silver_turn.is_due():
            with self._silver_turn:
                sealed = refiner.seal()
            if sealed:
                self._tell("sealed", _until(refiner))
            else:
                self._silver_turn.was_idle()
        if not refiner.refined.gold and self._gold_turn.is_due():
            with self._gold_turn:
                refiner.make_gold()
            self._tell("refined", _until(refiner))

    def _compact_what_is_many(self, refiner: Refiner) -> None:
        for job in find_jobs(self._lake, least=self._parameters.compact_after):
            done = compact(self._spark, self._lake, job)
            refiner.forget_files()
            self._tell("compacted", done._asdict())


class _Turn:
    """Something that may take a certain share of the time."""

    def __init__(self, share: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._pause_per_second = 1 / share - 1
        self._clock = clock
        self._began = 0.0
        self._due = 0.0

    def is_due(self) -> bool:
        """Whether the pause since the last time was long enough."""
        return self._clock() >= self._due

    def was_idle(self) -> None:
        """There was nothing to do, so no pause is needed."""
        self._due = 0.0

    def __enter__(self) -> None:
        self._began = self._clock()

    def __exit__(self, *error: object) -> None:
        now = self._clock()
        self._due = now + self._pause_per_second * (now - self._began)


def _until(refiner: Refiner) -> dict[str, object]:
    refined = refiner.refined
    sealed = None if refined.sealed_us is None else time_of(refined.sealed_us).isoformat()
    late = sum(count for minutes in refined.late.values() for count in minutes.values())
    return {"sealed_until": sealed, "late": late}
