"""Where the tables of one refinement are written, before all of them are published together.

Tables that no other is made of are written on threads of their own. A Spark job of a small table is
mostly waiting, and that of a large one ends with a task that keeps one core busy: the next job uses
the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, Self

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from rumormill.pipeline.frames import QUICK, location, write_frame, writer
from rumormill.pipeline.lake import RANGE, Lake
from rumormill.pipeline.publication import Publication
from rumormill.pipeline.refined import label_of, time_of

LABEL: Final = RANGE.rstrip("=")

OPEN_FILES: Final = 4
"""Files that one task writes at the same time; were it one, Spark would sort the rows first."""


AT_ONCE: Final = 3
"""Jobs that run beside the one that the others wait for."""


class Staging:
    """Tables on their way to one publication; at the end of the block all are written.

    Ranges of minutes that ended by ``since_us`` stay as they are; later ones were provisional and
    are replaced by what is written here. Without ``since_us`` all ranges are replaced.
    """

    def __init__(
        self, spark: SparkSession, lake: Lake, publication: Publication, since_us: int | None
    ) -> None:
        self._spark = spark
        self._lake = lake
        self._publication = publication
        self._kept_until = -1 if since_us is None else label_of(since_us)
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="staging")
        self._jobs: list[Future[Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self._threads.shutdown(wait=True, cancel_futures=kind is not None)
        if kind is None:
            for job in self._jobs:
                job.result()

    def aside(self, write: Callable[..., DataFrame], *arguments: Any) -> None:
        """Write a table that no other is made of: ``aside(staging.whole, name, frame)``."""
        self._jobs.append(self._threads.submit(write, *arguments))

    def whole(self, table: str, frame: DataFrame) -> DataFrame:
        """A table that is replaced as a whole; returned as it will be read."""
        folder = self._publication.stage(table)
        write_frame(frame, folder)
        return read_folder(self._spark, folder, frame.schema)

    def scratch(self, name: str, frame: DataFrame) -> DataFrame:
        """What is needed more than once while the tables are made, and not afterwards."""
        folder = self._publication.folder / "_scratch" / name
        write_frame(frame, folder, QUICK)
        return read_folder(self._spark, folder, frame.schema)

    def range(self, table: str, frame: DataFrame, until_us: int) -> DataFrame:
        """The rows of the minutes up to ``until_us``, beside the ranges that stay."""
        name = f"{RANGE}{label_of(until_us)}"
        there = self._lake.ranges(table)
        kept = [folder for label, folder in there.items() if label <= self._kept_until]
        if len(kept) == len(there):
            folder = self._publication.stage(f"{table}/{name}")
        else:
            folder = self._publication.stage(table) / name
            for each in kept:
                self._publication.keep(f"{table}/{each.name}", each)
        write_frame(frame, folder)
        return read_folder(self._spark, folder, frame.schema)

    def split(
        self, table: str, frame: DataFrame, column: str, sealed_us: int, until_us: int
    ) -> DataFrame:
        """All rows there are, those before and after ``sealed_us`` in a range each."""
        folder = self._publication.stage(table)
        sealed = f.col(column) < f.lit(time_of(sealed_us))
        label = f.when(sealed, label_of(sealed_us)).otherwise(label_of(until_us))
        self._spark.conf.set("spark.sql.maxConcurrentOutputFileWriters", OPEN_FILES)
        writer(frame.withColumn(LABEL, label)).partitionBy(LABEL).parquet(location(folder))
        return read_folder(self._spark, folder, frame.schema)


def read_folder(spark: SparkSession, folder: Path, schema: StructType) -> DataFrame:
    """A table of which the columns are known, even if it has no file."""
    names = [f"`{name}`" for name in schema.names]
    return spark.read.schema(schema).parquet(location(folder)).select(*names)
