"""Turns: what connections bring is taken in turn, by the time that it costs us.

An event loop hands over what sockets have as it finds it, up to a quarter of a megabyte at once,
and one that sends without end has a turn with every look. So each connection has a line
(:class:`Line`): what costs little is handed on at once, as nearly always; a connection that has
used up its slice of time waits, and its socket is not read meanwhile, until all others had their
turn. What it brought is cut into pieces that cost about a slice each. Connections that have used
little lately go before those that wait all the time, so that who sends a message now and then does
not stand in line behind floods, however many.

The time is measured, not reckoned: whatever a peer finds that is slow for us, it pays for.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Protocol

SLICE = 0.002
"""Seconds of work for one connection before others get their turn."""

ROUND = 0.008
"""Seconds of work for those that wait before sockets and timers get their turn."""

FORGIVEN_AFTER = 0.02
"""Seconds without a turn after which what was used before no longer counts."""

FORGIVEN_SHARE = 0.05
"""What is forgiven of shorter ones, of the time that it brought nothing: a connection that takes
less of our time than this never waits, however long it goes on."""

PASSES = 4
"""Of the event loop, from one turn of those that use much to the next: as many as a message needs
from the socket that it came by, over its check, to those that it leaves by. So it waits for one
such turn on its way, not for one at every step."""

SMALLEST_PIECE, LARGEST_PIECE = 512, 1 << 20
"""Bytes that are handed on at once, as they cost much or little."""


class Socket(Protocol):
    """What a line needs of its connection."""

    def pause_reading(self) -> None:
        """Read nothing until told to."""
        ...

    def resume_reading(self) -> None:
        """Read again."""
        ...


class Line:
    """One connection: what it has brought that had no turn yet, and the time that it has used."""

    __slots__ = (
        "_backlog", "_hand_on", "_last", "_paused", "_piece", "_serving", "_socket", "_turns",
        "_unfinished", "_used", "_waiting", "_wakes", "over",
    )  # fmt: skip

    def __init__(self, turns: Turns, socket: Socket, hand_on: Callable[[bytes], None]) -> None:
        self._turns = turns
        turns.lines += 1
        self._socket = socket
        self._hand_on = hand_on
        self._piece = LARGEST_PIECE
        self._used = 0.0
        self._last = 0.0
        self._wakes: asyncio.TimerHandle | None = None
        self._backlog: deque[bytes] = deque()
        self._paused = False
        self._waiting = False
        self._serving = False
        self._unfinished = False
        self.over = False
        """Whether the connection is gone: nothing more is handed on."""

    def take(self, data: bytes) -> None:
        """Bytes came: hand them on, now or when it is this connection's turn."""
        if self._waiting or self._wakes is not None or self._turns.late:
            self._backlog.append(data)
            self._wait()
        else:
            self._serve(data, idle=True)

    def turn(self) -> None:
        """Its turn has come; who has used more than a slice before lets some pass."""
        self._waiting = False
        if self.over or self._wakes is not None:
            return
        self._used = max(0.0, self._used - SLICE)
        if self._used >= SLICE:
            self._wait()
            return
        if self._unfinished:
            self._unfinished = False
            self._serve(b"", idle=False)
        elif self._backlog:
            self._serve(self._backlog.popleft(), idle=False)
        self._read_on()

    def _read_on(self) -> None:
        """Read again, unless there is still a reason to wait."""
        if self._paused and not self._waiting and self._wakes is None and not self.over:
            self._paused = False
            self._socket.resume_reading()

    def _serve(self, data: bytes, *, idle: bool) -> None:
        """Hand on as much as fits into a slice, as far as we know; the rest waits.

        ``idle``: it did not wait for this turn, so the time since the last was its own.
        """
        size = len(data)
        if size > self._piece:
            self._backlog.appendleft(data[self._piece :])
            data, size = data[: self._piece], self._piece
        began = monotonic()
        if idle and self._used:
            pause = began - self._last
            forgiven = self._used if pause > FORGIVEN_AFTER else pause * FORGIVEN_SHARE
            self._used = max(0.0, self._used - forgiven)
        self._serving = True
        self._hand_on(data)
        self._serving = False
        self._last = ended = monotonic()
        took = ended - began
        self._used += took
        self._turns.used += took
        if took > SLICE and size:
            self._piece = max(SMALLEST_PIECE, int(size * SLICE / took))
        elif size == self._piece and size < LARGEST_PIECE:
            self._piece = size * 2
        if self._backlog or self._unfinished or (self._used >= SLICE and self._turns.lines > 1):
            self._wait()

    def _wait(self) -> None:
        """Stand in line, and read nothing meanwhile: the peer's own flow control holds it back."""
        if not self._paused and not self.over:
            self._paused = True
            self._socket.pause_reading()
        if not self._waiting and not self.over and self._wakes is None:
            self._waiting = True
            self._turns.wait(self, light=self._used < SLICE)

    def rest(self, seconds: float) -> None:
        """Take nothing for so long; what it brought waits.

        Its next turn begins without bytes: a machine goes on then with what it has kept.
        """
        if self.over:
            return
        self._unfinished = True
        if seconds > 0.0:
            self._sleep(seconds)
        elif not self._serving:
            self._wait()

    def _sleep(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        if self._wakes is not None:
            seconds = max(seconds, self._wakes.when() - loop.time())
            self._wakes.cancel()
        self._wakes = loop.call_later(seconds, self._rested)
        if not self._paused:
            self._paused = True
            self._socket.pause_reading()

    def _rested(self) -> None:
        self._wakes = None
        self._wait()

    def end(self) -> None:
        """We or the other end have closed: what had no turn yet is of no use to anyone.

        What still comes is read and thrown away, so that the end of the other side is seen.
        """
        if not self.over:
            self.over = True
            self._turns.lines -= 1
        self._unfinished = False
        self._backlog.clear()
        if self._paused:
            self._paused = False
            self._socket.resume_reading()
        if self._wakes is not None:
            self._wakes.cancel()
            self._wakes = None


class Turns:
    """Whose turn it is, among all connections of a node."""

    __slots__ = ("_heavy", "_light", "_passes", "_scheduled", "lines", "used")

    def __init__(self) -> None:
        self._light: deque[Line] = deque()
        self._heavy: deque[Line] = deque()
        self._passes = 0
        self._scheduled = False
        self.lines = 0
        """Connections that are open: one that is alone keeps nobody waiting."""
        self.used = 0.0
        """Seconds since those that wait last had their turn."""

    @property
    def late(self) -> bool:
        """Whether so much was done since the last round that the next must come first."""
        return self._scheduled and self.used > ROUND

    def wait(self, line: Line, *, light: bool) -> None:
        """Let a line have a turn soon; those that have used little go first."""
        (self._light if light else self._heavy).append(line)
        self._schedule()

    def _round(self) -> None:
        """Let each that waits have a turn, as far as the time allows; but one of each kind."""
        self.used = 0.0
        self._scheduled = False
        self._serve(self._light)
        self._passes += 1
        if self._heavy and (self._passes >= PASSES or self.lines == 1):
            self._passes = 0
            self._serve(self._heavy)
        if self._light or self._heavy:
            self._schedule()

    def _serve(self, waiting: deque[Line]) -> None:
        for _ in range(len(waiting)):
            waiting.popleft().turn()
            if self.used > ROUND:
                return

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._round)
