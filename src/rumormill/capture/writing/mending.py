"""An index that does not agree with its segment is made anew from it.

A segment is a stream of Arrow messages, each of which says how long it is and how many rows it has:
all that the index says can be found again in it, except the checksums. So where an index was cut,
overwritten or removed, nothing is lost: its records that are whole are kept (they know what the
bytes were when they were written), the others are made of the bytes that are there, and only where
neither can be had, a place stays damaged, for readers to be told.

This is for segments that are *closed*: a newer one follows, or the spool was closed. They are never
shortened, whatever is wrong with them. What a killed writer left of the last one may be half a
batch, or what the disk made of one, and is the business of
:mod:`rumormill.capture.writing.recovery`.
"""

from __future__ import annotations

import os
import zlib
from collections import deque
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa

from rumormill.capture.files.folder import (
    DATA_SUFFIX,
    REMOVED_SUFFIX,
    Segment,
    list_segments,
    read_all,
)
from rumormill.capture.files.index import (
    HEADER_SIZE,
    RECORD_SIZE,
    Header,
    IndexView,
    Record,
    encode_header,
    encode_record,
)
from rumormill.capture.writing.columns import batch_times
from rumormill.system.files import replace_file
from rumormill.system.private_files import open_regular

ANY_TIME: Final = 2**63 - 1
"""What stands for the latest time where it is unknown: searches by time then skip nothing."""

DAMAGED: Final = bytes(RECORD_SIZE)
"""In the place of a record that nobody knows any more: its checksum is wrong."""

LARGEST_INDEX: Final = 64 * 1024 * 1024
"""Bytes; an index has a twentieth of this at most."""


class Expected(NamedTuple):
    """Where a closed segment lies between its neighbours."""

    previous_end: int
    """Where the records before it end, as far as that is known; else its own first offset."""
    end: int
    """Where its records end; at ``exact`` just there, else not behind."""
    exact: bool


def mend(folder: Path, closed: int | None) -> list[Segment]:
    """Make every index anew that does not agree with its closed segment; returns these segments.

    ``closed``: where the last segment ends; None if it was not closed, then it is left as it is.
    """
    indexed = set(list_segments(folder))
    segments = sorted({*indexed, *_without_index(folder, indexed, closed)}, key=lambda s: s.first)
    mended: list[Segment] = []
    previous_end: int | None = None
    for number, segment in enumerate(segments):
        following = segments[number + 1] if number + 1 < len(segments) else None
        if following is None and closed is None:
            break
        expected = _expected(segment, previous_end, following, closed)
        view = IndexView(read_index(segment))
        end = _end_if_whole(segment, view, expected)
        if end is None:
            content = index_of(segment, view, expected)
            if content is not None and content != view.content:
                replace_file(segment.index, content, alone=True)
                mended.append(segment)
                end = _end_if_whole(segment, IndexView(content), expected)
        previous_end = end
    return mended


def mend_one(segment: Segment, header: Header, end: int) -> bool:
    """Make the index anew of a segment whose writer knows its header and end.

    False if that cannot be done, as the segment is damaged, too.
    """
    view = IndexView(encode_header(header) + read_index(segment)[HEADER_SIZE:])
    expected = Expected(header.previous_end, end, exact=True)
    content = index_of(segment, view, expected)
    if content is None or _end_if_whole(segment, IndexView(content), expected) is None:
        return False
    replace_file(segment.index, content, alone=True)
    return True


def _without_index(folder: Path, indexed: set[Segment], closed: int | None) -> set[Segment]:
    """Segments whose index is gone, though nobody meant to remove them.

    The last of a spool that was not closed may never have had one.
    """
    last = max((segment.first for segment in indexed), default=-1)
    return {
        segment
        for segment in list_segments(folder, DATA_SUFFIX)
        if segment not in indexed
        and not segment.index.with_suffix(REMOVED_SUFFIX).exists()
        and (closed is not None or segment.first < last)
    }


def _expected(
    segment: Segment, previous_end: int | None, following: Segment | None, closed: int | None
) -> Expected:
    previous = segment.first if previous_end is None else previous_end
    if segment.first == 0 or previous > segment.first:
        previous = segment.first
    if following is None:
        assert closed is not None
        return Expected(previous, closed, exact=True)
    header = IndexView(read_index(following, HEADER_SIZE)).header
    if header is None or header.first != following.first:
        return Expected(previous, following.first, exact=False)
    return Expected(previous, header.previous_end, exact=True)


