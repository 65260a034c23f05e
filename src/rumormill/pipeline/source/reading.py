"""What a task does: reads a range of one spool and hands it to Spark as Arrow record batches.

Stored columns pass through as they are, without a copy; those that are not stored (partition,
offset, spool...) are added. Topics are filtered only where a batch holds others, too.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from rumormill.capture.log import Log, SpoolError, UnreadableError, read_what_is_left
from rumormill.capture.open import open_log
from rumormill.capture.reading.wanted import Wanted
from rumormill.pipeline.source.arrays import number_array, repeated_array
from rumormill.pipeline.source.columns import LOG_APPEND_TIME
from rumormill.pipeline.source.ranges import Range, Task
from rumormill.pipeline.source.selection import Selection

log = logging.getLogger("rumormill.pipeline")

FEW_ROWS: Final = 256
"""Batches smaller than this are put together: each costs Spark a fixed time."""

MANY_BYTES: Final = 256 << 10
"""Unless they are as large as this."""


@dataclass(frozen=True)
class ReadPlan:
    """What is the same for every task of a query."""

    kind: str
    schema: pa.Schema
    """The columns that Spark wants, in its order."""
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    events: tuple[str, ...] | None = None
    first_us: int | None = None
    """The earliest and the latest time that are wanted."""
    last_us: int | None = None
    token: str | None = None
    fail_on_data_loss: bool = True
    retry_seconds: float = 30.0

    def open(self, source: str) -> Log:
        """The log of one spool."""
        return open_log(source, self.kind, token=self.token, retry_seconds=self.retry_seconds)


def read_task(plan: ReadPlan, task: Task) -> Iterator[pa.RecordBatch]:
    """The rows of a task, as Spark wants them."""
    _settle_worker()
    return put_together(batch for wanted in task.ranges for batch in read_range(plan, wanted))


def read_range(plan: ReadPlan, wanted: Range) -> Iterator[pa.RecordBatch]:
    """The rows of a range, every one of which was seen when this ends."""
    spool = plan.open(wanted.source)
    check_identity(spool, wanted.spool)
    sought = Wanted(
        None if plan.topics is None else frozenset(plan.topics), plan.pattern,
        plan.first_us, plan.last_us,
    )  # fmt: skip
    seen = 0

    def lost(error: UnreadableError) -> None:
        nonlocal seen
        count = min(error.end, wanted.end) - max(error.start, wanted.start)
        seen += count
        log.warning("skipped %d offsets (failOnDataLoss=false): %s", count, error)

    if plan.fail_on_data_loss:
        batches = spool.read(wanted.start, wanted.end, sought)
    else:
        batches = read_what_is_left(spool, wanted.start, wanted.end, lost, sought)
    add = _Adder(plan.schema, wanted)
    select = Selection(plan, wanted)
    for offset, batch in batches:
        seen += batch.num_rows
        offsets = number_array(np.arange(offset, offset + batch.num_rows, dtype=np.int64))
        mask = select.mask(batch, offsets)
        if mask is not None:
            batch, offsets = batch.filter(mask), offsets.filter(mask)
        if batch.num_rows:
            yield add.columns(batch, offsets)
    seen += sought.passed
    if seen != wanted.end - wanted.start:
        raise SpoolError(
            f"{spool.source}: {plan.kind} {wanted.start} to {wanted.end - 1} of spool "
            f"{wanted.spool} are {wanted.end - wanted.start} records, but {seen} were read"
        )


def put_together(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in fewer batches where they are small, as those of a slow topic are."""
    small: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if not small and (batch.num_rows >= FEW_ROWS or batch.nbytes >= MANY_BYTES):
            yield batch
            continue
        small.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= FEW_ROWS or size >= MANY_BYTES:
            yield pa.concat_batches(small)
            small, rows, size = [], 0, 0
    if small:
        yield pa.concat_batches(small)


def check_identity(spool: Log, expected: str) -> None:
    """Raise :class:`SpoolError` if another spool is where the expected one was."""
    if spool.spool_id != expected:
        raise SpoolError(
            f"{spool.source}: the spool here is {spool.spool_id}, but {expected} was read here "
            "before; its offsets mean other records"
        )


class _Adder:
    """Puts the columns that are not stored beside those that are."""

    def __init__(self, schema: pa.Schema, wanted: Range) -> None:
        self._schema = schema
        self._constants: Mapping[str, int | str] = {
            "partition": wanted.partition,
            "timestampType": LOG_APPEND_TIME,
            "spool": wanted.spool,
        }
        self._repeated: dict[str, pa.Array] = {}

    def columns(self, batch: pa.RecordBatch, offsets: pa.Array) -> pa.RecordBatch:
        """The batch with all columns of the schema, and no others."""
        arrays = []
        for name in self._schema.names:
            if name == "offset":
                arrays.append(offsets)
            elif name in self._constants:
                arrays.append(self._repeat(name, batch.num_rows))
            else:
                arrays.append(batch.column(name))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _repeat(self, name: str, rows: int) -> pa.Array:
        """The first ``rows`` of an array that is made once and grows to the largest batch."""
        array = self._repeated.get(name)
        if array is None or len(array) < rows:
            array = self._repeated[name] = repeated_array(self._constants[name], rows)
        return array.slice(0, rows)


_settled = False


def _settle_worker() -> None:
    """Once in each Python worker: keep what is loaded by now out of garbage collection.

    Spark collects garbage after every task, through all modules; without them it takes a fifth.
    """
    global _settled
    if not _settled:
        _settled = True
        gc.collect()
        gc.freeze()
