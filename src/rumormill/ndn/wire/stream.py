"""Cutting a stream of bytes into packets, each an Interest, a Data or a link packet.

The bytes of a packet that is not whole yet are only put aside, so that one that comes in many small
pieces costs no more than its size, in time and in memory.
"""

from __future__ import annotations

from typing import Final

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.data import DATA
from rumormill.ndn.wire.interest import INTEREST
from rumormill.ndn.wire.link import LINK_PACKET
from rumormill.ndn.wire.tlv import MOST_PACKET, read_long

__all__ = ["MOST_PACKET", "Packets"]

_TYPES: Final = frozenset((INTEREST, DATA, LINK_PACKET))


class Packets:
    """Packets from pieces of a stream.

    >>> packets = Packets()
    >>> packets.feed(bytes.fromhex("0502aaaa 0601"))
    [b'\\x05\\x02\\xaa\\xaa']
    >>> packets.feed(b"!"), packets.buffered
    ([b'\\x06\\x01!'], 0)
    """

    __slots__ = ("_begun", "_most", "_problem", "_wanted")

    def __init__(self, most: int = MOST_PACKET) -> None:
        self._most = most
        """Bytes of the largest packet."""
        self._begun = bytearray()
        """The beginning of a packet that is not whole yet."""
        self._wanted = 0
        """How long it will be; 0 if that is not known yet."""
        self._problem: RemoteProtocolError | None = None

    @property
    def buffered(self) -> int:
        """Bytes of a packet that is not whole yet: less than the largest has."""
        return len(self._begun)

    def feed(self, data: bytes) -> list[bytes]:
        """The packets that are whole now.

        Raises :class:`RemoteProtocolError` if no packet can begin like this, and each time from
        then on: nobody knows where the next one begins. If packets came before it in the same
        piece, they are returned first and the error is raised at the next call.
        """
        begun = self._begun
        if begun:
            if len(begun) + len(data) < self._wanted:
                begun += data
                return []
            data = bytes(begun) + data
            self._begun, self._wanted = bytearray(), 0
        if self._problem is not None:
            raise self._problem
        found: list[bytes] = []
        at, size = 0, len(data)
        try:
            while at < size:
                stop = self._end_of_packet(data, at)
                if stop > size:
                    self._wanted = stop - at
                    break
                found.append(data[at:stop])
                at = stop
        except IndexError:  # the length is not whole
            pass
        except RemoteProtocolError as problem:
            self._problem = problem
            if not found:
                raise
            return found
        self._begun += memoryview(data)[at:]
        return found

    def _end_of_packet(self, data: bytes, at: int) -> int:
        """Where the packet at a place ends, be that beyond the data."""
        if data[at] not in _TYPES:
            raise RemoteProtocolError("bad_tlv", f"no packet begins with {data[at]}")
        size = data[at + 1]
        stop = at + 2 + size
        if size >= 253:
            size, start = read_long(data, at + 2, size)
            stop = start + size
        if stop - at > self._most:
            raise RemoteProtocolError(
                "packet_too_large", f"a packet of {stop - at} bytes, {self._most} allowed"
            )
        return stop
