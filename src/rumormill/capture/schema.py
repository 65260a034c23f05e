"""The columns of what is captured: delivered messages, and trace events.

Both kinds of records are Arrow record batches, in the spool as on the way to Spark. The columns of
a message are those of Spark's Kafka source, with the same names and types, and then what only a
peer-to-peer network knows. ``partition`` and ``offset`` are not stored: the partition is the
spool's place among those that are read together, the offset is the record's place in the spool.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

FORMAT_VERSION: Final = 1
"""Of the spool and of the records in it; a reader refuses what is newer than itself."""

MESSAGES: Final = "messages"
TRACE: Final = "trace"
KINDS: Final = (MESSAGES, TRACE)
"""The two kinds of records. Each has offsets of its own."""

TIME: Final = pa.timestamp("us", tz="UTC")
"""Microseconds, since Spark knows no finer ones."""

HEADERS: Final = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
)

MESSAGE_SCHEMA: Final = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("timestamp", TIME, nullable=False),  # when it was delivered here
        pa.field("headers", HEADERS),  # those of its envelope, then the family's own fields
        pa.field("sender", pa.string()),  # who wrote it
        pa.field("message_id", pa.binary()),
        pa.field("network", pa.string(), nullable=False),
        pa.field("node", pa.string(), nullable=False),  # who captured it
        pa.field("received_from", pa.string()),  # the peer that handed it to the node
    ]
)

TRACE_SCHEMA: Final = pa.schema(
    [
        pa.field("time", TIME, nullable=False),
        pa.field("network", pa.string(), nullable=False),
        pa.field("node", pa.string(), nullable=False),
        pa.field("event", pa.string(), nullable=False),
        pa.field("topic", pa.string()),
        pa.field("message_id", pa.binary()),
        pa.field("peer", pa.string()),
        # The fields that queries ask for most are columns; ``size``, ``count``: integers.
        pa.field("size", pa.int64()),
        pa.field("count", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("sender", pa.string()),
        pa.field("fields", pa.string()),  # the others, as a JSON object; null if there are none
    ]
)

SCHEMAS: Final = {MESSAGES: MESSAGE_SCHEMA, TRACE: TRACE_SCHEMA}


def is_known(kind: str, schema: pa.Schema) -> bool:
    """Whether records with these columns can be read: another version may have more, or fewer."""
    wanted = SCHEMAS[kind]
    common = [name for name in schema.names if name in wanted.names]
    times = "timestamp" if kind == MESSAGES else "time"
    return times in common and all(
        schema.field(name).type == wanted.field(name).type for name in common
    )


def conformed(kind: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The columns that we know, by their names; null where the batch has them not."""
    wanted = SCHEMAS[kind]
    if batch.schema.equals(wanted):
        return batch
    arrays = [
        batch.column(field.name) if field.name in batch.schema.names
        else pa.nulls(batch.num_rows, field.type)
        for field in wanted
    ]  # fmt: skip
    return pa.RecordBatch.from_arrays(arrays, names=wanted.names)
