"""Frames: packets on a byte stream, each with its length before it."""

from __future__ import annotations

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import decode_varint, encode_varint


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

    __slots__ = ("_pending", "_wanted", "largest")

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._pending = bytearray()
        self._wanted = 0

    @property
    def pending(self) -> int:
        """Bytes of an unfinished frame that are being held."""
        return len(self._pending)

    def feed(self, data: bytes) -> list[bytes]:
        """Take more bytes; return the frames that are whole now.

        Raises :class:`RemoteProtocolError` as soon as a length announces too much, before any of
        that frame is kept.
        """
        buffer, places = self.cut(data)
        return [buffer[start:end] for start, end in places]

    def cut(self, data: bytes) -> tuple[bytes, list[tuple[int, int]]]:
        """The same without a copy: a buffer, and where in it each whole frame begins and ends."""
        pending = self._pending
        if pending:
            # Until the frame is whole its bytes are only put aside: a megabyte that trickles in
            # must not be looked at, or copied, with every byte of it.
            if len(pending) + len(data) < self._wanted:
                pending += data
                return b"", []
            data = b"".join((pending, data))
        places: list[tuple[int, int]] = []
        start, size, wanted = 0, len(data), 0
        while start < size:
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
        self._pending = bytearray(data[start:])
        self._wanted = wanted
        return data, places

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
