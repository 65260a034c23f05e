"""The sidecar index of a segment: a header, then one record of fixed width for each batch.

A batch is there from the moment when its record is; the segment's bytes beyond the last record are
being written, or were left behind by a writer that was killed. The header and every record carry a
checksum of their own, and every record says by itself which rows and bytes it means, so that one
that was damaged costs no other.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

MAGIC: Final = b"RUMRMIDX"
VERSION: Final = 1
NO_TIME: Final = -(2**63)
"""Earlier than any time: what came before the first record."""

_HEADER = struct.Struct("<8sHHIQQqqQ")
_RECORD = struct.Struct("<QQqqIII")
_CHECKSUM = struct.Struct("<I")

HEADER_SIZE: Final = 64
RECORD_SIZE: Final = _RECORD.size + _CHECKSUM.size  # 48


class Header(NamedTuple):
    """What the index says about its segment as a whole."""

    first: int
    """Offset of the first record; the name of the file says the same."""
    previous_end: int
    """Where the segment before it ended. What lies between is a gap: it never held a record."""
    latest_before: int
    """The latest time, in microseconds, of all records of all segments before."""
    created: int
    """Microseconds since the epoch."""
    schema_size: int
    """Bytes of the segment before its first batch."""
    schema_crc: int


class Record(NamedTuple):
    """One batch."""

    row_end: int
    """One past the offset of its last row."""
    byte_end: int
    """Where it ends in the segment."""
    first_time: int
    """The earliest and the latest time in it, in microseconds."""
    last_time: int
    rows: int
    size: int
    """Bytes."""
    crc: int
    """CRC-32 of these bytes."""

    @property
    def first(self) -> int:
        """Offset of its first row."""
        return self.row_end - self.rows

    @property
    def byte_begin(self) -> int:
        """Where it begins in the segment."""
        return self.byte_end - self.size


def encode_header(header: Header) -> bytes:
    """The header as bytes."""
    body = _HEADER.pack(
        MAGIC, VERSION, RECORD_SIZE, header.schema_crc, header.first, header.previous_end,
        header.latest_before, header.created, header.schema_size,
    ).ljust(HEADER_SIZE - _CHECKSUM.size, b"\0")  # fmt: skip
    return body + _CHECKSUM.pack(zlib.crc32(body))


def decode_header(data: bytes) -> Header | None:
    """The header, or None if these bytes are none.

    >>> header = Header(0, 0, NO_TIME, 1_700_000_000_000_000, 1024, 7)
    >>> decode_header(encode_header(header)) == header
    True
    """
    if len(data) < HEADER_SIZE:
        return None
    body = data[: HEADER_SIZE - _CHECKSUM.size]
    if _CHECKSUM.unpack_from(data, len(body))[0] != zlib.crc32(body):
        return None
    magic, version, record_size, crc, first, previous, latest, created, size = _HEADER.unpack_from(
        data
    )
    if magic != MAGIC or version != VERSION or record_size != RECORD_SIZE or first < previous:
        return None
    return Header(first, previous, latest, created, size, crc)


def encode_record(record: Record) -> bytes:
    """The record as bytes."""
    body = _RECORD.pack(*record)
    return body + _CHECKSUM.pack(zlib.crc32(body))


def decode_record(data: bytes, position: int = 0) -> Record | None:
    """The record at ``position``, or None if it was damaged."""
    body = data[position : position + _RECORD.size]
    if len(data) - position < RECORD_SIZE:
        return None
    if _CHECKSUM.unpack_from(data, position + _RECORD.size)[0] != zlib.crc32(body):
        return None
    record = Record(*_RECORD.unpack(body))
    if not 0 < record.rows <= record.row_end or not 0 < record.size <= record.byte_end:
        return None
    return record


class Ends(NamedTuple):
    """Where the records of an index end."""

    row: int
    byte: int


class IndexView:
    """The records of an index, read as they are asked for."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.header = decode_header(data)
        self.count = max(0, len(data) - HEADER_SIZE) // RECORD_SIZE
        """Whole records; bytes that are none yet do not count."""

    @property
    def content(self) -> bytes:
        """All bytes of the index."""
        return self._data

    @property
    def is_torn(self) -> bool:
        """Whether it ends within a record."""
        return len(self._data) != HEADER_SIZE + self.count * RECORD_SIZE

    def ends_if_whole(self) -> Ends | None:
        """Where it ends, if every record is whole and follows the one before it; else None."""
        if self.header is None:
            return None
        row, byte = self.header.first, self.header.schema_size
        data, checksum = memoryview(self._data), zlib.crc32
        # Called for every segment when a spool is opened, so it makes no objects.
        place = HEADER_SIZE
        for _ in range(self.count):
            end = place + _RECORD.size
            row_end, byte_end, _, _, rows, size, _ = _RECORD.unpack_from(data, place)
            if (
                checksum(data[place:end]) != _CHECKSUM.unpack_from(data, end)[0]
                or row_end - rows != row
                or byte_end - size != byte
                or not rows
            ):
                return None
            row, byte, place = row_end, byte_end, place + RECORD_SIZE
        return Ends(row, byte)

    def __getitem__(self, number: int) -> Record | None:
        return decode_record(self._data, HEADER_SIZE + number * RECORD_SIZE)

    def find(self, offset: int) -> int:
        """Number of the record that holds ``offset`` or, if none does, of the first behind it."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            record = self[middle]
            if record is None:
                return self._search(offset)
            if record.row_end <= offset:
                low = middle + 1
            else:
                high = middle
        return low

    def _search(self, offset: int) -> int:
        """The same among records of which some were damaged: the first that may hold it."""
        found = 0
        for number in range(self.count):
            record = self[number]
            if record is None:
                continue
            if record.row_end > offset:
                return found if record.first > offset else number
            found = number + 1
        return found

    def last(self) -> Record | None:
        """The last record that is whole, if there is any."""
        for number in reversed(range(self.count)):
            record = self[number]
            if record is not None:
                return record
        return None
