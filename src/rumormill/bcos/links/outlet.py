"""The way out of one connection: packets leave as they come, or wait while the socket is full."""

from __future__ import annotations

from collections import deque

from rumormill.core.transport import CloseTransport, WriteBytes
from rumormill.core.turn import Turn


class Outlet:
    """What is to be written on one connection, in order, and never more than there is room for.

    Each packet is a write of its own, and so a TLS record of its own: SDKs read no more than one
    packet at a time, and lose or delay what comes with it.
    """

    __slots__ = ("_closed", "_connection", "_most_bytes", "_ready", "_turn", "_waiting", "waiting")

    def __init__(self, turn: Turn, connection: int, most_bytes: int) -> None:
        self._turn = turn
        self._connection = connection
        self._most_bytes = most_bytes
        self._waiting: deque[bytes] = deque()
        self._ready = True
        self._closed = False
        self.waiting = 0
        """Bytes that wait."""

    @property
    def free(self) -> bool:
        """Whether a packet would leave at once."""
        return self._ready and not self._waiting

    @property
    def has_room(self) -> bool:
        """Whether a small packet would find room."""
        return not self._closed and (self._ready or self.waiting < self._most_bytes)

    def write(self, raw: bytes) -> bool:
        """Write a packet; False if there is no room for it, and nothing is done.

        A packet finds room when nothing waits, whatever its size.
        """
        if self._closed:
            return False
        if self._ready:
            self._turn.add(WriteBytes(self._connection, raw))
            return True
        if self._waiting and self.waiting + len(raw) > self._most_bytes:
            return False
        self._waiting.append(raw)
        self.waiting += len(raw)
        return True

    def set_ready(self, ready: bool) -> None:
        """The socket is full, or has room again; see :class:`WriteReady`."""
        self._ready = ready
        while self._ready and self._waiting and not self._closed:
            raw = self._waiting.popleft()
            self.waiting -= len(raw)
            self._turn.add(WriteBytes(self._connection, raw))

    def close(self, reason: str) -> None:
        """Write what waits, then close; nothing can be written any more."""
        if self._closed:
            return
        self._ready = True
        self.set_ready(True)
        self._closed = True
        self._turn.add(CloseTransport(self._connection, reason))
