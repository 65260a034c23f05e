"""Rows on their way into the spool: tuples of plain values, then Arrow columns.

A row is a trace event without the name of the network, its time still in nanoseconds so that
events of one microsecond keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from rumormill.capture.schema import TIME, TRACE_SCHEMA

Row = tuple[
    int,  # time in nanoseconds
    str,  # node
    str,  # event
    str | None,  # topic
    bytes | None,  # message_id
    str | None,  # peer
    int | None,  # size
    int | None,  # count
    str | None,  # reason
    str | None,  # sender
    str | None,  # fields
]

LATEST: Final = (1 << 63) - 1
"""The last nanosecond that a timestamp can hold, in the year 2262."""

_COLUMNS = [TRACE_SCHEMA.field(name) for name in TRACE_SCHEMA.names if name != "network"]
ROW_SCHEMA: Final = pa.schema([pa.field("time", pa.int64(), nullable=False), *_COLUMNS[1:]])


def to_batch(rows: Sequence[Row]) -> pa.RecordBatch:
    """Rows as columns."""
    columns = zip(*rows, strict=True) if rows else [()] * len(ROW_SCHEMA)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, ROW_SCHEMA, strict=True)],
        schema=ROW_SCHEMA,
    )


def joined(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """One batch of several."""
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches, schema=ROW_SCHEMA).combine_chunks()
    return table.to_batches()[0] if table.num_rows else to_batch(())


def in_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows by time; those of one time stay in their order."""
    times = batch.column(0)
    steps = pc.subtract(times[1:], times[:-1])
    if len(steps) == 0 or pc.min(steps).as_py() >= 0:
        return batch
    return batch.take(pc.sort_indices(times))


def to_trace(batch: pa.RecordBatch, network: str) -> pa.RecordBatch:
    """Rows as they stand in a spool."""
    columns = dict(zip(ROW_SCHEMA.names, batch.columns, strict=True))
    columns["time"] = pc.divide(columns["time"], 1000).cast(TIME)
    columns["network"] = pa.repeat(pa.scalar(network, pa.string()), batch.num_rows)
    return pa.record_batch([columns[name] for name in TRACE_SCHEMA.names], schema=TRACE_SCHEMA)
