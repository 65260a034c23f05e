"""From spools into bronze, batch by batch.

Which offsets a batch has is decided here, from what the spools say; Spark reads just these, and
the commit that adds the rows says up to where they reach (:mod:`rumormill.pipeline.lake.offsets`).
There is no checkpoint beside the table that could disagree with it: whatever is killed, either the
commit is there or its offsets are read again.
"""

from __future__ import annotations

import json
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.capture import schema as captured
from rumormill.pipeline.failures import PipelineError
from rumormill.pipeline.lake.offsets import Batch, last_batch, newest_batch, properties
from rumormill.pipeline.lake.schema import CLASSES, MESSAGES, OTHER, TRACE
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.run.parameters import RunParameters
from rumormill.pipeline.source.options import read_source_options
from rumormill.pipeline.source.places import StreamPlace, read_place
from rumormill.pipeline.source.planner import Planner

TABLES: Final = {captured.MESSAGES: MESSAGES, captured.TRACE: TRACE}


class Ingest:
    """One kind of records of all spools."""

    def __init__(self, lake: Lake, kind: str, parameters: RunParameters) -> None:
        self._lake = lake
        self._options = _options(kind, parameters)
        self._limit = parameters.rows_per_batch
        self._strict = parameters.fail_on_data_loss
        self.kind = kind
        self.table = TABLES[kind]
        start = {"startingOffsets": "earliest", **self._options}
        self._planner = Planner(read_source_options(start, streaming=True))
        self._read_place()
        self.lost = 0
        """Records that were planned and not written, with ``--skip-lost``."""

    def _read_place(self) -> None:
        """Where the table says that it is; what a killed driver did not compare is compared."""
        last = None if self._lake.is_new(self.table) else self._last_batch()
        if last is not None:
            self._check(last)
        stored = None if last is None else json.loads(last.offsets)
        self._place = None if stored is None else read_place(stored, self.kind)
        self._number = 0 if last is None else last.number
        self._known = True

    def _last_batch(self) -> Batch | None:
        return last_batch(self._lake.spark, self._lake.name(self.table))

    def latest(self) -> dict[str, int]:
        """How far the spools reach now."""
        return self._planner.latest()

    def step(self, until: dict[str, int] | None = None) -> int:
        """Add the next batch; how many records it planned. 0: there is nothing new."""
        if not self._known:
            self._read_place()
        place = self._planner.next_place(self._place, self._limit, until)
        if place is self._place or not place.rows:
            return 0
        self._known = False  # if anything fails from here on, only the table knows what it has
        number = self._number + 1
        self.lost += place.rows - self._append(place, number)
        self._place, self._number, self._known = place, number, True
        return place.rows

    def _append(self, place: StreamPlace, number: int) -> int:
        """Add what a place says; how many rows were written."""
        text = json.dumps(place.to_json(), separators=(",", ":"))
        reader = self._lake.spark.read.format("rumormill").options(**self._options)
        rows = reader.option("place", text).load()
        told = properties(number, text, place.rows if self._strict else None)
        self._lake.append(self.table, self._as_stored(rows), told)
        last = newest_batch(self._lake.spark, self._lake.name(self.table))
        if last is None or last.number != number:  # upkeep was at work: then all commits are asked
            last = self._last_batch()
        if last is None or (last.number, last.offsets) != (number, text):
            raise PipelineError(
                f"{self._lake.name(self.table)}: the last batch is another's; is there a second"
                " runner for these tables?"
            )
        self._check(last)
        return last.added

    def _as_stored(self, rows: DataFrame) -> DataFrame:
        return with_class(rows) if self.kind == captured.TRACE else rows

    def _check(self, batch: Batch) -> None:
        """What was planned and what was written; where they differ, the batch does not stay."""
        if batch.planned in (None, batch.added):
            return
        self._lake.take_back(self.table, batch)
        raise PipelineError(
            f"{self._lake.name(self.table)}: {batch.planned} records were planned, but"
            f" {batch.added} written; they were taken back"
        )


def with_class(trace: DataFrame) -> DataFrame:
    """As bronze has it: with the class of each event."""
    classes = [
        F.when(F.col("event").isin(*events), F.lit(name)) for name, events in CLASSES.items()
    ]
    return trace.withColumn("class", F.coalesce(*classes, F.lit(OTHER)))


def _options(kind: str, parameters: RunParameters) -> dict[str, str]:
    options = {
        "kind": kind,
        "failOnDataLoss": str(parameters.fail_on_data_loss).lower(),
    }
    if kind == captured.MESSAGES:
        options["includeHeaders"] = "true"
    for key, sources in (("spool", parameters.folders), ("node", parameters.nodes)):
        if sources:
            options[key] = json.dumps(sources)  # a path may have commas
    if parameters.token is not None:
        options["token"] = parameters.token
    return options
