"""Frames: packets on a byte stream, each with its length before it."""

from __future__ import annotations

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import decode_varint, encode_varint

MANY = 1 << 30
"""More frames than fit into anything."""


def length_prefixed(frame: bytes) -> bytes:
    """``frame`` with its length before it, as on every libp2p stream."""
    return encode_varint(len(frame)) + frame


def prefix_length(frame: bytes) -> int:
    """How many bytes the length prefix of a whole frame takes.

    >>> prefix_length(length_prefixed(bytes(300)))
    2
    """
    length = 1
    while frame[length - 1] >= 0x80:
        length += 1
    return length


class FrameReader:
    """Cuts a byte stream into length-prefixed frames, none longer than ``largest``.

    >>> reader = FrameReader(largest=100)
    >>> reader.feed(b"\\x03ab"), reader.feed(b"c\\x01")
    ([], [b'abc'])
    """

    __slots__ = ("_pending", "_unread", "_wanted", "largest")

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._pending = bytearray()
        self._wanted = 0
        self._unread: tuple[bytes, int] | None = None

    @property
    def pending(self) -> int:
        """Bytes of an unfinished frame that are being held."""
        return len(self._pending)

    @property
    def unread(self) -> int:
        """Bytes that came and were not cut yet."""
        if self._unread is None:
            return 0
        buffer, start = self._unread
        return len(buffer) - start

    def feed(self, data: bytes) -> list[bytes]:
        """Take more bytes; return the frames that are whole now.

        Raises :class:`RemoteProtocolError` as soon as a length announces too much, before any of
        that frame is kept.
        """
        buffer, places = self.cut(data)
        return [buffer[start:end] for start, end in places]

    def cut(self, data: bytes, most: int = MANY) -> tuple[bytes, list[tuple[int, int]]]:
        """The same without a copy: a buffer, and where in it each whole frame begins and ends.

        No more than ``most`` of them: what is behind stays unread, and comes with the next call.
        """
        start = 0
        if self._unread is not None:
            data, start = self._take_unread(data)
        pending = self._pending
        if pending:
            # Until the frame is whole its bytes are only put aside: a megabyte that trickles in
            # must not be looked at, or copied, with every byte of it.
            if len(pending) + len(data) < self._wanted:
                pending += data
                return b"", []
            data = b"".join((pending, data))
        places: list[tuple[int, int]] = []
        size, wanted = len(data), 0
        while start < size:
            if len(places) == most:
                self._unread = data, start
                start = size
                break
            length, offset = data[start], start + 1
            if length >= 0x80:
                if offset < size and data[offset] < 0x80:
                    # Two bytes: 128 to 16383, which most messages are. Worth saving the calls.
                    length, offset = length & 0x7F | data[offset] << 7, offset + 1
                else:
                    prefix = self._length(data, start, size)
                    if prefix is None:
                        break
                    length, offset = prefix
            if length > self.largest:
                raise RemoteProtocolError(
                    "frame_too_large", f"a frame of {length} bytes, {self.largest} allowed"
                )
            end = offset + length
            if end > size:
                wanted = end - start
                break
            places.append((offset, end))
            start = end
        if start < size or pending:  # else it ends with a whole frame, as nearly always
            self._pending = bytearray(data[start:])
            self._wanted = wanted
        return data, places

    def _take_unread(self, data: bytes) -> tuple[bytes, int]:
        """What is to be cut next, and where it begins."""
        assert self._unread is not None
        buffer, start = self._unread
        self._unread = None
        return (buffer[start:] + data, 0) if data else (buffer, start)

    def put_back(self, buffer: bytes, start: int) -> None:
        """What the last cut found from ``start`` on was not wanted yet: it comes again."""
        self._unread = buffer, start
        self._pending = bytearray()
        self._wanted = 0

    def part(self) -> FrameReader:
        """Give away the frame that is half read, to a reader of its own; whole ones stay unread."""
        half = FrameReader(self.largest)
        if self._unread is None:
            half._pending, self._pending = self._pending, half._pending
            half._wanted, self._wanted = self._wanted, 0
            return half
        buffer, start = self._unread
        _, places = half.cut(buffer[start:])
        self._unread = (buffer[: start + places[-1][1]], start) if places else None
        return half

    @staticmethod
    def _length(data: bytes, start: int, size: int) -> tuple[int, int] | None:
        """The varint at ``start``, or None if its end has not arrived yet."""
        last = min(size, start + 10)
        for offset in range(start, last):
            if data[offset] < 0x80:
                return decode_varint(data, start, offset + 1)
        if last - start == 10:
            raise RemoteProtocolError("bad_length", "a length prefix of more than 10 bytes")
        return None
