"""Reading a spool in a folder, while a writer appends to it and retention removes from it.

Nothing is remembered from one call to the next, so a reader is never out of date and can be sent to
another process. Files are read, not mapped: a mapped file that is cut off ends the process that
looks at it, a read one gives fewer bytes, and the checksum costs more than the copy anyway.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from rumormill.capture.files.folder import (
    Segment,
    list_segments,
    read_all,
    read_identity,
    read_marks,
)
from rumormill.capture.files.index import (
    HEADER_SIZE,
    RECORD_SIZE,
    Header,
    IndexView,
    Record,
    decode_header,
    decode_record,
)
from rumormill.capture.files.topics import TopicsView
from rumormill.capture.log import Bounds, CorruptSegmentError, DataLostError, Span
from rumormill.capture.reading.wanted import Wanted
from rumormill.capture.schema import KINDS, SCHEMAS, conformed, is_known
from rumormill.core.errors import ConfigError


class StoredBatch(NamedTuple):
    """A batch as it lies in a segment, its checksum verified."""

    first: int
    end: int
    data: bytes
    """An Arrow IPC message; with a schema message before it, a stream."""
    schema: pa.Schema


class LocalLog:
    """One kind of records of the spool in a folder; see :class:`rumormill.capture.log.Log`."""

    def __init__(self, folder: str | Path, kind: str) -> None:
        if kind not in KINDS:
            raise ConfigError("kind", f"must be one of {', '.join(KINDS)}, not {kind!r}")
        self.source = str(folder)
        self.kind = kind
        self.spool_id = read_identity(Path(folder)).id
        self.schema: pa.Schema = SCHEMAS[kind]
        self._folder = Path(folder) / kind

    def __repr__(self) -> str:
        return f"<LocalLog {self.source} {self.kind}>"

    def bounds(self) -> Bounds:
        """Which offsets there are now."""
        while True:
            closed = self._closed()
            segments = list_segments(self._folder)
            if not segments:
                return Bounds(closed, closed)
            try:
                end = _end(segments[-1])
            except FileNotFoundError:
                continue  # meanwhile newer ones came and retention removed it
            return Bounds(segments[0].first, max(end, closed))

    def _closed(self) -> int:
        """Where the last writer ended, if it said so: no smaller latest offset can be right.

        To be asked before looking at segments: a writer may go on in between, but not go back.
        """
        marks = read_marks(self._folder)
        return marks.closed or 0 if marks else 0

    def offset_at(self, time_us: int) -> int:
        """The first offset of the first batch that has a record of that time or later."""
        bounds = self.bounds()
        segments = list_segments(self._folder)
        begin = 0
        for number, segment in enumerate(segments[1:], start=1):
            header = read_header(segment)
            # All records before this segment are older, by what its header says.
            if header is not None and header.latest_before < time_us:
                begin = number
        for segment in segments[begin:]:
            view, position = _view(segment), segment.first
            for number in range(view.count):
                record = view[number]
                if record is None:
                    if position < bounds.latest:
                        return position  # its times are unknown: better too early
                    break
                if record.last_time >= time_us:
                    return record.first
                position = record.row_end
        return bounds.latest

    def spans(self, start: int, end: int) -> list[Span]:
        """The parts of [start, end) between which offsets were left out."""
        found: list[Span] = []
        for segment in list_segments(self._folder):
            if start < segment.first < end:
                before = _end_before(segment)
                if before < segment.first:
                    found += [Span(start, before)] if start < before else []
                    start = segment.first
        return [*found, Span(start, end)] if start < end else found

    # ---- records

    def read(
        self, start: int, end: int, wanted: Wanted | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The records with offsets in [start, end), in batches, each with its first offset."""
        for stored in self.stored(start, end, wanted):
            batch = pa.ipc.read_record_batch(pa.py_buffer(stored.data), stored.schema)
            batch = conformed(self.kind, batch)
            first, last = max(start, stored.first), min(end, stored.end)
            if last - first < batch.num_rows:
                batch = batch.slice(first - stored.first, last - first)
            yield first, batch

    def stored(self, start: int, end: int, wanted: Wanted | None = None) -> Iterator[StoredBatch]:
        """The stored batches that hold part or all of [start, end), for sending them on.

        A schema message (``schema.serialize()``) and those with that schema make an Arrow IPC
        stream.
        """
        if start >= end:
            return
        bounds = self.bounds()
        segments = list_segments(self._folder)
        if end > bounds.latest:
            reason = f"there are none yet, the next is {bounds.latest}"
            raise self._lost(max(start, bounds.latest), end, reason)
        if not segments or start < segments[0].first:
            raise self._removed(start, end)
        number = sum(segment.first <= start for segment in segments) - 1
        for segment, following in zip_longest(segments[number:], segments[number + 1 :]):
            if segment.first >= end:
                return
            for stored in self._batches(segment, following, start, end, wanted):
                yield stored
                start = stored.end

    def _batches(
        self,
        segment: Segment,
        following: Segment | None,
        start: int,
        end: int,
        wanted: Wanted | None,
    ) -> Iterator[StoredBatch]:
        """The batches of one segment that hold part of [start, end)."""
        start = max(start, segment.first)
        # The last segment holds all that there is; of another, the next one says where it ended.
        stop = min(end, _end_before(following)) if following else end
        if start >= stop:
            return
        try:
            content = segment.index.read_bytes()
            descriptor = os.open(segment.data, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise self._not_opened(segment, start, stop, error) from None
        try:
            yield from _SegmentReader(self, segment, IndexView(content), descriptor).batches(
                start, stop, wanted or Wanted()
            )
        finally:
            os.close(descriptor)

    # ---- what can be wrong

    def _not_opened(
        self, segment: Segment, start: int, end: int, error: OSError
    ) -> DataLostError | CorruptSegmentError:
        """A segment that was there a moment ago cannot be opened."""
        if isinstance(error, FileNotFoundError) and start < self.bounds().earliest:
            return self._removed(start, end)
        file = segment.data if segment.index.exists() else segment.index
        return self.corrupt(file, start, end, f"cannot be opened: {error.strerror}")

    def _removed(self, start: int, end: int) -> DataLostError:
        earliest = self.bounds().earliest
        reason = f"removed by retention, the first that is left is {earliest}"
        return self._lost(start, min(end, earliest), reason)

    def _lost(self, start: int, end: int, reason: str) -> DataLostError:
        return DataLostError(self.source, self.kind, start, end, reason)

    def corrupt(self, file: Path, start: int, end: int, reason: str) -> CorruptSegmentError:
        """An error about [start, end) that names a file of this log."""
        return CorruptSegmentError(self.source, self.kind, start, end, reason, str(file))


def _end(segment: Segment) -> int:
    """Where the whole batches of the last segment end."""
    with open(segment.index, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        count = max(0, size - HEADER_SIZE) // RECORD_SIZE
        head = read_all(file.fileno(), HEADER_SIZE, 0)
        if decode_header(head) is None:
            return segment.first
        # Nearly always the last record is whole, and nothing else need be read.
        last = HEADER_SIZE + max(0, count - 1) * RECORD_SIZE
        record = decode_record(read_all(file.fileno(), RECORD_SIZE, last))
        if record is None and count > 1:
            record = IndexView(head + read_all(file.fileno(), size, HEADER_SIZE)).last()
    return segment.first if record is None else record.row_end


def _end_before(segment: Segment) -> int:
    """Where the segment before this one ended; the rest up to this one is a gap."""
    header = read_header(segment)
    return segment.first if header is None else header.previous_end


def read_header(segment: Segment) -> Header | None:
    """The header of a segment's index; None if it is damaged or gone."""
    try:
        with open(segment.index, "rb", buffering=0) as file:
            return decode_header(read_all(file.fileno(), HEADER_SIZE, 0))
    except OSError:
        return None


def _view(segment: Segment) -> IndexView:
    return IndexView(_bytes_of(segment.index))


def _bytes_of(file: Path) -> bytes:
    """What is in a file; nothing if it cannot be read."""
    try:
        return file.read_bytes()
    except OSError:
        return b""


class _SegmentReader:
    """One segment and its index, while they are read."""

    def __init__(self, log: LocalLog, segment: Segment, view: IndexView, descriptor: int) -> None:
        self._log = log
        self._segment = segment
        self._view = view
        self._descriptor = descriptor

    def batches(self, start: int, end: int, wanted: Wanted) -> Iterator[StoredBatch]:
        """The batches that hold part of [start, end), all of which must be here."""
        schema = self._check_header(start, end)
        view = self._view
        topics = TopicsView(_bytes_of(self._segment.topics) if wanted.by_topic else b"")
        for number in range(view.find(start), view.count):
            record = view[number]
            if record is None or record.first > start:
                behind = self._first_good(number)
                raise self._damaged(start, min(end, behind or end), f"record {number} is damaged")
            times = record.first_time, record.last_time
            if wanted.may_be_in(topics.of(record.row_end), times):
                wanted.batches += 1
                data = self._data(record, number, start, end)
                yield StoredBatch(record.first, record.row_end, data, schema)
            else:
                wanted.passed += min(end, record.row_end) - start
            start = record.row_end
            if start >= end:
                return
        raise self._damaged(start, end, f"it ends at {start}, though more was written")

    def _check_header(self, start: int, end: int) -> pa.Schema:
        """The columns of the segment."""
        header = self._view.header
        if header is None or header.first != self._segment.first:
            raise self._damaged(start, end, "the header is damaged")
        content = read_all(self._descriptor, header.schema_size, 0)
        if zlib.crc32(content) != header.schema_crc:
            file = self._segment.data
            raise self._log.corrupt(file, start, end, "the schema at its beginning is damaged")
        schema = pa.ipc.read_schema(pa.py_buffer(content))
        if not is_known(self._log.kind, schema):
            raise self._log.corrupt(
                self._segment.data, start, end, "it has other columns than this rumormill knows"
            )
        return schema

    def _data(self, record: Record, number: int, start: int, end: int) -> bytes:
        """The bytes of a batch, as they were written."""
        try:
            data = read_all(self._descriptor, record.size, record.byte_begin)
            if len(data) < record.size:
                problem = f"the file ends within batch {number}"
            elif zlib.crc32(data) != record.crc:
                problem = f"batch {number} has another checksum than when it was written"
            else:
                return data
        except OSError as error:
            problem = f"batch {number} cannot be read: {error.strerror}"
        raise self._log.corrupt(self._segment.data, start, min(end, record.row_end), problem)

    def _first_good(self, number: int) -> int | None:
        """Where the first batch from this one on begins whose record is whole."""
        records = (self._view[each] for each in range(number, self._view.count))
        return next((record.first for record in records if record is not None), None)

    def _damaged(self, start: int, end: int, reason: str) -> CorruptSegmentError:
        return self._log.corrupt(self._segment.index, start, end, reason)
