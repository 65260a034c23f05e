"""What a task does: reads a range of one spool and hands it to Spark as Arrow record batches.

Stored columns pass through as they are, without a copy; those that are not stored (partition,
offset, spool...) are added. Topics are filtered only where a batch holds others, too.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rumormill.capture.log import Log, SpoolError, UnreadableError, read_what_is_left
from rumormill.capture.open import open_log
from rumormill.capture.remote import RemoteLog
from rumormill.pipeline.arrays import number_array, repeated_array, text_array
from rumormill.pipeline.columns import LOG_APPEND_TIME
from rumormill.pipeline.positions import EVERY_TOPIC
from rumormill.pipeline.ranges import Range

log = logging.getLogger("rumormill.pipeline")

FEW_ROWS: Final = 256
"""Batches smaller than this are put together: each costs Spark a fixed time."""

MANY_BYTES: Final = 256 << 10
"""Unless they are as large as this."""

Constant = Callable[[int], pa.Array]


@dataclass(frozen=True)
class ReadPlan:
    """What is the same for every task of a query."""

    kind: str
    schema: pa.Schema
    """The columns that Spark wants, in its order."""
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    token: str | None = None
    fail_on_data_loss: bool = True
    retry_seconds: float = 30.0

    def open(self, source: str) -> Log:
        """The log of one spool."""
        if source.startswith(("http://", "https://")):
            return RemoteLog(source, self.kind, token=self.token, retry_seconds=self.retry_seconds)
        return open_log(source, self.kind)


def read_range(plan: ReadPlan, wanted: Range) -> Iterator[pa.RecordBatch]:
    """The rows of a range, as Spark wants them."""
    _settle_worker()
    spool = plan.open(wanted.source)
    check_identity(spool, wanted.spool)
    if plan.fail_on_data_loss:
        batches = spool.read(wanted.start, wanted.end)
    else:
        batches = read_what_is_left(spool, wanted.start, wanted.end, _report_lost)
    add = _Adder(plan.schema, wanted)
    select = _Selection(plan.topics, plan.pattern, wanted.floors, wanted.ceilings)
    for offset, batch in batches:
        offsets = number_array(np.arange(offset, offset + batch.num_rows, dtype=np.int64))
        mask = select.mask(batch, offsets)
        if mask is not None:
            batch, offsets = batch.filter(mask), offsets.filter(mask)
        if batch.num_rows:
            yield add.columns(batch, offsets)


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


def _report_lost(error: UnreadableError) -> None:
    log.warning("skipped %d offsets (failOnDataLoss=false): %s", error.end - error.start, error)


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


class _Selection:
    """Which rows of a batch are wanted: by topic, and by offset where topics differ in it."""

    def __init__(
        self,
        topics: tuple[str, ...] | None,
        pattern: str | None,
        floors: Mapping[str, int],
        ceilings: Mapping[str, int],
    ) -> None:
        self._topics = None if topics is None else text_array(topics)
        self._pattern = pattern
        self._floors = floors
        self._ceilings = ceilings

    def mask(self, batch: pa.RecordBatch, offsets: pa.Array) -> pa.Array | None:
        """True for each row that is wanted; None if all are."""
        masks = []
        topic = batch.column("topic")
        if self._topics is not None:
            masks.append(pc.is_in(topic, value_set=self._topics))
        elif self._pattern is not None:
            masks.append(pc.fill_null(pc.match_substring_regex(topic, self._pattern), False))
        if self._floors:
            masks.append(pc.greater_equal(offsets, _limits(topic, self._floors, 0)))
        if self._ceilings:
            masks.append(pc.less(offsets, _limits(topic, self._ceilings, 2**63 - 1)))
        if not masks:
            return None
        mask = masks[0]
        for more in masks[1:]:
            mask = pc.and_(mask, more)
        return None if mask.true_count == len(mask) else mask


def _limits(topic: pa.Array, limits: Mapping[str, int], default: int) -> pa.Array:
    """For each row, the offset where its topic begins or ends."""
    rest = limits.get(EVERY_TOPIC, default)
    named = [name for name in limits if name != EVERY_TOPIC]
    places = pc.index_in(topic, value_set=pa.array(named, pa.string()))
    return pc.fill_null(pa.array([limits[name] for name in named], pa.int64()).take(places), rest)


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
