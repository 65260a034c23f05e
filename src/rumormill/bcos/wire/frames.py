"""Cutting a stream of bytes into packets: both kinds begin with their whole length in four bytes.

The bytes of a packet that is not whole yet are only put aside, so that a large one that comes in
many small pieces costs no more than its size, in time and in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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

    __slots__ = ("_begun", "_largest", "_problem", "_smallest", "_start", "_unread", "_wanted")

    def __init__(self, smallest: int, largest: int = MOST_BYTES) -> None:
        self._smallest = smallest
        self._largest = largest
        self._begun = bytearray()
        """The beginning of a packet that is not whole yet."""
        self._wanted = 0
        """How long it will be; 0 if not even its length is whole."""
        self._unread = b""
        """What came last, and has not been cut from ``_start`` on."""
        self._start = 0
        self._problem: RemoteProtocolError | None = None

    @property
    def buffered(self) -> int:
        """Bytes of a packet that is not whole yet, and whatever was not walked over."""
        return len(self._begun) + len(self._unread) - self._start

    def feed(self, data: bytes) -> Iterable[bytes]:
        """Each packet that is whole now, its length included.

        Raises :class:`RemoteProtocolError` at a length that no packet can have, after those before;
        and each time from then on: nobody knows where the next packet begins. Who takes one and
        does not come back for the others gets them the next time.
        """
        if self._unread:
            data = self._unread[self._start :] + data
        elif self._begun:
            if len(self._begun) + len(data) < self._wanted:
                self._begun += data
                return ()
        elif self._is_one_packet(data):
            return (data,)
        self._unread, self._start = data, 0
        return self._packets()

    def _is_one_packet(self, data: bytes) -> bool:
        """Most often it is: who sends a packet writes it at once."""
        size = len(data)
        return (
            self._smallest <= size <= self._largest
            and int.from_bytes(data[:LENGTH_SIZE], "big") == size
            and self._problem is None
        )

    def _packets(self) -> Iterator[bytes]:
        if self._problem is not None:
            self._unread = b""
            raise self._problem
        if self._begun:
            packet = self._finish()
            if packet is not None:
                yield packet
        data, start = self._unread, self._start
        size, smallest, largest = len(data), self._smallest, self._largest
        while size - start >= LENGTH_SIZE:
            length = int.from_bytes(data[start : start + LENGTH_SIZE], "big")
            if not smallest <= length <= largest:
                raise self._impossible(length)
            end = start + length
            if end > size:
                self._wanted = length
                break
            # Before it is handed out: who has it may not come back.
            self._start = end
            yield data[start:end]
            start = end
        self._begun += memoryview(data)[start:]
        self._unread, self._start = b"", 0

    def _finish(self) -> bytes | None:
        """The packet that had begun before, if it is whole now."""
        if not self._wanted:
            if not self._move(LENGTH_SIZE):
                return None
            length = int.from_bytes(self._begun, "big")
            if not self._smallest <= length <= self._largest:
                raise self._impossible(length)
            self._wanted = length
        if not self._move(self._wanted):
            return None
        packet = bytes(self._begun)
        self._begun, self._wanted = bytearray(), 0
        return packet

    def _move(self, wanted: int) -> bool:
        """Put aside what is missing of so many bytes; whether they are all there."""
        begun = self._begun
        end = min(self._start + wanted - len(begun), len(self._unread))
        begun += memoryview(self._unread)[self._start : end]
        self._start = end
        return len(begun) == wanted

    def _impossible(self, length: int) -> RemoteProtocolError:
        """No packet has this length: nothing more can be read."""
        reason, detail = "packet_too_large", f"{self._largest} allowed"
        if length < self._smallest:
            reason, detail = "packet_too_short", f"its header alone has {self._smallest}"
        self._problem = RemoteProtocolError(reason, f"a packet of {length} bytes, {detail}")
        self._begun, self._unread, self._start = bytearray(), b"", 0
        return self._problem
