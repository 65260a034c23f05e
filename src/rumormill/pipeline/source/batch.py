"""Reading once: everything between a starting and an ending place, or what a place says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from rumormill.pipeline.source.options import SourceOptions
from rumormill.pipeline.source.planner import Planner
from rumormill.pipeline.source.ranges import Task
from rumormill.pipeline.source.reading import ReadPlan, read_task


class BatchReader(DataSourceReader):
    """``spark.read.format("rumormill")``."""

    def __init__(self, options: SourceOptions, plan: ReadPlan) -> None:
        self._options = options
        self._plan = plan

    def partitions(self) -> Sequence[InputPartition]:
        """The ranges that there are now, cut for the tasks."""
        planner, place = Planner(self._options), self._options.place
        return planner.tasks_of_everything() if place is None else planner.tasks_of(place)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one task."""
        if not isinstance(partition, Task):
            return iter(())  # Spark's own, when there is nothing to read
        return read_task(self._plan, partition)
