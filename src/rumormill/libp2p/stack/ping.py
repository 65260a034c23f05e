"""ping: 32 bytes there, the same 32 bytes back. We answer; yamux has a ping of its own to ask."""

from __future__ import annotations

PING = "/ipfs/ping/1.0.0"

PING_SIZE = 32
"""Bytes of one ping."""


class PingEcho:
    """The answering side: gives whole pings back, in whatever pieces they came.

    An answer is never longer than what came in and what was held, and less than one ping is held.
    What the peer does not read piles up in its stream: let the stream stop taking more of it then.

    >>> echo = PingEcho()
    >>> echo.receive(b"a" * 20), echo.receive(b"b" * 20), echo.pending
    (b'', b'aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbb', 8)
    """

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = b""

    @property
    def pending(self) -> int:
        """Bytes of a ping whose rest has not come yet."""
        return len(self._pending)

    def receive(self, data: bytes) -> bytes:
        """Take bytes of the peer; return what to write back."""
        data = self._pending + data
        whole = len(data) - len(data) % PING_SIZE
        self._pending = data[whole:]
        return data[:whole]
