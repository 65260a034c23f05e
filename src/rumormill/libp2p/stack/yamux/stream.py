"""One stream of a yamux session: its windows, its flags, and what waits to be sent on it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.limits import INITIAL_WINDOW
from rumormill.libp2p.stack.yamux.frames import (
    ACK,
    DATA,
    FIN,
    HEADER,
    LARGEST_UINT32,
    SYN,
    WINDOW_UPDATE,
    encode_header,
)

_pack = HEADER.pack

LARGEST_FRAME = 256 * 1024
"""Payload of one data frame that we send. rust refuses frames of more than 1 MiB."""


class YamuxStream:
    """State of one stream; the session decides when its frames leave."""

    __slots__ = (
        "blocked",
        "chunks",
        "closed",
        "end_sent",
        "end_wanted",
        "ended_by_peer",
        "first_flags",
        "held",
        "held_bytes",
        "inbound",
        "low_water",
        "number",
        "queued",
        "receive_window",
        "send_window",
        "window_size",
    )

    def __init__(self, number: int, *, inbound: bool, window_size: int) -> None:
        self.number = number
        self.inbound = inbound
        self.first_flags = ACK if inbound else SYN
        """What the next frame of ours has to carry; 0 once it was sent."""
        self.chunks: deque[bytes | memoryview] = deque()
        self.queued = 0
        self.send_window = INITIAL_WINDOW
        self.blocked = False
        """The peer's window held something back, and the owner has not been told otherwise."""
        self.window_size = window_size
        self.receive_window = INITIAL_WINDOW
        """What the peer may still send."""
        self.low_water = window_size // 2
        """At or below it the peer is granted more; below zero while the stream is held."""
        self.held = False
        self.held_bytes = 0
        self.end_wanted = False
        self.end_sent = False
        self.ended_by_peer = False
        self.closed = False

    @property
    def unsent(self) -> int:
        """Bytes that wait for the peer's window."""
        return max(0, self.queued - self.send_window)

    @property
    def unconfirmed(self) -> int:
        """Bytes written that the peer has not made room for again: it may not have read them.

        A peer that has enlarged its window makes this too small, one that grants late too large.
        """
        return self.queued + max(0, INITIAL_WINDOW - self.send_window)

    @property
    def over(self) -> bool:
        """Both sides have ended it."""
        return self.end_sent and self.ended_by_peer

    def grow_send_window(self, credit: int) -> None:
        """The peer grants more."""
        self.send_window += credit
        if self.send_window > LARGEST_UINT32:
            raise RemoteProtocolError("window_overflow", f"stream {self.number}")

    def set_held(self, held: bool) -> None:
        """While held, grant nothing."""
        self.held = held
        self.low_water = -1 if held else self.window_size // 2
        if not held:
            self.held_bytes = 0

    def frames(self, out: list[bytes | memoryview]) -> None:
        """Append everything that may leave now to ``out``."""
        if self.receive_window <= self.low_water and not self.ended_by_peer:
            self._grant(out)
        while self.queued and self.send_window:
            self._data_frame(out)
        if self.end_wanted and not self.end_sent and not self.queued:
            # Never with the last bytes: go wakes its reader at the flag, before it has read the
            # payload, and the reader takes what is there for everything.
            out.append(encode_header(DATA, self._flags() | FIN, self.number, 0))
            self.end_sent = True

    def _flags(self) -> int:
        flags = self.first_flags
        self.first_flags = 0
        return flags

    def _grant(self, out: list[bytes | memoryview]) -> None:
        credit = self.window_size - self.receive_window
        self.receive_window = self.window_size
        out.append(encode_header(WINDOW_UPDATE, self._flags(), self.number, credit))

    def _data_frame(self, out: list[bytes | memoryview]) -> None:
        size = self.queued
        if size > self.send_window or size > LARGEST_FRAME:
            size = min(self.send_window, LARGEST_FRAME)
        self.queued -= size
        self.send_window -= size
        flags = self._flags() if self.first_flags else 0
        out.append(_pack(DATA, flags, self.number, size))
        if self.queued:
            self._take(size, out.append)
        else:
            out += self.chunks
            self.chunks.clear()

    def _take(self, size: int, put: Callable[[bytes | memoryview], object]) -> None:
        chunks = self.chunks
        while size:
            chunk = chunks.popleft()
            if len(chunk) > size:
                # A view, so that a large write is not copied once per window.
                view = memoryview(chunk)
                put(view[:size])
                chunks.appendleft(view[size:])
                return
            put(chunk)
            size -= len(chunk)
