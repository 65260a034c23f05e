"""What a writer does first: find out where the last one ended, and cut off what is not whole.

Segments that are closed are never shortened; an index that does not agree with its segment is made
anew from it (:mod:`rumormill.capture.writing.mending`). All are closed but the last one, and so is
that if the writer closed the spool and said where it ended. After any other end the last segment is
examined from its end on: bytes without a record in the index, half a record, records without bytes,
batches whose checksum differs are cut off, up to the last batch that is whole. Everything that is
cut off or made anew is reported.

**Offsets never repeat.** After a power cut, records may be lost that a reader has already seen. So
a writer reserves offsets before it uses them, thousands at a time, in a small file that is on the
disk before the first of them is given out. After an unclean end it goes on where the reservation
ends. What lies between is a gap: the next segment says where the one before it ended, so readers
tell a gap, which never held a record that is there, from records that were lost.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from rumormill.capture.files.folder import (
    DATA_SUFFIX,
    REMOVED_SUFFIX,
    Marks,
    Segment,
    list_segments,
    read_all,
    read_marks,
    remove_segment,
)
from rumormill.capture.files.index import (
    HEADER_SIZE,
    NO_TIME,
    RECORD_SIZE,
    Header,
    IndexView,
    Record,
)
from rumormill.capture.writing.mending import ANY_TIME, mend, read_index
from rumormill.system.private_files import open_private, open_regular

UNKNOWN_STEP: Final = 1 << 32
"""How far offsets go on when nobody knows which were given out, as the marks are lost."""

MADE_ANEW: Final = "the index did not agree with the segment and was made anew from it"
"""The reason of a :class:`Cut` by which nothing was cut off."""


class Cut(NamedTuple):
    """Something that was cut off, or found missing, when a spool was opened."""

    file: str
    bytes: int
    rows: int
    """Records that the index knew of; those that were still being written are not counted."""
    reason: str


class LastSegment(NamedTuple):
    """The last segment, if it is whole."""

    segment: Segment
    header: Header
    end: int
    data_end: int
    batches: int
    latest_time: int


class Recovered(NamedTuple):
    """Where the writer of one kind goes on."""

    next: int
    """The offset of the next record."""
    previous_end: int
    """Where the records before it end; the rest is a gap."""
    latest_time: int
    """The latest time of all records before it."""
    last: LastSegment | None
    """The segment to go on with; None for a new one."""
    cuts: tuple[Cut, ...] = ()


def recover(folder: Path) -> Recovered:
    """Make the segments of one kind whole, and say where to go on."""
    marks = read_marks(folder)
    closed = None if marks is None else marks.closed
    _remove_leftovers(folder)
    mended = [Cut(str(each.index), 0, 0, MADE_ANEW) for each in mend(folder, closed)]
    if closed is not None:
        found = _after_close(folder, closed)
    else:
        found = _after_unclean_end(folder, marks)
    return found._replace(cuts=(*mended, *found.cuts))


def _after_close(folder: Path, closed: int) -> Recovered:
    """The last writer said where it ended. If less is there, it was damaged since then."""
    segments = list_segments(folder)
    if not segments:
        return Recovered(closed, closed, NO_TIME, None)
    last = _inspect(segments[-1])
    if last is not None and last.end == closed:
        return Recovered(closed, closed, last.latest_time, last)
    if segments[-1].first <= closed and (last is None or last.end < closed):
        # Not touched: readers are to be told, by name, which file it is.
        end = segments[-1].first if last is None else last.end
        cut = Cut(str(segments[-1].index), 0, closed - end, "damaged since it was closed")
        return Recovered(closed, closed, ANY_TIME, None, (cut,))
    return _after_unclean_end(folder, Marks(closed, None))  # the marks are older than the rest


def _after_unclean_end(folder: Path, marks: Marks | None) -> Recovered:
    """Cut off what is not whole, and go on behind every offset that may have been given out."""
    segments = list_segments(folder)
    cuts = list(_remove_torn_beginnings(folder, segments))
    last: LastSegment | None = None
    fresh = not segments and marks is None
    end, latest = 0, NO_TIME
    if segments:
        end, latest = segments[-1].first, ANY_TIME
        last, cut = _made_whole(segments.pop())
        if cut is not None:
            cuts.append(cut)
    if last is None and segments:
        # What came before it is closed and not shortened, whatever it is like.
        last = _inspect(segments[-1])
    if last is not None:
        end, latest = last.end, last.latest_time
    if fresh:
        return Recovered(0, 0, NO_TIME, None, tuple(cuts))
    following = end + UNKNOWN_STEP if marks is None else max(end, marks.reserved)
    if last is not None and following == end and not _has_schema(last):
        last = None
    if last is None or following == end:
        return Recovered(following, end, latest, last, tuple(cuts))
    if last.batches == 0:
        # Nothing is in it and nothing will be: the gap before it becomes longer.
        end = last.header.previous_end
        remove_segment(last.segment)
    return Recovered(following, end, latest, None, tuple(cuts))


# ---- one segment


def _inspect(segment: Segment) -> LastSegment | None:
    """A segment as its index describes it, if all of it is there; nothing is changed."""
    try:
        size = segment.data.stat().st_size
    except OSError:
        return None
    view = IndexView(read_index(segment))
    records = [view[number] for number in range(view.count)]
    if view.header is None or view.header.first != segment.first or None in records:
        return None
    last = _described(segment, view.header, [record for record in records if record])
    return last if last.data_end <= size and _has_schema(last) else None


def _has_schema(last: LastSegment) -> bool:
    """Whether the beginning of the segment is as it was written: without it, all is lost on it."""
    with open(open_regular(last.segment.data, os.O_RDONLY), "rb") as file:
        return zlib.crc32(file.read(last.header.schema_size)) == last.header.schema_crc


def _described(segment: Segment, header: Header, records: list[Record]) -> LastSegment:
    return LastSegment(
        segment=segment,
        header=header,
        end=records[-1].row_end if records else segment.first,
        data_end=records[-1].byte_end if records else header.schema_size,
        batches=len(records),
        latest_time=max([header.latest_before, *(record.last_time for record in records)]),
    )


def _made_whole(segment: Segment) -> tuple[LastSegment | None, Cut | None]:
    """The segment without its torn tail, and what that was; None if nothing is left of it."""
    view = IndexView(read_index(segment))
    records = [view[number] for number in range(view.count)]
    known = sum(record.rows for record in records if record)
    header = view.header
    try:
        descriptor = open_private(segment.data, os.O_RDWR)
    except FileNotFoundError:
        size = remove_segment(segment)
        return None, Cut(str(segment.data), size, known, "the file is missing")
    try:
        size = os.fstat(descriptor).st_size
        if header is None or header.first != segment.first or size < header.schema_size:
            size = remove_segment(segment)
            return None, Cut(str(segment.data), size, known, "the index is torn")
        while records and not _is_whole(records[-1], descriptor):
            records.pop()
        # Records that were damaged further in are left: they cost their own batch only.
        whole = [record for record in records if record]
        last = _described(segment, header, whole)._replace(batches=len(records))
        if None in records:
            last = last._replace(latest_time=ANY_TIME)
        index_size = HEADER_SIZE + len(records) * RECORD_SIZE
        surplus = size - last.data_end + len(view.content) - index_size
        if surplus:
            os.truncate(segment.index, index_size)
            os.ftruncate(descriptor, last.data_end)
    finally:
        os.close(descriptor)
    rows = known - sum(record.rows for record in whole)
    cut = Cut(str(segment.data), surplus, rows, "the tail is torn") if surplus else None
    return last, cut


def _is_whole(record: Record | None, descriptor: int) -> bool:
    if record is None:
        return False
    data = read_all(descriptor, record.size, record.byte_begin)
    return len(data) == record.size and zlib.crc32(data) == record.crc


# ---- files without an index


def _remove_leftovers(folder: Path) -> None:
    """Remove what retention, or the making of a file, left half done."""
    for file in folder.glob("*.new"):
        file.unlink(missing_ok=True)
    for doomed in list_segments(folder, REMOVED_SUFFIX):
        remove_segment(doomed)


def _remove_torn_beginnings(folder: Path, segments: list[Segment]) -> Iterator[Cut]:
    """Remove segments at the end that never got an index, or lost it."""
    for orphan in list_segments(folder, DATA_SUFFIX):
        if not segments or orphan.first > segments[-1].first:
            yield Cut(str(orphan.data), remove_segment(orphan), 0, "there is no index")
