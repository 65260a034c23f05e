"""Rows of many files, put in the order of time.

Tracers write events nearly in their order, Hermes' sinks less so. Each file's rows pass through a
window, in which they are sorted; then the files are merged. A file is opened when its time has
come, so that a thousand files of an hour each are not open at once. What comes too late for the
window is passed on where it is, and counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc

from rumormill.capture.foreign.detect import TraceFile
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.rows import Row, in_order, joined, to_batch

WINDOW = 16_384
"""Rows of a file that are held back to be sorted."""

MOST_HELD = 1 << 19
"""Rows of all files that are held back, if there are many files; but no file has fewer than..."""

SMALLEST_WINDOW = 512


def window_of(files: int) -> int:
    """Rows to hold back of each of so many files.

    >>> window_of(1), window_of(100), window_of(100_000)
    (16384, 5242, 512)
    """
    return max(SMALLEST_WINDOW, min(WINDOW, MOST_HELD // max(files, 1)))


def ordered(
    blocks: Iterable[list[Row]], findings: Findings, window: int = WINDOW
) -> Iterator[pa.RecordBatch]:
    """The rows of one file as batches, in the order of time."""
    held: list[pa.RecordBatch] = []
    rows: list[Row] = []
    for block in chain(blocks, [None]):
        if block is not None:
            rows += block
            if len(rows) < window:
                continue
        if rows:
            held.append(to_batch(rows))
            rows = []
        if not held:
            return
        batch = in_order(joined(held))
        kept = 0 if block is None else min(window, batch.num_rows)
        done = batch.slice(0, batch.num_rows - kept)
        held = [batch.slice(done.num_rows)]
        if done.num_rows:
            findings.rows += done.num_rows
            yield done


class Stream:
    """One file that is being merged."""

    def __init__(self, file: TraceFile, window: int = WINDOW) -> None:
        self.findings = Findings(str(file.path), file.format)
        self.first_time = 0 if file.first is None else file.first[0]
        self.source, reader = file.reader(self.findings)
        self._batches = ordered(reader.read(), self.findings, window)
        self._head = to_batch(())

    def refill(self) -> bool:
        """See to it that there is something to take; False if there never will be."""
        while not self._head.num_rows:
            batch = next(self._batches, None)
            if batch is None:
                return False
            self._head = batch
        return True

    @property
    def last_time(self) -> int:
        """Up to here nothing more is to be read."""
        return _time(self._head, -1)

    def take(self, until: int) -> pa.RecordBatch:
        """The rows up to and with that time."""
        count = _rows_until(self._head, until)
        taken, self._head = self._head.slice(0, count), self._head.slice(count)
        return taken


class Merger:
    """The rows of all files, in the order of time; files of one time in the order given."""

    def __init__(self, streams: Sequence[Stream]) -> None:
        self.late_rows = 0
        """Rows that came after later ones all the same."""
        self._places = {id(stream): place for place, stream in enumerate(streams)}
        self._waiting = deque(sorted(streams, key=lambda stream: stream.first_time))
        self._active: list[Stream] = []

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        latest = 0
        while (until := self._open()) is not None:
            parts = [stream.take(until) for stream in self._active]
            batch = in_order(joined([part for part in parts if part.num_rows]))
            self.late_rows += _rows_until(batch, latest - 1)
            latest = max(latest, _time(batch, -1))
            yield batch
            self._active = [stream for stream in self._active if stream.refill()]

    def _open(self) -> int | None:
        """Open the files whose time has come; returns how far all that are open have been read."""
        until = min((stream.last_time for stream in self._active), default=None)
        while self._waiting and (until is None or self._waiting[0].first_time <= until):
            stream = self._waiting.popleft()
            if stream.refill():
                self._active.append(stream)
                until = stream.last_time if until is None else min(until, stream.last_time)
        self._active.sort(key=lambda stream: self._places[id(stream)])
        return until


def _time(batch: pa.RecordBatch, row: int) -> int:
    time: int = batch.column(0)[row].as_py()
    return time


def _rows_until(batch: pa.RecordBatch, until: int) -> int:
    """How many of the rows, which are in order, have that time or an earlier one."""
    if not batch.num_rows or _time(batch, 0) > until:
        return 0
    if _time(batch, -1) <= until:
        return int(batch.num_rows)
    count: int = pc.sum(pc.less_equal(batch.column(0), until)).as_py()
    return count
