"""What trace files add to protobuf: delimited frames, and times that resemble each other.

The rest is :mod:`rumormill.core.protobuf`, and what breaks the format raises its error.
"""

from __future__ import annotations

from functools import lru_cache

from rumormill.capture.foreign.errors import MalformedError
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import decode_varint

LONGEST_FRAME = 16 << 20
"""Bytes of one event or batch; a larger length is taken for damage."""

MOST_TAILS = 4096


def read_time(buffer: bytes, offset: int, end: int) -> tuple[int, int]:
    """As :func:`decode_varint`, in half the time for numbers of nine bytes: times are such.

    Times of one quarter of a second have the same last five bytes, whose worth is remembered; and
    a time is half of what an event costs to read.

    >>> read_time(bytes.fromhex("ac02"), 0, 2)
    (300, 2)
    """
    if offset < end and buffer[offset] < 0x80:
        return buffer[offset], offset + 1
    if offset + 9 <= end:
        tail = _worth_of_tail(buffer[offset + 4 : offset + 9])
        if tail is not None:
            a, b, c, d = buffer[offset : offset + 4]
            if b > 0x7F and c > 0x7F and d > 0x7F:
                low = a & 0x7F | (b & 0x7F) << 7 | (c & 0x7F) << 14 | (d & 0x7F) << 21
                return low + tail, offset + 9
    return decode_varint(buffer, offset, end)


@lru_cache(MOST_TAILS)
def _worth_of_tail(tail: bytes) -> int | None:
    """What five bytes add to a number that they are the end of; None if they are no end."""
    value, length = decode_varint(tail, 0, 5) if tail[4] < 0x80 else (0, 0)
    return value << 28 if length == 5 else None


def read_frames(buffer: bytes) -> tuple[list[tuple[int, int]], int]:
    """Where the whole frames of ``buffer`` begin and end, and where the next one begins.

    Raises :class:`MalformedError` only if the first frame has an impossible length; a later one
    will be the first of what is left.

    >>> read_frames(b"\\x03abc\\x01x\\x05half")
    ([(1, 4), (5, 6)], 6)
    """
    frames: list[tuple[int, int]] = []
    offset, size = 0, len(buffer)
    while offset < size:
        length, start = buffer[offset], offset + 1
        if length >= 0x80 and start < size and buffer[start] < 0x80:
            length, start = length & 0x7F | buffer[start] << 7, start + 1  # most of them
        elif length >= 0x80:
            try:
                length, start = decode_varint(buffer, offset, size)
            except RemoteProtocolError:
                if size - offset < 10 or frames:
                    break  # not all of the length is there, or it is looked at next time
                raise
        if length > LONGEST_FRAME:
            if frames:
                break
            raise MalformedError(f"an event of {length} bytes, {LONGEST_FRAME} are allowed")
        if start + length > size:
            break
        offset = start + length
        frames.append((start, offset))
    return frames, offset


def frame_size(buffer: bytes) -> int:
    """Bytes of the frame that begins here, its length included; 0 if that is not known.

    >>> frame_size(b"\\x05half"), frame_size(b"\\xff")
    (6, 0)
    """
    try:
        length, start = decode_varint(buffer, 0, len(buffer))
    except RemoteProtocolError:
        return 0
    return start + length if length <= LONGEST_FRAME else 0
