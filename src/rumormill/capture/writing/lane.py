"""One kind of records on its way from the event loop to the disk."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import MESSAGES
from rumormill.capture.writing.appender import Appender
from rumormill.capture.writing.buffer import LEAST, Buffer
from rumormill.capture.writing.columns import (
    Converted,
    MessageRecord,
    TraceRecord,
    batch_times,
    converted,
    mend_message,
    mend_trace,
    messages_batch,
    trace_batch,
)
from rumormill.capture.writing.losses import CAPTURED, Failure, Losses, Report
from rumormill.capture.writing.retention import SPOOL_TRIMMED
from rumormill.core.trace import DROPPED, FOLLOWED, REPEATABLE, TraceEvent

RECORD_OVERHEAD: Final = 600
"""Bytes that a record takes in memory besides the data of its message."""

READY_BATCHES: Final = 8
"""Batches made by others that may wait."""

log = logging.getLogger("rumormill")


def size_of_message(record: MessageRecord) -> int:
    """What a message counts in the buffer."""
    return len(record[0][1]) + RECORD_OVERHEAD


def size_of_event(record: TraceRecord) -> int:
    """What a trace event counts in the buffer."""
    return RECORD_OVERHEAD


def claim_of_message(record: MessageRecord) -> str | None:
    """Whose place a message takes in a buffer that fills: that of the peer that handed it over."""
    return record[0].received_from


def claim_of_event(record: TraceRecord) -> str | None:
    """The same of a trace event; what a peer can repeat at will waits behind everything else."""
    event = record[0]
    if event.event in REPEATABLE or event.event in FOLLOWED:
        return None if event.event == DROPPED and _is_of_spool(event) else LEAST
    return event.peer


def _is_of_spool(event: TraceEvent) -> bool:
    """Whether it tells of records that were lost: that has to be known as long as there is room."""
    return str(event.fields.get("what")).startswith(CAPTURED)


class Lane:
    """The buffer, the conversion and the files of one kind of records.

    ``shared``: whether strangers decide how many records there are, and the buffer is to be fair.
    """

    def __init__(
        self,
        folder: Path,
        kind: str,
        parameters: SpoolParameters,
        some: threading.Event,
        full: threading.Event,
        report: Report,
        shared: bool = False,
        restore: Callable[[], None] = lambda: None,
    ) -> None:
        self.kind = kind
        self._report = report
        claim_of = claim_of_message if kind == MESSAGES else claim_of_event
        self.buffer: Buffer[Any] = Buffer(
            size_of=size_of_message if kind == MESSAGES else size_of_event,
            claim_of=claim_of if shared else None,
            most=parameters.buffer_records,
            most_bytes=parameters.buffer_bytes,
            batch=parameters.batch_records,
            batch_bytes=parameters.batch_bytes,
            some=some,
            full=full,
        )
        self.ready: deque[Converted] = deque()
        """Batches that others made, to be written as they are."""
        self.appender = Appender(folder, kind, parameters, restore)
        self.losses = Losses(kind, report)
        self.written = 0
        """Records that were written."""
        self.removed = 0
        """Records that were removed as the oldest, in the time of this writer."""
        self.unfit = 0
        """Records that no column could hold."""
        self.given_up = 0
        """Records that still waited when the spool was closed while its disk failed."""
        self._fsync = parameters.fsync
        self._held: Converted | None = None
        self._held_count = 0  # records, or 1 for a batch that was made by others
        self._done = self._batches_added = 0
        self._synced_at = time.monotonic()

    @property
    def lost(self) -> int:
        """Records that did not get into the spool, ever."""
        return self.unfit + self._overflow

    @property
    def _overflow(self) -> int:
        """Those of them that were lost for want of room."""
        return self.buffer.dropped + self.given_up

    @property
    def failure(self) -> Failure | None:
        """What is wrong with the disk, if anything is."""
        return self.losses.failure

    @property
    def waiting(self) -> bool:
        """Whether there is something to write."""
        return self._held is not None or bool(self.ready) or len(self.buffer) > 0

    @property
    def has_batch(self) -> bool:
        """Whether there is something that need not wait for more."""
        return self._held is not None or bool(self.ready) or self.buffer.has_batch

    @property
    def added(self) -> int:
        """Records and batches that were handed over, ever."""
        return self.buffer.added + self._batches_added

    @property
    def done(self) -> int:
        """How many of them were dealt with, ever."""
        return self._done

    def add_batch(self, batch: Converted) -> None:
        """Take a batch that somebody else made."""
        self._batches_added += 1
        self.ready.append(batch)

    # ---- writing

    def write(self, now: float) -> bool:
        """Write one batch, if anything waits and the disk is not to be left alone for a while.

        A batch that fails stays first in line. Returns whether something was written.
        """
        wrote = False
        if self.failure is None or now >= self.failure.next_try:
            try:
                if self.waiting or self.failure is not None:
                    self._look_after()
                wrote = self._write_one()
                self._sync(now)
            except OSError as error:
                if self.losses.failed(error):
                    self.tidy()  # it may make room
            except Exception:  # nothing that is known; but the thread must live on
                log.exception("a batch of %s could not be written", self.kind)
                self._discard()
            else:
                if wrote or not self.waiting:
                    self.losses.resumed(self._overflow)
        self.losses.count(self._overflow, now)
        self._tell_removed()
        return wrote

    def _write_one(self) -> bool:
        if self._held is None and not self._hold_next():
            return False
        if self._held is not None:
            self.appender.append(*self._held)
            self.written += self._held.batch.num_rows
        self._held = None
        self._done += self._held_count
        return True

    def _discard(self) -> None:
        """Give up the batch at hand, which would fail again and again."""
        if self._held is not None:
            self.unfit += self._held.batch.num_rows
            self.losses.unfit(self._held.batch.num_rows)
            self._held = None
            self._done += self._held_count

    def _hold_next(self) -> bool:
        """Make the next batch; False if nothing waits."""
        if self.ready:
            self._held, self._held_count = self.ready.popleft(), 1
            return True
        records = self.buffer.take()
        if not records:
            return False
        self._held_count = len(records)
        try:
            if self.kind == MESSAGES:
                self._held, unfit = converted(records, messages_batch, mend_message)
            else:
                self._held, unfit = converted(records, trace_batch, mend_trace)
        except Exception:  # nothing that is known; but the thread must live on
            log.exception("%d %s could not be converted", len(records), self.kind)
            self._held, unfit = None, len(records)
        self.unfit += unfit
        self.losses.unfit(unfit)
        return True

    def _sync(self, now: float) -> None:
        if self._fsync == "batch" or now >= self.sync_due:
            self.appender.sync()
            self._synced_at = now

    @property
    def sync_due(self) -> float:
        """When what was written must be forced to the disk."""
        if not isinstance(self._fsync, float) or not self.appender.dirty:
            return float("inf")
        return self._synced_at + self._fsync

    def _look_after(self) -> None:
        if self.appender.look_after():
            self.losses.mended()

    def _notice(self) -> None:
        """Look after the files though there may be nothing to write."""
        if self.failure is None:
            try:
                self._look_after()
            except OSError as error:
                self.losses.failed(error)

    def tidy(self) -> None:
        """Remove what need not be kept, and see that what is kept is still there."""
        self._notice()
        with contextlib.suppress(OSError):  # tried again before long
            self.appender.tidy()
        self._tell_removed()

    def _tell_removed(self) -> None:
        while self.appender.removed:
            reason, (count, size) = self.appender.removed.popitem()
            self.removed += count
            self._report(SPOOL_TRIMMED, kind=self.kind, reason=reason, count=count, bytes=size)

    def close(self) -> None:
        """Write what waits, count what cannot be written as lost, and say where this ends."""
        self.buffer.close()
        self._notice()
        if self.failure is not None:
            self.failure.next_try = 0.0
        while self.waiting and (self.write(time.monotonic()) or self.failure is None):
            pass
        self._give_up()
        self.tidy()
        try:
            self.appender.close()
        except OSError as error:
            self.losses.failed(error)
        self.losses.count(self._overflow, time.monotonic(), at_once=True)

    def _give_up(self) -> None:
        if self._held is not None:
            self.given_up += self._held.batch.num_rows
            self._held = None
        self.given_up += sum(each.batch.num_rows for each in self.ready)
        self.ready.clear()
        while records := self.buffer.take():
            self.given_up += len(records)

    def due(self, now: float) -> float:
        """When this lane next wants the thread's attention."""
        if self.failure is not None:
            return self.failure.next_try
        if self.waiting:
            return now
        return min(self.sync_due, self.losses.due(self._overflow, now))


def checked_batch(batch: pa.RecordBatch, schema: pa.Schema) -> Converted:
    """A batch that somebody else made, if it has the columns of its kind."""
    if not batch.schema.equals(schema):
        raise ValueError(f"the batch has other columns than {schema.names}")
    return Converted(batch, batch_times(batch))
