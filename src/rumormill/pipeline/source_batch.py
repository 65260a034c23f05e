"""Reading once: everything between a starting and an ending place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from rumormill.pipeline.options import SourceOptions
from rumormill.pipeline.positions import ending_place, named, starting_place
from rumormill.pipeline.ranges import Range, split
from rumormill.pipeline.reading import ReadPlan, put_together, read_range
from rumormill.pipeline.spools import open_all


class BatchReader(DataSourceReader):
    """``spark.read.format("rumormill")``."""

    def __init__(self, options: SourceOptions, plan: ReadPlan) -> None:
        self._options = options
        self._plan = plan

    def partitions(self) -> Sequence[InputPartition]:
        """The ranges that there are now, cut for the tasks."""
        options = self._options
        ranges = []
        for number, spool in enumerate(open_all(options.sources, self._plan)):
            start = starting_place(
                options.starting or named("earliest"), spool, number, options.topics,
                options.late_start,
            )  # fmt: skip
            end = ending_place(options.ending or named("latest"), spool, number, options.topics)
            ranges.append(
                Range(
                    spool.source, spool.spool_id, number, start.offset,
                    max(start.offset, end.offset), start.topics, end.topics,
                )
            )  # fmt: skip
        return split(ranges, options.least_partitions, options.rows_per_partition)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of one range."""
        if not isinstance(partition, Range):
            return iter(())  # Spark's own, when there is nothing to read
        return put_together(read_range(self._plan, partition))
