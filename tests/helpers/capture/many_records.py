"""Spools with many records, made fast, and compared with tables row by row."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumormill.capture.open import open_log
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import MESSAGE_SCHEMA, MESSAGES
from rumormill.capture.writing.writer import SpoolWriter

BATCH = 10_000
BEGIN_US = 1_750_000_000_000_000


def message_batch(first: int, rows: int) -> pa.RecordBatch:
    """Messages number ``first`` and following, each different from every other."""
    numbers = pa.array(np.arange(first, first + rows))
    text = _text(numbers)
    columns = {
        "value": pc.cast(_joined("value ", text), pa.binary()),
        "topic": _joined("topic", _text(pc.divide(numbers, 250_000))),
        "timestamp": pc.cast(pc.add(numbers, BEGIN_US), pa.timestamp("us", "UTC")),
        "sender": _joined("sender", _text(pc.divide(numbers, 1000))),
        "message_id": pc.cast(text, pa.binary()),
        "network": pa.repeat("gossipsub", rows),
        "node": pa.repeat("node", rows),
    }
    arrays = [
        columns.get(field.name, pa.nulls(rows, field.type)).cast(field.type)
        for field in MESSAGE_SCHEMA
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=MESSAGE_SCHEMA)


def write_messages(folder: Path, rows: int, segment_bytes: int = 16 << 20) -> None:
    """A spool with so many messages."""
    parameters = SpoolParameters(fsync="never", segment_bytes=segment_bytes)
    with SpoolWriter(folder, parameters, live=False) as writer:
        for first in range(0, rows, BATCH):
            writer.batch(MESSAGES, message_batch(first, min(BATCH, rows - first)))


def read_spool(folder: Path, kind: str = MESSAGES) -> pa.Table:
    """All records of a spool, with their offsets, read by ourselves and not by Spark."""
    log = open_log(folder, kind)
    bounds = log.bounds()
    batches = []
    for offset, batch in log.read(bounds.earliest, bounds.latest):
        offsets = pa.array(np.arange(offset, offset + batch.num_rows))
        batches.append(batch.append_column("offset", offsets))
    return pa.Table.from_batches(batches)


def differences(spool: pa.Table, table: Path) -> tuple[int, int]:
    """How many rows of the spool the table lacks, and how many it has too many, by DuckDB."""
    columns = ", ".join(f'"{name}"' for name in spool.column_names if name != "headers")
    with duckdb.connect() as database:
        database.register("spool", spool)
        database.sql(
            f"create table captured as select {columns} from read_parquet('{table}/**/*.parquet')"
        )
        lacking = f"select {columns} from spool except all select {columns} from captured"
        surplus = f"select {columns} from captured except all select {columns} from spool"
        counts = [
            database.sql(f"select count(*) from ({query})").fetchall()[0][0]
            for query in (lacking, surplus)
        ]
    return counts[0], counts[1]


def _text(numbers: pa.Array) -> pa.Array:
    return pc.cast(numbers, pa.string())


def _joined(prefix: str, text: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(prefix, text, "")
