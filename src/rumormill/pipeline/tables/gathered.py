"""Small batches of rows gathered to tables that are worth numpy; and batches to answer with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa

ROWS_AT_ONCE: Final = 1_000_000


def gathered(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str], names: Sequence[str]
) -> Iterator[pa.Table]:
    """Tables of about :data:`ROWS_AT_ONCE` rows; times are microseconds, ``names`` are coded."""
    parts: list[pa.Table] = []
    rows = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        parts.append(_coded(batch, columns, names))
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield _together(parts)
            parts, rows = [], 0
    if parts:
        yield _together(parts)


def _together(parts: Sequence[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks()


def _coded(batch: pa.RecordBatch, columns: Sequence[str], names: Sequence[str]) -> pa.Table:
    found = {name: batch.column(name) for name in columns}
    for name, column in found.items():
        if pa.types.is_timestamp(column.type):
            found[name] = column.cast(pa.timestamp("us", "UTC")).view(pa.int64())
    for name in names:
        if not pa.types.is_dictionary(found[name].type):
            found[name] = found[name].dictionary_encode()
    return pa.table(found)


def batch_of(
    schema: pa.Schema, kind: int, rows: int, columns: Mapping[str, pa.Array | pa.ChunkedArray]
) -> pa.RecordBatch:
    """A batch of one ``kind`` of rows; columns that these do not have are null."""
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if field.name == "kind":
            values = pa.repeat(pa.scalar(kind, field.type), rows)
        elif values is None:
            values = pa.nulls(rows, field.type)
        elif isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        arrays.append(values.cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
