"""ping: 32 bytes there, the same 32 bytes back.

Both sides as machines: :class:`PingEcho` answers on a stream that the peer opened, :class:`Pinger`
asks on one of ours.
"""

from __future__ import annotations

import random

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

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


class Pinger:
    """The asking side: one ping at a time on one stream.

    >>> pinger = Pinger(random.Random(1), timeout=10.0)
    >>> ping = pinger.ask(now=5.0)
    >>> pinger.next_wake()
    15.0
    >>> pinger.receive(ping, now=5.25)
    0.25
    """

    __slots__ = ("_entropy", "_expected", "_sent_at", "_timeout")

    def __init__(self, entropy: random.Random, timeout: float = 10.0) -> None:
        self._entropy = entropy
        self._timeout = timeout
        self._expected = b""
        self._sent_at = 0.0

    @property
    def waiting(self) -> bool:
        """Whether an answer is outstanding."""
        return bool(self._expected)

    def ask(self, now: float) -> bytes:
        """Begin a ping; return what to write."""
        if self._expected:
            raise LocalProtocolError("the last ping has not been answered yet")
        self._expected = self._entropy.randbytes(PING_SIZE)
        self._sent_at = now
        return self._expected

    def receive(self, data: bytes, now: float) -> float | None:
        """Take bytes of the peer; return the round trip in seconds once the answer is whole.

        Raises :class:`RemoteProtocolError` for anything but the bytes we sent: nothing else may
        come on this stream.
        """
        if not self._expected.startswith(data):
            raise RemoteProtocolError("bad_pong", f"{len(data)} bytes that we did not send")
        if not data:
            return None
        self._expected = self._expected[len(data) :]
        # A clock that was set back must not make a negative distance.
        return None if self._expected else max(0.0, now - self._sent_at)

    def next_wake(self) -> float | None:
        """When the answer will be overdue; None if none is awaited."""
        return self._sent_at + self._timeout if self._expected else None

    def overdue(self, now: float) -> bool:
        """Whether the answer should have been here; the stream is of no use then."""
        return bool(self._expected) and now >= self._sent_at + self._timeout
