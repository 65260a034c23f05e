"""One TCP connection: bytes in, bytes out, and an end at which nothing is lost."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, cast

from rumormill.core.transport import BytesReceived, WriteReady
from rumormill.live.transports.turns import Line

if TYPE_CHECKING:
    from rumormill.live.transports.tcp import Tcp

WRITE_HIGH, WRITE_LOW = 256 * 1024, 64 * 1024
"""Bytes waiting for the socket above which the machine is told to wait, and below to go on."""

LINGER = 1.0
"""Seconds that a closed connection stays open for the other end to read our last bytes."""


class Connection(asyncio.Protocol):
    """One socket of a :class:`~rumormill.live.transports.tcp.Tcp`."""

    __slots__ = (
        "_dial", "_ends_at", "_feed", "_line", "_service", "_tcp", "_timer", "address", "finished",
        "lingering", "number", "transport",
    )  # fmt: skip

    transport: asyncio.Transport

    def __init__(self, tcp: Tcp, dial: int | None, service: str = "", address: str = "") -> None:
        self._tcp = tcp
        self._feed = tcp.feed
        self._line = Line(tcp.turns, self, self._hand_on)
        self._dial = dial
        self._service = service
        self._timer: asyncio.TimerHandle | None = None
        self._ends_at = float("inf")
        self.address = address
        """Where the other end is; empty if its socket says so."""
        self.number = 0
        """What the machine calls it; 0 if the machine never heard of it."""
        self.finished = False
        """Whether we have closed it; nothing more is written."""
        self.lingering = False
        """Whether it waits for the other end to close."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Introduce it to the machine."""
        self.transport = cast("asyncio.Transport", transport)
        # Event loops differ in whether they do this on their own.
        with contextlib.suppress(OSError):
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.transport.set_write_buffer_limits(WRITE_HIGH, WRITE_LOW)
        place = transport.get_extra_info("peername")
        self._tcp.admit(self, place, self._dial, self._service)

    def refuse(self) -> None:
        """Nobody wants it."""
        self.finished = True
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Hand bytes to the machine, when it is this connection's turn."""
        if not self.finished:
            self._line.take(data)

    def _hand_on(self, data: bytes) -> None:
        self._feed(BytesReceived(self.number, data))

    def rest(self, seconds: float) -> None:
        """Hand nothing to the machine for so long, and read nothing."""
        self._line.rest(seconds)

    def pause_reading(self) -> None:
        """Leave what comes to the system, until it is full and the other end has to wait."""
        if not self.transport.is_closing():
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if not self.transport.is_closing():
            self.transport.resume_reading()

    def pause_writing(self) -> None:
        """Tell the machine to wait."""
        self._feed(WriteReady(self.number, False))

    def resume_writing(self) -> None:
        """Tell the machine to go on."""
        self._feed(WriteReady(self.number, True))

    def eof_received(self) -> bool:
        """Close when the other end has closed."""
        return False

    def finish(self, timeout: float, *, linger: bool) -> bool:
        """Close when everything is written; True if it waits for the other end to see it.

        A socket closed with bytes unread resets the connection, and the other end loses what we
        wrote last. So only our half is closed, and the rest when the other end closes its own.

        Once more, it can only get less time.
        """
        if self.finished:
            self._end_within(timeout)
            return False
        self.finished = True
        self._line.end()
        waiting = self.transport.get_write_buffer_size() > 0
        self._end_within(timeout if waiting else min(LINGER, timeout))
        self.lingering = linger and not self.transport.is_closing()
        if self.lingering:
            with contextlib.suppress(OSError):
                self.transport.write_eof()
        else:
            self.transport.close()
        return self.lingering

    def _end_within(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + seconds
        if ends_at < self._ends_at:
            self._ends_at = ends_at
            if self._timer is not None:
                self._timer.cancel()
            self._timer = loop.call_later(seconds, self._abort)

    def _abort(self) -> None:
        self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell the machine that it is gone."""
        self._line.end()
        if self._timer is not None:
            self._timer.cancel()
        if self.number:
            self._tcp.lost(self, error)
