"""Cutting a stream of bytes into packets: both kinds begin with their whole length in four bytes.

A packet is put together once, when its last byte is there, so that a large one that comes in many
small pieces costs no more than its size.
"""

from __future__ import annotations

from collections.abc import Iterator

from rumormill.core.errors import RemoteProtocolError

LENGTH_SIZE = 4

MOST_BYTES = 100 * 1024 * 1024
"""What nodes from 2.8.0 on take, before and after decompression."""


class FrameReader:
    """Packets from pieces of a stream.

    >>> reader = FrameReader(smallest=5)
    >>> list(reader.feed(bytes.fromhex("00000006 6869 000000")))
    [b'\\x00\\x00\\x00\\x06hi']
    >>> reader.buffered
    3
    """

    __slots__ = ("_largest", "_pieces", "_smallest", "_wanted", "buffered")

    def __init__(self, smallest: int, largest: int = MOST_BYTES) -> None:
        self._smallest = smallest
        self._largest = largest
        self._pieces: list[bytes] = []
        self._wanted = LENGTH_SIZE
        """Bytes that must be there before it is worth a look."""
        self.buffered = 0
        """Bytes of a packet that is not whole yet."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Each packet that is whole now, its length included.

        Raises :class:`RemoteProtocolError` at a length that no packet can have, after those before.
        Walk it to its end: what is left is kept only then.
        """
        if self._pieces:
            self._pieces.append(data)
            self.buffered += len(data)
            if self.buffered < self._wanted:
                return
            data = b"".join(self._pieces)
            self._pieces.clear()
        start, size = 0, len(data)
        while size - start >= LENGTH_SIZE:
            length = int.from_bytes(data[start : start + LENGTH_SIZE], "big")
            if not self._smallest <= length <= self._largest:
                raise self._impossible(length)
            if size - start < length:
                self._keep(data[start:], length)
                return
            yield data[start : start + length] if length != size else data
            start += length
        self._keep(data[start:], LENGTH_SIZE)

    def _keep(self, rest: bytes, wanted: int) -> None:
        self.buffered, self._wanted = len(rest), wanted
        if rest:
            self._pieces.append(rest)

    def _impossible(self, length: int) -> RemoteProtocolError:
        if length < self._smallest:
            detail = f"a packet of {length} bytes, its header alone has {self._smallest}"
            return RemoteProtocolError("packet_too_short", detail)
        detail = f"a packet of {length} bytes, {self._largest} allowed"
        return RemoteProtocolError("packet_too_large", detail)
