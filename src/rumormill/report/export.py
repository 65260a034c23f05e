"""Each gold table as a file that spreadsheets and shells read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv

from rumormill.report.as_json import plain
from rumormill.report.store import Store


def write_csv(store: Store, folder: Path) -> list[Path]:
    """A file for each gold table, and which they are; bytes are written as hexadecimal digits."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in store.names():
        file = folder / f"{name}.csv"
        rest = iter(store.batches(f"gold.{name}"))
        first = next(rest, None)
        if first is None:
            file.write_text(
                ",".join(f'"{column}"' for column in store.columns(f"gold.{name}")) + "\n"
            )
        else:
            with csv.CSVWriter(file, _flat(first).schema) as writer:
                writer.write_batch(_flat(first))
                for batch in rest:
                    writer.write_batch(_flat(batch))
        written.append(file)
    return written


def _flat(batch: pa.RecordBatch) -> pa.RecordBatch:
    """With text in place of what a cell cannot hold."""
    columns = {name: _text(batch[name]) for name in batch.schema.names}
    return pa.RecordBatch.from_pydict(columns)


def _text(column: Any) -> Any:
    kind = column.type
    if pa.types.is_nested(kind):
        values = [None if it is None else json.dumps(plain(it)) for it in column.to_pylist()]
        return pa.array(values, pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return pa.array([plain(value) for value in column.to_pylist()], pa.string())
    return column
