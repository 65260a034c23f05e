"""One kind of records on its way from the spools into bronze, by a streaming query of Spark's.

A query ends when one of its Python processes is killed or a node stays away. It is then started
again from its checkpoint, after a pause, unless it has failed several times without a batch in
between. What is wrong with the data itself is not tried again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rumormill.capture.schema import MESSAGES
from rumormill.pipeline.bronze import BronzeWriter
from rumormill.pipeline.failures import PipelineError, java_has_ended, may_pass, sentence_of
from rumormill.pipeline.lake import Lake
from rumormill.pipeline.offsets import StreamPlace, read_place
from rumormill.pipeline.parameters import RunParameters

PAUSES: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds before a failed query is started again, by the number of failures in a row."""

Tell = Callable[[str, dict[str, object]], None]
"""Told what happens: the name of an event, and its fields."""


class BronzeStream:
    """Keeps the query of one kind running."""

    def __init__(
        self, spark: SparkSession, lake: Lake, kind: str, parameters: RunParameters, tell: Tell
    ) -> None:
        self._spark = spark
        self._lake = lake
        self._kind = kind
        self._parameters = parameters
        self._tell = tell
        self._writer = BronzeWriter(lake, kind, self._published)
        self._query: StreamingQuery | None = None
        self._failures = 0
        self._start_at = 0.0
        self.done = False
        """Whether a query that has an end has come to it."""

    def check(self) -> None:
        """Start the query if it does not run and should; raises what cannot be mended."""
        if self.done:
            return
        if self._query is None:
            if time.monotonic() >= self._start_at:
                self._try_to_start()
            return
        if self._query.isActive:
            return
        error = self._query.exception()
        self._query = None
        if error is None:
            self.done = True
        else:
            self._failed(error)

    def stop(self) -> None:
        """End the query; its last batch is run again next time."""
        if self._query is not None:
            self._query.stop()
            self._query = None

    def _try_to_start(self) -> None:
        self._lake.check_checkpoint(self._kind)
        try:
            self._query = self._start()
        except Exception as error:
            if java_has_ended(self._spark):
                raise
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        sentence = sentence_of(error)
        if not may_pass(error):
            raise PipelineError(sentence) from error
        if self._failures == len(PAUSES):
            raise PipelineError(
                f"reading {self._kind} failed {self._failures + 1} times in a row: {sentence}"
            ) from error
        pause = PAUSES[self._failures]
        self._failures += 1
        self._start_at = time.monotonic() + pause
        self._tell("restarting", {"kind": self._kind, "reason": sentence, "seconds": pause})

    def _published(self, kind: str, batch: int, rows: int) -> None:
        self._failures = 0
        self._tell("batch", {"kind": kind, "batch": batch, "rows": rows})
        if not self._parameters.fail_on_data_loss:
            skipped = self._planned(batch) - rows
            if skipped > 0:
                self._tell("skipped", {"kind": kind, "batch": batch, "offsets": skipped})

    def _planned(self, batch: int) -> int:
        """How many offsets a batch was about, those that were gone before it began included."""
        place, before = self._place(batch), self._place(batch - 1)
        if place is None:
            return 0
        gone = place.lost - (0 if before is None else before.lost)
        return gone + sum(each.end - each.begin for each in place.spools.values())

    def _place(self, batch: int) -> StreamPlace | None:
        """What Spark wrote down before it began with a batch."""
        file = self._lake.checkpoint(self._kind) / "offsets" / str(batch)
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return None
        return read_place(json.loads(lines[-1]), self._kind)

    def _start(self) -> StreamingQuery:
        parameters = self._parameters
        reader = self._spark.readStream.format("rumormill").options(
            kind=self._kind,
            startingOffsets="earliest",
            maxOffsetsPerTrigger=parameters.rows_per_batch,
            failOnDataLoss=parameters.fail_on_data_loss,
        )
        for option, sources in (("spool", parameters.folders), ("node", parameters.nodes)):
            if sources:
                reader = reader.option(option, json.dumps(sources))
        if parameters.token is not None:
            reader = reader.option("token", parameters.token)
        if self._kind == MESSAGES:
            reader = reader.option("includeHeaders", True)
        writer = reader.load().writeStream.queryName(f"bronze-{self._kind}")
        if parameters.once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(
                processingTime=f"{round(1000 * parameters.interval)} milliseconds"
            )
        return (
            writer.option("checkpointLocation", str(self._lake.checkpoint(self._kind)))
            .foreachBatch(self._writer)
            .start()
        )
