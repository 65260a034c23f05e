"""Reading for ever: trigger by trigger, from where the checkpoint says.

Spark keeps one reader on the driver for the life of the query; it only ever asks for bounds. The
tasks get ranges with everything in them, so a batch that is replayed reads the same rows.

From Spark 4.2 on, Spark says with every question where the stream stands and how much it wants.
Spark 4.1 does not: there the reader goes on from the last batch that Spark has planned, which it
tells when it starts a query from a checkpoint (as a batch from that place to that place) and with
every batch since.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition

from rumormill.pipeline.source.options import SourceOptions
from rumormill.pipeline.source.places import StreamPlace, read_place
from rumormill.pipeline.source.planner import Planner
from rumormill.pipeline.source.ranges import Task
from rumormill.pipeline.source.reading import ReadPlan, read_task

LIMITS: Final = "pyspark.sql.streaming.datasource"
"""Where Spark 4.2 and later have admission control."""


class StreamReader(DataSourceStreamReader):
    """``spark.readStream.format("rumormill")``."""

    def __init__(self, options: SourceOptions, plan: ReadPlan) -> None:
        self._options = options
        self._plan = plan
        self._planner = Planner(options)
        self._planned: StreamPlace | None = None
        """The end of the last batch that Spark has planned, as far as it told."""
        self._initial: StreamPlace | None = None
        self._until: dict[str, int] | None = None

    # ---- on the driver

    def initialOffset(self) -> dict[str, Any]:
        """Where a new query begins."""
        if self._initial is None:
            self._initial = self._planner.initial_place()
        return self._initial.to_json()

    def getDefaultReadLimit(self) -> Any:
        """``maxOffsetsPerTrigger``, if it was given; Spark 4.2 and later ask for it."""
        limits, rows = import_module(LIMITS), self._options.rows_per_trigger
        return limits.ReadAllAvailable() if rows is None else limits.ReadMaxRows(rows)

    def prepareForTriggerAvailableNow(self) -> None:
        """Read up to what there is now, however much comes meanwhile."""
        self._until = self._planner.latest()

    def reportLatestOffset(self) -> dict[str, Any]:
        """What there is, read or not: how far a query is behind is seen in its progress."""
        return self._planner.latest()

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: Any = None
    ) -> dict[str, Any]:
        """Where the next batch ends: everything there is, or each spool's share of the limit."""
        if self._options.available_now and self._until is None:
            self.prepareForTriggerAvailableNow()
        if start is not None:
            before, rows = read_place(start, self._options.kind), getattr(limit, "max_rows", None)
        else:
            before, rows = self._before(), self._options.rows_per_trigger
        # Spark takes any other object for new data.
        return self._planner.next_place(before, rows, self._until).to_json()

    def _before(self) -> StreamPlace:
        if self._planned is not None:
            return self._planned
        return read_place(self.initialOffset(), self._options.kind)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The ranges of one batch, cut for the tasks."""
        self._planned = read_place(end, self._options.kind)
        if start == end:  # nothing to read; Spark 4.1 begins so from a checkpoint
            self._planner.check_missing(self._planned)
            return []
        return self._planner.tasks_of(self._planned)

    # ---- in the tasks

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        assert isinstance(partition, Task)
        return read_task(self._plan, partition)


if find_spec(LIMITS) is not None:
    import_module(LIMITS).SupportsTriggerAvailableNow.register(StreamReader)
