"""Lines on stdout: written by a thread of their own, so that a slow reader never stops the node."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable

MOST_WAITING = 1000
"""Lines that may wait for the reader; past it, whoever writes waits, and so do the peers."""

LAST_WORDS = 2.0
"""Seconds that the reader has to take the last lines when we are done."""

STDOUT = 1


class LineWriter:
    """Hands lines to a file descriptor; :meth:`write` waits while too many are waiting.

    A reader that stops reading (``rumormill sub ... | less``) blocks the thread alone: the node
    goes on answering its peers, and a signal still ends it. That the reader went away is told to
    ``on_broken``, once. The thread writes past Python's own buffer, whose lock would otherwise
    keep a blocked process from ending.
    """

    def __init__(self, descriptor: int = STDOUT) -> None:
        self.on_broken: Callable[[], None] = lambda: None
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[str] = deque()
        self._changed = threading.Condition()
        self._room = asyncio.Event()
        self._room.set()
        self._closing = False
        self._broken = False
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)
        self._thread.start()

    async def write(self, line: str) -> None:
        """Queue one line (without its newline); wait first if there is no room."""
        while not self._room.is_set():
            await self._room.wait()
        if self._broken:
            raise BrokenPipeError
        with self._changed:
            self._waiting.append(line)
            if len(self._waiting) >= MOST_WAITING:
                self._room.clear()
            self._changed.notify()

    async def close(self) -> None:
        """Wait until all lines are written, or the reader had its time."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        await asyncio.to_thread(self._thread.join, LAST_WORDS)

    def _run(self) -> None:
        while lines := self._next_lines():
            text = "".join(f"{line}\n" for line in lines)
            try:
                write_all(self._descriptor, text.encode("utf-8", "backslashreplace"))
            except OSError:
                self._broken = True
                self._tell(self._room.set)
                self._tell(self.on_broken)
                return

    def _next_lines(self) -> list[str]:
        """Everything that waits; nothing only when there will be nothing more."""
        with self._changed:
            while not self._waiting and not self._closing:
                self._changed.wait()
            lines = list(self._waiting)
            self._waiting.clear()
        self._tell(self._room.set)
        return lines

    def _tell(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of ``data``, also where the descriptor was inherited as non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])


def warn(sentence: str) -> None:
    """Say something on stderr; if nobody hears it, so be it."""
    with contextlib.suppress(OSError):
        print(f"rumormill: {sentence}", file=sys.stderr, flush=True)
