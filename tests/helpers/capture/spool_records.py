"""Numbered records for spools, and what is in one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.reading.local import LocalLog
from rumormill.capture.schema import MESSAGES
from rumormill.capture.writing.appender import Appender
from rumormill.capture.writing.columns import batch_times, messages_batch
from rumormill.capture.writing.writer import SpoolWriter
from rumormill.core.message import Message
from rumormill.core.trace import TraceEvent

NODE = "12D3KooWnode"
BEGIN = 1_700_000_000.0


def message(number: int, size: int = 0) -> Message:
    """Message ``number``; its value says which one it is, and it is so many seconds late."""
    return Message(
        topic="weather",
        data=(b"%d" % number).ljust(size, b"."),
        sender="12D3KooWsender",
        id=number.to_bytes(8, "big"),
        network="gossipsub",
        received_from="12D3KooWpeer",
        received_at=BEGIN + number,
        fields={"sequence": number},
    )


def event(number: int) -> TraceEvent:
    """Trace event ``number``."""
    return TraceEvent(BEGIN + number, NODE, "delivered", "weather", b"%d" % number, None, {})


def batch(numbers: Sequence[int], size: int = 0) -> pa.RecordBatch:
    """Messages as one batch."""
    return messages_batch([(message(number, size), NODE) for number in numbers]).batch


def write_batches(
    folder: Path, batches: Sequence[Sequence[int]], size: int = 0, **parameters: Any
) -> None:
    """Open a spool, write these messages, one batch each, and close it."""
    with SpoolWriter(folder, SpoolParameters(**parameters)) as writer:
        for numbers in batches:
            writer.batch(MESSAGES, batch(numbers, size))


def append(appender: Appender, numbers: Sequence[int], size: int = 0) -> None:
    """Write these messages as one batch."""
    made = batch(numbers, size)
    appender.append(made, batch_times(made))


def number_of(row: dict[str, Any]) -> int:
    """Which message it is."""
    return int(row["value"].rstrip(b"."))


def numbered(log: LocalLog, start: int | None = None, end: int | None = None) -> dict[int, int]:
    """Offset and number of every message in [start, end)."""
    bounds = log.bounds()
    start = bounds.earliest if start is None else start
    end = bounds.latest if end is None else end
    return dict(offsets_and_numbers(log.read(start, end)))


def offsets_and_numbers(
    batches: Iterator[tuple[int, pa.RecordBatch]],
) -> Iterator[tuple[int, int]]:
    """Offset and number of each message of these batches."""
    for offset, found in batches:
        for place, value in enumerate(found.column("value").to_pylist()):
            yield offset + place, int(value.rstrip(b"."))


def kill(writer: SpoolWriter) -> None:
    """End a writer as if its process had been killed: nothing more is written, nothing closed.

    What it had handed to the system stays, as it does with kill -9.
    """
    assert writer.flush()
    writer._stopping = True
    lanes = list(writer._lanes.values())
    for lane in lanes:
        lane.close = lambda: None  # type: ignore[method-assign]
    writer._some.set()
    writer._full.set()
    writer._thread.join()
    for lane in lanes:
        lane.appender._segment.close()
    writer._lock.release()
