"""Where the tables of one refinement are written, before all of them are published together."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from rumormill.pipeline.frames import location, write_frame, writer
from rumormill.pipeline.lake import RANGE, Lake
from rumormill.pipeline.publication import Publication
from rumormill.pipeline.refined import label_of, time_of

LABEL: Final = RANGE.rstrip("=")

OPEN_FILES: Final = 4
"""Files that one task writes at the same time; were it one, Spark would sort the rows first."""


class Staging:
    """Tables on their way to one publication.

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

    def whole(self, table: str, frame: DataFrame) -> DataFrame:
        """A table that is replaced as a whole; returned as it will be read."""
        folder = self._publication.stage(table)
        write_frame(frame, folder)
        return read_folder(self._spark, folder, frame.schema)

    def scratch(self, name: str, frame: DataFrame) -> DataFrame:
        """What is needed more than once while the tables are made, and not afterwards."""
        folder = self._publication.folder / "_scratch" / name
        write_frame(frame, folder)
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
