"""The writing end of one kind of records: which segment, which offsets, what is kept.

Disk errors (:class:`OSError`) are passed on to the caller; the batch at hand is then not there, and
may be appended again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pyarrow as pa

from rumormill.capture.files.folder import (
    Marks,
    Segment,
    list_segments,
    read_marks,
    remove_segment,
    write_marks,
)
from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import SCHEMAS
from rumormill.capture.writing.mending import mend_one
from rumormill.capture.writing.recovery import recover
from rumormill.capture.writing.retention import records_in
from rumormill.capture.writing.segment import SegmentWriter, Whereabouts
from rumormill.system.private_files import make_own_folder

RESERVED_AHEAD: Final = 65_536
"""Offsets that are reserved at once: one small write that must reach the disk for so many."""

MOST_BATCHES: Final = 65_536
"""Of one segment, so that its index stays small to readers."""

FULL: Final = frozenset((errno.ENOSPC, errno.EDQUOT))
"""Errors after which a file can be gone on with."""


class DisplacedError(OSError):
    """The segment that is being written is not at its place any more; ``rows`` went with it.

    The appender goes on with a new one, in a folder made anew if need be, when it is tried again.
    """

    def __init__(self, where: Whereabouts, segment: Segment, rows: int) -> None:
        words = {
            Whereabouts.REMOVED: "was removed while it was being written",
            Whereabouts.MOVED: "was moved away while it was being written",
            Whereabouts.DATA_CUT: "was cut while it was being written",
        }
        super().__init__(errno.ENOENT, f"{segment.data} {words[where]}")
        self.rows = rows if where is Whereabouts.REMOVED else 0


class Appender:
    """Appends batches to one kind of records of a spool.

    ``restore`` makes the folder of the spool anew, should it be removed.
    """

    def __init__(
        self,
        folder: Path,
        kind: str,
        parameters: SpoolParameters,
        restore: Callable[[], None] = lambda: None,
    ) -> None:
        self.kind = kind
        self._restore = restore
        self._displaced = False
        self._parameters = parameters
        self._folder = folder / kind
        make_own_folder(self._folder)
        self._schema: pa.Schema = SCHEMAS[kind]
        self._schema_bytes = bytes(self._schema.serialize())
        self._options = pa.ipc.IpcWriteOptions(
            compression=parameters.compression(kind), use_threads=False
        )
        self.recovered = recover(self._folder)
        """What was found at the start."""
        self.removed: dict[str, list[int]] = {}
        """What was removed of old records and nobody has told yet: by the setting that says so,
        how many records and bytes."""
        self._latest_time = self.recovered.latest_time
        self._abandoned = False
        self._segment = self._first_segment()
        marks = read_marks(self._folder)
        if marks is None:
            marks = Marks(self.end, None)
            write_marks(self._folder, marks)
        self._marks = marks

    def _first_segment(self) -> SegmentWriter:
        last = self.recovered.last
        if last is not None:
            return SegmentWriter.resume(
                last.segment, last.end, last.data_end, last.batches, last.header
            )
        return self._new_segment(self.recovered.next, self.recovered.previous_end)

    def _new_segment(self, first: int, previous_end: int) -> SegmentWriter:
        segment = Segment(self._folder, first)
        new = SegmentWriter.create(segment, self._schema_bytes, previous_end, self._latest_time)
        if self._parameters.fsync != "never":
            with contextlib.suppress(
                OSError
            ):  # it is doubtful then: the first batch begins another
                new.sync()
        return new

    @property
    def end(self) -> int:
        """The offset of the next record."""
        return self._segment.end

    def append(self, batch: pa.RecordBatch, times: tuple[int, int]) -> None:
        """Write a batch; ``times`` are the earliest and the latest in it, in microseconds."""
        content = self._encoded(batch)
        self._reserve(self.end + batch.num_rows)
        if self._must_leave or self._segment_is_full():
            self.roll()
        try:
            durable = self._parameters.fsync == "batch"
            self._segment.append(content, batch.num_rows, times, durable, _topics(batch))
        except OSError as error:
            # After other errors nobody knows what is in the file; but an empty one does no harm.
            self._abandoned = error.errno not in FULL and self._segment.rows > 0
            raise
        # Looked at again: what goes into a file that is gone is not kept, and comes once more.
        self._leave_if_gone(self._segment.whereabouts(), batch.num_rows)
        self._latest_time = max(self._latest_time, times[1])

    def _encoded(self, batch: pa.RecordBatch) -> memoryview:
        """The batch as an Arrow IPC message."""
        if self._options.compression is None:
            return memoryview(batch.serialize())
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self._schema, options=self._options) as stream:
            stream.write_batch(batch)
            end = sink.tell()
        # The stream begins with the schema, which the segment has already.
        return memoryview(sink.getvalue())[len(self._schema_bytes) : end]

    def _reserve(self, end: int) -> None:
        """See to it that offsets up to ``end`` will never be given out again."""
        if end > self._marks.reserved:
            marks = Marks(end + RESERVED_AHEAD, None)
            write_marks(self._folder, marks)
            self._marks = marks

    # ---- whoever removes or cuts files while they are written

    def look_after(self) -> bool:
        """See that the segment is where it was put and its index whole; mend what can be mended.

        Returns whether the index had to be made anew. Raises :class:`DisplacedError` if the segment
        is gone, once: the next call goes on with a new one.
        """
        if self._displaced:
            self._restore()
            make_own_folder(self._folder)
            marks = Marks(max(self._marks.reserved, self.end), None)
            write_marks(self._folder, marks)
            self._marks = marks
            self.roll()
            self._displaced = False
            return False
        found = self._segment.whereabouts()
        self._leave_if_gone(found)
        if found is Whereabouts.INDEX_DAMAGED and not self._must_leave:
            self.sync()
            if not mend_one(self._segment.segment, self._segment.header, self.end):
                self._leave_if_gone(Whereabouts.DATA_CUT)
            self._abandoned = True  # its descriptor is that of the old one
            self.roll()
            return True
        return False

    def _leave_if_gone(self, found: Whereabouts, at_hand: int = 0) -> None:
        """``at_hand``: rows of the segment that are not lost with it, as they are tried again."""
        if found not in (Whereabouts.WELL, Whereabouts.INDEX_DAMAGED):
            self._abandoned = self._displaced = True
            raise DisplacedError(found, self._segment.segment, self._segment.rows - at_hand)

    # ---- segments

    @property
    def _must_leave(self) -> bool:
        """Whether nothing more may be written to the segment at hand."""
        return self._abandoned or self._segment.doubtful

    def _segment_is_full(self) -> bool:
        segment = self._segment
        return segment.rows > 0 and (
            segment.size >= self._parameters.segment_limit
            or segment.batches >= MOST_BATCHES
            or time.time() - segment.created >= self._parameters.segment_age
        )

    def roll(self) -> None:
        """Begin a new segment."""
        if not self._must_leave:
            self.sync()
        new = self._new_segment(self.end, self.end)
        self._segment.close()
        self._segment, self._abandoned = new, False
        with contextlib.suppress(OSError):  # tried again by and by
            self._remove_old()

    def tidy(self) -> None:
        """Roll a segment that has become old, and remove what need not be kept."""
        if self._segment_is_full():
            self.roll()
        self._remove_old()

    def _remove_old(self) -> None:
        most, oldest = self._parameters.most_bytes, self._parameters.retention_age
        if most is None and oldest is None:
            return
        segments = [each for each in list_segments(self._folder) if each.first < self.first]
        sizes = {segment: _size(segment) for segment in segments}
        total = sum(sizes.values()) + self._segment.size
        for segment in segments:
            too_much = most is not None and total > most
            too_old = oldest is not None and time.time() - _written_at(segment) > oldest
            if not too_much and not too_old:
                break
            records = records_in(segment.index)
            remove_segment(segment)
            reason = "retention_bytes" if too_much else "retention_age"
            gone = self.removed.setdefault(reason, [0, 0])
            gone[0] += records
            gone[1] += sizes[segment]
            total -= sizes[segment]

    @property
    def first(self) -> int:
        """Offset of the first record of the segment that is being written."""
        return self._segment.segment.first

    # ---- the disk

    @property
    def dirty(self) -> bool:
        """Whether something was written that was not forced to the disk."""
        return self._segment.dirty

    def sync(self) -> None:
        """Force everything to the disk, unless the user wants that never.

        A segment of which that failed is left for a new one: of the same files the system would say
        now that they are on the disk, though what it could not write is lost for good.
        """
        if self._parameters.fsync == "never":
            self._segment.dirty = False
            return
        if self._segment.doubtful and not self._displaced:
            self.roll()
        self._segment.sync()

    def close(self) -> None:
        """Say where this ends, so that the next writer goes on there."""
        try:
            self.sync()
            if self._marks.closed is None and not self._displaced:
                write_marks(self._folder, Marks(self.end, self.end))
        finally:
            self._segment.close()


def _topics(batch: pa.RecordBatch) -> list[str]:
    """The topics in a batch."""
    return [topic for topic in batch.column("topic").unique().to_pylist() if topic is not None]


def _size(segment: Segment) -> int:
    size = 0
    for file in (segment.data, segment.index, segment.topics):
        with contextlib.suppress(FileNotFoundError):
            size += os.stat(file).st_size
    return size


def _written_at(segment: Segment) -> float:
    """When its last record was written; a segment that is gone is old enough."""
    try:
        return os.stat(segment.data).st_mtime
    except FileNotFoundError:
        return 0.0
