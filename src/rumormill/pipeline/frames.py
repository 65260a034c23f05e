"""DataFrames to Parquet files that Spark, DuckDB and pandas read alike."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, DataFrameWriter

from rumormill.pipeline.lake import FORMAT, FORMAT_KEY

COMPRESSION: Final = "zstd"
QUICK: Final = "lz4_raw"
"""For what is read again at once and then deleted."""

TIMESTAMPS: Final = "spark.sql.parquet.outputTimestampType"
"""By default Spark writes a form of its own, without statistics; others guess its time zone."""


def writer(frame: DataFrame, compression: str = COMPRESSION) -> DataFrameWriter:
    """A writer whose files carry the tables' format and plain timestamps."""
    frame.sparkSession.conf.set(TIMESTAMPS, "TIMESTAMP_MICROS")
    marked = frame.withMetadata(frame.columns[0], {FORMAT_KEY: FORMAT})
    return marked.write.option("compression", compression)


def write_frame(frame: DataFrame, folder: Path, compression: str = COMPRESSION) -> None:
    """Write a DataFrame into a new folder."""
    writer(frame, compression).parquet(location(folder))


def location(path: Path) -> str:
    """A path as Spark takes it on this machine, whatever the default file system is."""
    return f"file:{path.absolute()}"
