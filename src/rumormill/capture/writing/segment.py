"""Writing one segment: first the bytes of a batch, then its record in the index.

The record is what makes a batch be there. A batch that failed half-way is cut off again; where even
that fails, its bytes lie beyond the last record, where nobody looks.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
import zlib
from collections.abc import Collection
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from rumormill.capture.files.folder import Segment, force_to_disk, read_all, write_all
from rumormill.capture.files.index import (
    HEADER_SIZE,
    RECORD_SIZE,
    Header,
    Record,
    encode_header,
    encode_record,
)
from rumormill.capture.files.topics import TopicsView, encode_topics
from rumormill.system.files import EVERYBODY_READS, sync_folder
from rumormill.system.private_files import UnsafeFileError, open_private


class Whereabouts(Enum):
    """What has become of the files of a segment, at their names, while it was being written."""

    WELL = "well"
    INDEX_DAMAGED = "index damaged"
    """The index was removed, replaced or cut; the segment is all there."""
    DATA_CUT = "data cut"
    MOVED = "moved"
    REMOVED = "removed"


@dataclass
class SegmentWriter:
    """An open segment, and how far it is whole."""

    segment: Segment
    end: int
    """One past the offset of its last record."""
    data_end: int
    index_end: int
    data: int
    """Descriptors of the two files."""
    index: int
    header: Header
    dirty: bool = field(default=True, init=False)
    """Whether something was written that was not forced to the disk."""
    named: bool = field(default=False, init=False)
    """Whether the names of its files are known to be on the disk."""
    doubtful: bool = field(default=False, init=False)
    """Whether forcing it to the disk has failed. The system forgets then what it could not write,
    and says of the next attempt that all is well: nothing more may be trusted to these files."""

    def __post_init__(self) -> None:
        self._data_name, self._data_identity = str(self.segment.data), _identity(self.data)
        self._index_name, self._index_identity = str(self.segment.index), _identity(self.index)
        self._topics, self._topics_end = _open_topics(self.segment)

    @classmethod
    def create(
        cls, segment: Segment, schema: bytes, previous_end: int, latest_before: int
    ) -> SegmentWriter:
        """Begin a new segment; it is there for readers when this returns, and not before."""
        header = Header(
            first=segment.first,
            previous_end=previous_end,
            latest_before=latest_before,
            created=int(time.time() * 1e6),
            schema_size=len(schema),
            schema_crc=zlib.crc32(schema),
        )
        new_index = segment.index.with_suffix(".new")
        with contextlib.ExitStack() as undo:
            data = _new_file(segment.data)
            undo.callback(_remove, data, segment.data)
            write_all(data, schema, 0)
            index = _new_file(new_index)
            undo.callback(_remove, index, new_index)
            write_all(index, encode_header(header), 0)
            os.rename(new_index, segment.index)
            undo.pop_all()
        with contextlib.suppress(OSError):
            segment.topics.unlink(missing_ok=True)
        return cls(segment, segment.first, len(schema), HEADER_SIZE, data, index, header)

    @classmethod
    def resume(
        cls, segment: Segment, end: int, data_end: int, count: int, header: Header
    ) -> SegmentWriter:
        """Go on with a segment that is whole: ``count`` batches in ``data_end`` bytes."""
        with contextlib.ExitStack() as undo:
            data = open_private(segment.data, os.O_RDWR)
            undo.callback(os.close, data)
            index = open_private(segment.index, os.O_RDWR)
            undo.pop_all()
        return cls(segment, end, data_end, HEADER_SIZE + count * RECORD_SIZE, data, index, header)

    @property
    def created(self) -> float:
        """Seconds since the epoch."""
        return self.header.created / 1e6

    @property
    def rows(self) -> int:
        """How many records it has."""
        return self.end - self.segment.first

    @property
    def batches(self) -> int:
        """How many batches it has."""
        return (self.index_end - HEADER_SIZE) // RECORD_SIZE

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return self.data_end + self.index_end + self._topics_end

    def whereabouts(self) -> Whereabouts:
        """What is at the names of its files: two calls of the system, little beside a batch."""
        size = _size_at(self._data_name, self._data_identity)
        if size is None:
            removed = os.fstat(self.data).st_nlink == 0
            return Whereabouts.REMOVED if removed else Whereabouts.MOVED
        if size < self.data_end:
            return Whereabouts.DATA_CUT
        size = _size_at(self._index_name, self._index_identity)
        if size is None or size < self.index_end:
            return Whereabouts.INDEX_DAMAGED
        return Whereabouts.WELL

    def append(
        self,
        content: memoryview,
        rows: int,
        times: tuple[int, int],
        durable: bool,
        topics: Collection[str],
    ) -> None:
        """Write a batch: whole, or not at all (:class:`OSError`).

        ``durable``: force it to the disk before the index says that it is there.
        """
        record = Record(
            row_end=self.end + rows,
            byte_end=self.data_end + content.nbytes,
            first_time=times[0],
            last_time=times[1],
            rows=rows,
            size=content.nbytes,
            crc=zlib.crc32(content),
        )
        try:
            write_all(self.data, content, self.data_end)
            if durable:
                self._force(self.data)
            write_all(self.index, encode_record(record), self.index_end)
        except OSError:
            self._cut()
            raise
        self.end, self.data_end = record.row_end, record.byte_end
        self.index_end += RECORD_SIZE
        self.dirty = True
        self._append_topics(encode_topics(self.end, topics))

    def _append_topics(self, entry: bytes) -> None:
        """What cannot be written is done without, from here on: then readers read all."""
        if self._topics is None:
            return
        try:
            write_all(self._topics, entry, self._topics_end)
            self._topics_end += len(entry)
        except OSError:
            self._close_topics()

    def _close_topics(self) -> None:
        if self._topics is not None:
            os.close(self._topics)
            self._topics = None

    def _cut(self) -> None:
        """Remove what was written of a batch that did not fit."""
        for descriptor, end in ((self.index, self.index_end), (self.data, self.data_end)):
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, end)

    def sync(self) -> None:
        """Force everything to the disk."""
        if self.doubtful:
            raise OSError(errno.EIO, f"{self.segment.data} could not be forced to the disk before")
        if self.dirty:
            self._force(self.data)
            self._force(self.index)
            if not self.named:
                self._force_names()
            self.dirty, self.named = False, True

    def _force(self, descriptor: int) -> None:
        try:
            force_to_disk(descriptor)
        except OSError:
            self.doubtful = True
            raise

    def _force_names(self) -> None:
        try:
            sync_folder(self.segment.folder)
        except OSError:
            self.doubtful = True
            raise

    def close(self) -> None:
        """Close the files."""
        os.close(self.data)
        os.close(self.index)
        self._close_topics()


def _identity(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def _size_at(name: str, identity: tuple[int, int]) -> int | None:
    """The size of the file of that name, if it is this one."""
    try:
        found = os.lstat(name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_size if (found.st_dev, found.st_ino) == identity else None


def _new_file(file: Path) -> int:
    """Begin a file anew: what was there under its name, a link perhaps, is not written to."""
    file.unlink(missing_ok=True)
    return open_private(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode=EVERYBODY_READS)


def _open_topics(segment: Segment) -> tuple[int | None, int]:
    """The file with the topics and where to go on in it; None if there is no way."""
    try:
        descriptor = open_private(segment.topics, os.O_RDWR | os.O_CREAT, mode=EVERYBODY_READS)
    except (OSError, UnsafeFileError):
        return None, 0
    try:
        end = TopicsView(read_all(descriptor, os.fstat(descriptor).st_size, 0)).end
        os.ftruncate(descriptor, end)
    except OSError:
        os.close(descriptor)
        return None, 0
    return descriptor, end


def _remove(descriptor: int, file: os.PathLike[str]) -> None:
    os.close(descriptor)
    with contextlib.suppress(OSError):
        os.unlink(file)
