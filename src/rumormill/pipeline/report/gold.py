"""Reading the gold tables: Parquet files, without Spark and without Java.

Gold is small, so it is read whole. A table that is missing or holds nothing is an empty one, and
the report says so; a file that cannot be read, or that a newer rumormill wrote, is an error in
one sentence.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from rumormill.pipeline.lake import FORMAT, FORMAT_KEY, GOLD, TablesError, check_format
from rumormill.pipeline.report.rows import (
    AlertRow,
    CdfPoint,
    EventRow,
    HopRow,
    LinkRow,
    MeshMinute,
    PeerRow,
    ProblemRow,
    SkewRow,
    TopicMinute,
    TopicRow,
)

EPOCH = datetime.fromtimestamp(0, UTC)
MICROSECONDS = {"s": 1e6, "ms": 1e3, "us": 1, "ns": 1e-3}

SPARK_COLUMNS = b"org.apache.spark.sql.parquet.row.metadata"
"""Where Spark keeps what it knows of the columns, in each file."""

ATTEMPTS = 3
"""So often we look for the files of a table that is being rewritten."""

Row = TypeVar("Row")
Progress = Callable[[str, int, int], None]
"""Told the file that was read, how many are, and how many there are."""


@dataclass(frozen=True)
class Gold:
    """All gold tables of one folder."""

    folder: Path
    topics: Sequence[TopicRow] = ()
    topic_minutes: Sequence[TopicMinute] = ()
    peers: Sequence[PeerRow] = ()
    mesh_minutes: Sequence[MeshMinute] = ()
    latency_cdf: Sequence[CdfPoint] = ()
    hops: Sequence[HopRow] = ()
    links: Sequence[LinkRow] = ()
    events: Sequence[EventRow] = ()
    skew: Sequence[SkewRow] = ()
    alerts: Sequence[AlertRow] = ()
    problems: Sequence[ProblemRow] = ()
    missing: Sequence[str] = field(default=())
    """Tables of which there is no file at all."""


TABLES: dict[str, type[Any]] = {
    "topics": TopicRow,
    "topic_minutes": TopicMinute,
    "peers": PeerRow,
    "mesh_minutes": MeshMinute,
    "latency_cdf": CdfPoint,
    "hops": HopRow,
    "links": LinkRow,
    "events": EventRow,
    "skew": SkewRow,
    "alerts": AlertRow,
    "problems": ProblemRow,
}


def read_gold(folder: Path, progress: Progress | None = None) -> Gold:
    """Everything under ``folder/gold``; :class:`TablesError` says why not."""
    gold = folder / GOLD
    if not folder.is_dir():
        raise TablesError(f"{folder}: there is no such folder")
    check_format(folder)
    tables: dict[str, Sequence[Any]] = {}
    counter = _Counter(progress, sum(len(_files(gold / name)) for name in TABLES))
    for name, row_type in TABLES.items():
        parts = _read_table(gold / name, counter)
        if parts:
            tables[name] = _rows(_joined(parts, gold / name), row_type, gold / name)
    if not tables:
        raise TablesError(
            f"{folder} holds no gold tables: "
            f"'rumormill pipeline run --spool SPOOL --tables {folder}' makes them"
        )
    missing = tuple(name for name in TABLES if name not in tables)
    return Gold(folder, **tables, missing=missing)


class _Counter:
    """Tells how many files have been read."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._done, self._total = 0, total

    def read(self, file: Path) -> Any:
        table = _read_file(file)
        self._done += 1
        if self._progress:
            self._progress(str(file), self._done, max(self._done, self._total))
        return table


def _read_table(folder: Path, counter: _Counter) -> list[Any]:
    """The files of one table as Arrow tables.

    Tables that are rewritten while we read lose files under our hands: then we look again.
    """
    for _ in range(ATTEMPTS - 1):
        try:
            return [counter.read(file) for file in _files(folder)]
        except FileNotFoundError:
            continue
    return [counter.read(file) for file in _files(folder)]


def _joined(parts: Sequence[Any], folder: Path) -> Any:
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        raise TablesError(f"{folder}: its files do not fit together ({error})") from error


def _files(folder: Path) -> list[Path]:
    """The table's Parquet files, without what Spark keeps beside them and has not finished."""
    return [
        file
        for file in sorted(folder.rglob("*.parquet"))
        if not any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts)
    ]


def _read_file(file: Path) -> Any:
    try:
        with pq.ParquetFile(file) as parquet:
            _check_file_format(file, parquet.metadata.metadata or {})
            return parquet.read()
    except FileNotFoundError:
        raise
    except (pa.ArrowException, ValueError, OSError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TablesError(f"{file}: not a Parquet file that can be read ({reason})") from error


def _check_file_format(file: Path, metadata: Mapping[bytes, bytes]) -> None:
    """Refuse a single file that a newer rumormill wrote, copied between older ones."""
    try:
        columns = json.loads(metadata.get(SPARK_COLUMNS, b"{}")).get("fields", [])
        found = max((column["metadata"].get(FORMAT_KEY, 0) for column in columns), default=0)
        newer = int(found) > FORMAT
    except (ValueError, KeyError, TypeError, AttributeError):
        return  # not written by Spark: tables.json has the say
    if newer:
        raise TablesError(
            f"{file}: this file has format {found}, this rumormill knows {FORMAT}: "
            "a newer one is needed"
        )


def _rows(table: Any, row_type: type[Row], where: Path) -> list[Row]:
    """The rows of an Arrow table; columns that the report does not know are left out."""
    hints = get_type_hints(row_type)
    columns = []
    for one in fields(row_type):  # type: ignore[arg-type]
        name = one.name
        if name in table.column_names:
            columns.append(_values(table.column(name), hints[name], f"{where}: column {name}"))
        elif one.default is not MISSING:
            columns.append([one.default] * table.num_rows)
        else:
            raise TablesError(f"{where}: the column {name} is missing")
    return [row_type(*values) for values in zip(*columns, strict=True)]


def _values(column: Any, kind: Any, where: str) -> list[Any]:
    """A column as values of this type; what is null stays so only where the type allows it."""
    try:
        if kind in (datetime, datetime | None):
            times = _times(column)
            if kind is datetime and None in times:
                raise TablesError(f"{where} has rows without a time")
            return times
        converted = [_CONVERT[kind](value) for value in column.to_pylist()]
    except (pa.ArrowException, ArithmeticError, AttributeError, TypeError, ValueError) as error:
        raise TablesError(f"{where} has a type that does not fit ({column.type})") from error
    return converted


def _times(column: Any) -> list[datetime | None]:
    """Without the help of Arrow, which would load pandas for it and take longer than all the rest.

    Spark's older form of a timestamp carries no zone; it means UTC all the same.
    """
    factor = MICROSECONDS[column.type.unit]
    numbers = [number for chunk in column.chunks for number in chunk.view(pa.int64()).to_pylist()]
    return [
        None if number is None else EPOCH + timedelta(microseconds=number * factor)
        for number in numbers
    ]


def _number(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


_CONVERT: dict[Any, Callable[[Any], Any]] = {
    int: lambda value: int(value or 0),
    int | None: lambda value: None if value is None else int(value),
    float: lambda value: _number(value) or 0.0,
    float | None: _number,
    bool: bool,
    str: lambda value: "" if value is None else _text(value),
    str | None: lambda value: None if value is None else _text(value),
}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    return value
