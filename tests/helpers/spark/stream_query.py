"""Streaming queries of tests: run until everything is read, and what they read."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession


class Collector:
    """Runs streaming queries over one checkpoint and keeps the rows of each batch."""

    def __init__(self, spark: SparkSession, checkpoint: str) -> None:
        self._spark = spark
        self._checkpoint = checkpoint
        self.batches: dict[int, list[Row]] = {}
        self.progress: list[dict[str, Any]] = []

    def run(self, **options: object) -> list[Row]:
        """Read what there is, and end; the rows of this run."""
        reader = self._spark.readStream.format("rumormill")
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

        query = (
            frame.writeStream.foreachBatch(keep)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            query.stop()
        self.progress = [json.loads(each.json) for each in query.recentProgress]
        return found

    @property
    def sizes(self) -> list[int]:
        """Rows of each batch, in the order of the batches."""
        return [len(self.batches[number]) for number in sorted(self.batches)]
