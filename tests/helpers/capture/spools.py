"""Spools with known records, written batch by batch."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from rumormill.capture.files.folder import Identity, read_identity, write_identity
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import MESSAGE_SCHEMA, MESSAGES, SCHEMAS, TRACE, TRACE_SCHEMA
from rumormill.capture.writing.appender import Appender

BEGIN_US = 1_700_000_000_000_000
"""The time of the first record; each one is a millisecond later."""


@dataclass
class TestSpool:
    """A spool in a folder that a test writes to."""

    __test__ = False

    folder: Path
    id: str
    parameters: SpoolParameters

    def append(self, kind: str, batches: Iterable[pa.RecordBatch]) -> None:
        """Append batches, each as one, and let the lock of the writer go."""
        appender = Appender(self.folder, kind, self.parameters)
        column = "timestamp" if kind == MESSAGES else "time"
        try:
            for batch in batches:
                times = batch.column(column).cast(pa.int64()).to_pylist()
                appender.append(batch, (min(times), max(times)))
        finally:
            appender.close()

    def messages(self, topics: Sequence[str], *, batch: int = 10, first: int = 0) -> None:
        """A message on each of the topics: number n has value ``n`` and is n ms late."""
        rows = [_message(first + number, topic) for number, topic in enumerate(topics)]
        self.append(MESSAGES, _batches(rows, MESSAGE_SCHEMA, batch))

    def events(self, events: Sequence[str], *, batch: int = 10, first: int = 0) -> None:
        """A trace event of each of the kinds."""
        rows = [_event(first + number, event) for number, event in enumerate(events)]
        self.append(TRACE, _batches(rows, TRACE_SCHEMA, batch))

    def rows(self, rows: Sequence[dict[str, Any]], kind: str = MESSAGES, batch: int = 10) -> None:
        """Any rows; columns that are left out are null."""
        self.append(kind, _batches(rows, SCHEMAS[kind], batch))

    def segments(self, kind: str = MESSAGES) -> list[Path]:
        """Its segments, oldest first."""
        return sorted((self.folder / kind).glob("*.arrow"))


def make_spool(folder: Path, **parameters: Any) -> TestSpool:
    """A new, empty spool, or the one that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "spool.json").exists():
        write_identity(folder, Identity(uuid.uuid4().hex, 0.0))
        for kind in SCHEMAS:
            (folder / kind).mkdir()
    checked = SpoolParameters(**{"fsync": "never", **parameters})
    return TestSpool(folder, read_identity(folder).id, checked)


def _batches(
    rows: Sequence[dict[str, Any]], schema: pa.Schema, size: int
) -> Iterable[pa.RecordBatch]:
    for start in range(0, len(rows), size):
        yield pa.RecordBatch.from_pylist(rows[start : start + size], schema)


def _message(number: int, topic: str) -> dict[str, Any]:
    return {
        "value": str(number).encode(),
        "topic": topic,
        "timestamp": BEGIN_US + 1000 * number,
        "headers": [{"key": "number", "value": str(number).encode()}],
        "sender": "12D3KooWsender",
        "message_id": number.to_bytes(4, "big"),
        "network": "gossipsub",
        "node": "12D3KooWnode",
        "received_from": "12D3KooWrelay",
    }


def _event(number: int, event: str) -> dict[str, Any]:
    return {
        "time": BEGIN_US + 1000 * number,
        "network": "gossipsub",
        "node": "12D3KooWnode",
        "event": event,
        "topic": "weather" if event == "delivered" else None,
        "message_id": number.to_bytes(4, "big"),
        "size": number,
    }
