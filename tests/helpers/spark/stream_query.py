"""Streaming queries of tests: run until everything is read, and what they read."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any, Final

from pyspark.sql import DataFrame, Row, SparkSession

ONE_BATCH: Final = find_spec("pyspark.sql.streaming.datasource") is None
"""Whether this Spark reads a single batch of a Python source with availableNow: 4.1 does."""


class Collector:
    """Runs streaming queries over one checkpoint and keeps the rows of each batch."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self.batches: dict[int, list[Row]] = {}
        self.progress: list[dict[str, Any]] = []

    def run(self, **options: object) -> list[Row]:
        """Read what there is, and end; the rows of this run."""
        reader = self._spark.readStream.format("rumormill").option("availableNow", "true")
        for key, value in options.items():
            reader = reader.option(key, str(value))
        return self.run_frame(reader.load())

    def run_frame(self, frame: DataFrame) -> list[Row]:
        """The same for a frame that was made elsewhere."""
        found: list[Row] = []

        def keep(batch: DataFrame, number: int) -> None:
            rows = batch.collect()
            self.batches[number] = rows
            found.extend(rows)

        writer = frame.writeStream.foreachBatch(keep)
        writer = writer.option("checkpointLocation", self._checkpoint)
        query = (writer if ONE_BATCH else writer.trigger(availableNow=True)).start()
        try:
            if ONE_BATCH:
                query.processAllAvailable()
            else:
                query.awaitTermination()
        finally:
            query.stop()
        self.progress = [json.loads(each.json) for each in query.recentProgress]
        return found

    @property
    def sizes(self) -> list[int]:
        """Rows of each batch, in the order of the batches."""
        return [len(self.batches[number]) for number in sorted(self.batches)]
