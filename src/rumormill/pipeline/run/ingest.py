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
from rumormill.pipeline.lake.offsets import PROPERTY, read_offsets
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
        self._place = self._stored_place()
        self.lost = 0
        """Records that were planned and not written, with ``--skip-lost``."""

    def _stored_place(self) -> StreamPlace | None:
        self._lake.ensure(self.table)
        text = read_offsets(self._lake.spark, self._lake.name(self.table))
        return None if text is None else read_place(json.loads(text), self.kind)

    def latest(self) -> dict[str, int]:
        """How far the spools reach now."""
        return self._planner.latest()

    def step(self, until: dict[str, int] | None = None) -> int:
        """Add the next batch; how many records it planned. 0: there is nothing new."""
        place = self._planner.next_place(self._place, self._limit, until)
        if place is self._place or not place.rows:
            return 0
        text = json.dumps(place.to_json(), separators=(",", ":"))
        reader = self._lake.spark.read.format("rumormill").options(**self._options)
        rows = reader.option("place", text).load()
        self._lake.append(self.table, self._as_stored(rows), {PROPERTY: text})
        self._compare(place)
        self._place = place
        return place.rows

    def _as_stored(self, rows: DataFrame) -> DataFrame:
        return with_class(rows) if self.kind == captured.TRACE else rows

    def _compare(self, place: StreamPlace) -> None:
        """What was planned and what was written."""
        missing = place.rows - self._lake.added_records(self.table)
        if missing and self._strict:
            raise PipelineError(
                f"{self._lake.name(self.table)}: {place.rows} records were planned, but"
                f" {place.rows - missing} written"
            )
        self.lost += missing


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
            options[key] = ",".join(sources)
    if parameters.token is not None:
        options["token"] = parameters.token
    return options