def read_index(segment: Segment, most: int = LARGEST_INDEX) -> bytes:
    """What is in the index; nothing if it is gone or is no file."""
    try:
        descriptor = open_regular(segment.index, os.O_RDONLY)
    except OSError:
        return b""
    with open(descriptor, "rb") as file:
        return file.read(most)


def _end_if_whole(segment: Segment, view: IndexView, expected: Expected) -> int | None:
    """Where the segment ends, if its index describes all of it; bytes may be missing in it."""
    header = view.header
    if header is None or header.first != segment.first or view.is_torn:
        return None
    ends = view.ends_if_whole()
    if ends is None:
        return None
    if expected.exact:
        return ends.row if ends.row >= expected.end else None
    try:
        size = os.stat(segment.data).st_size
    except OSError:
        size = 0
    return ends.row if size <= ends.byte and ends.row <= expected.end else None


# ---- from the segment


def index_of(segment: Segment, view: IndexView, expected: Expected) -> bytes | None:
    """The index that belongs to a segment, with what is good of the one it has.

    None if not even its beginning can be read.
    """
    try:
        descriptor = open_regular(segment.data, os.O_RDONLY)
    except OSError:
        return None
    try:
        source = _Messages(descriptor)
        schema_size, schema = source.schema()
        header = view.header
        if header is None or header.first != segment.first:
            header = Header(
                first=segment.first,
                previous_end=expected.previous_end,
                latest_before=ANY_TIME,
                created=int(os.fstat(descriptor).st_mtime * 1e6),
                schema_size=schema_size,
                schema_crc=zlib.crc32(read_all(descriptor, schema_size, 0)),
            )
        records = _records(source, schema, header, view, expected)
    except (pa.ArrowException, OSError, EOFError):
        return None
    finally:
        os.close(descriptor)
    return encode_header(header) + b"".join(records)


def _records(
    source: _Messages, schema: pa.Schema, header: Header, view: IndexView, expected: Expected
) -> list[bytes]:
    """The records of all batches that should be there; what is good of the old ones is among them.

    A batch that reaches beyond the expected end is none of this segment's: its writer failed at it
    and wrote it again, into the next one.
    """
    good = deque(
        sorted(
            (record for number in range(view.count) if (record := view[number])),
            key=lambda record: record.byte_end,
        )
    )
    found: list[bytes] = []
    place, row = header.schema_size, header.first
    while True:
        while good and (good[0].byte_begin < place or good[0].first < row):
            good.popleft()
        record = good[0] if good and (good[0].byte_begin, good[0].first) == (place, row) else None
        if record is None and row < expected.end:
            record = source.record(place, row, schema)
            if record is not None and record.row_end > expected.end:
                record = None
        if record is not None:
            found.append(encode_record(record))
            place, row = record.byte_end, record.row_end
        elif good:
            found.append(DAMAGED)
            place, row = good[0].byte_begin, good[0].first
        else:
            return found


class _Messages:
    """The Arrow messages of a segment, read one at a time.

    It is a file to Arrow that never hands out more than there is: a length that was damaged asks
    for no memory.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._size = os.fstat(descriptor).st_size
        self._place = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as Arrow asks for them."""
        left = max(0, self._size - self._place)
        content = read_all(self._descriptor, left if size < 0 else min(size, left), self._place)
        self._place += len(content)
        return content

    def tell(self) -> int:
        """How far it has come."""
        return self._place

    def _message(self, place: int) -> pa.ipc.Message:
        self._place = place
        return pa.ipc.read_message(pa.PythonFile(self, mode="r"))

    def schema(self) -> tuple[int, pa.Schema]:
        """The size of the first message, and the schema in it."""
        message = self._message(0)
        size = self._place
        return size, pa.ipc.read_schema(message)

    def record(self, place: int, row: int, schema: pa.Schema) -> Record | None:
        """What the index should say of the batch at ``place``; None if there is none."""
        try:
            batch = pa.ipc.read_record_batch(self._message(place), schema)
            batch.validate(full=True)
        except (pa.ArrowException, OSError, EOFError):
            return None
        end = self._place
        if not batch.num_rows:
            return None
        first_time, last_time = batch_times(batch)
        if first_time is None:  # a batch, but none of records
            return None
        return Record(
            row_end=row + batch.num_rows,
            byte_end=end,
            first_time=first_time,
            last_time=last_time,
            rows=batch.num_rows,
            size=end - place,
            crc=zlib.crc32(read_all(self._descriptor, end - place, place)),
        )
