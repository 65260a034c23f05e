"""Whole tables given to Python workers, which look at many rows at a time with numpy.

A table that lies in Parquet files is read by the workers themselves: they take each name once from
the files' dictionaries, while Spark would hand them every name of every row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from rumormill.pipeline.lake import TablesError
from rumormill.pipeline.tables.gathered import ROWS_AT_ONCE, gathered

READ_AT_ONCE: Final = 262_144
"""Rows of a file that are read at a time."""
LEAST_TASKS: Final = 8


class ParquetFiles(NamedTuple):
    """The files that a DataFrame is read from."""

    parts: Sequence[tuple[str, int]]
    """Each group of rows: its file, and its number there. A large file has several of them, so
    that it does not keep one worker busy while others wait."""
    rows: int

    @classmethod
    def under(cls, folder: Path) -> Self:
        """All files in a folder, at any depth."""
        footers = {path: pq.read_metadata(path) for path in sorted(folder.glob("**/*.parquet"))}
        groups = {path: footer.num_row_groups for path, footer in footers.items()}
        return cls.of(groups, sum(footer.num_rows for footer in footers.values()))

    @classmethod
    def of(cls, groups: Mapping[Path, int], rows: int) -> Self:
        """Files of which it is known how many groups each has."""
        parts = [
            (str(path.absolute()), at) for path, count in groups.items() for at in range(count)
        ]
        return cls(parts, rows)


class Work(NamedTuple):
    """What workers do with a table."""

    columns: Sequence[str]
    """What is read of it."""
    names: Sequence[str]
    """Those of the columns that have few values for many rows."""
    output: pa.Schema
    done: Callable[[pa.Table], Iterator[pa.RecordBatch]]
    """With some part of the table, as :func:`rumormill.pipeline.tables.gathered.gathered` makes it;
    what comes out must allow for there being several."""


def in_workers(table: DataFrame, work: Work, files: ParquetFiles | None = None) -> DataFrame:
    """What becomes of a table, batch or stream; a batch may be in files."""

    def from_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in gathered(batches, work.columns, work.names):
            yield from work.done(part)

    def from_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = (row for batch in batches for row in batch.to_pylist())
        return from_rows(_read(((row["path"], row["part"]) for row in parts), work))

    schema = spark_schema(work.output)
    if files is None:
        return table.select(*work.columns).mapInArrow(from_rows, schema)
    wanted = max(LEAST_TASKS, math.ceil(files.rows / ROWS_AT_ONCE))
    tasks = max(1, min(len(files.parts), wanted))
    parts = table.sparkSession.createDataFrame(files.parts, "path string, part int")
    return parts.repartition(tasks).mapInArrow(from_files, schema)


def _read(parts: Iterable[tuple[str, int]], work: Work) -> Iterator[pa.RecordBatch]:
    for path, part in parts:
        try:
            with pq.ParquetFile(path, read_dictionary=list(work.names), pre_buffer=False) as file:
                yield from file.iter_batches(
                    READ_AT_ONCE, [part], columns=list(work.columns), use_threads=False
                )
        except (pa.ArrowException, OSError) as error:
            raise TablesError(f"{path}: cannot be read: {error}") from error


_SPARK_TYPES: Final = {
    pa.int32(): "int",
    pa.int64(): "long",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.list_(pa.int64()): "array<long>",
}


def spark_schema(schema: pa.Schema) -> str:
    """The same columns as Spark writes them.

    >>> spark_schema(pa.schema([("kind", pa.int32()), ("packed", pa.binary())]))
    '`kind` int, `packed` binary'
    """
    return ", ".join(f"`{field.name}` {_SPARK_TYPES[field.type]}" for field in schema)
