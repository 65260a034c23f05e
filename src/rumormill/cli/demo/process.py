"""``rumormill`` commands as child processes: started, listened to, and ours alone to kill."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from rumormill.core.errors import RumormillError

LONGEST_LINE = 1 << 22
LAST_LINES = 5
"""Lines of a command's stderr that are kept, to say what it died of."""

STOP_TIMEOUT = 5.0

Event = dict[str, Any]


class DemoError(RumormillError):
    """The demo cannot go on; the sentence says at which step, and why."""


class Command:
    """One command; each line of JSON that it prints is handed to ``heard``."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        heard: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.arguments = tuple(arguments)
        self.pid: int | None = None
        self._name = name
        self._heard = heard
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._complaints: deque[bytes] = deque(maxlen=LAST_LINES)

    @property
    def ended(self) -> bool:
        """Whether its process was there and is gone."""
        return self._process is not None and self._process.returncode is not None

    async def start(self) -> asyncio.subprocess.Process:
        """Start it, in a session of its own: Ctrl-C is for us to handle."""
        pipe = asyncio.subprocess.PIPE
        process = self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rumormill.cli", *self.arguments,
            stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE, start_new_session=True,
        )  # fmt: skip
        self.pid = process.pid
        self._readers = [
            asyncio.create_task(_read(process.stdout, self._take_line)),
            asyncio.create_task(_read(process.stderr, self._complaints.append)),
        ]
        return process

    def write(self, line: str) -> None:
        """One line for its stdin; what it does not live to read is lost, as it should be."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(line.encode() + b"\n")

    async def run(self) -> None:
        """Start it and wait for its end, which must be a good one."""
        process = await self.start()
        try:
            await process.wait()
        finally:
            await self.kill()
        if process.returncode:
            raise DemoError(f"{self._name} failed: {self.last_words()}")

    async def stop(self) -> None:
        """End it with SIGTERM, or with SIGKILL if that does not help."""
        if self._process is not None and not self.ended:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), STOP_TIMEOUT)
        await self.kill()

    async def kill(self) -> None:
        """SIGKILL, for whatever it started as well; all that it had written is read."""
        if self._process is not None:
            if not self.ended:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)  # the group that start() made
            await self._process.wait()
            await asyncio.gather(*self._readers, return_exceptions=True)

    def last_words(self) -> str:
        """What it said before it ended."""
        code = None if self._process is None else self._process.returncode
        words = [line.decode("utf-8", "replace").strip() for line in self._complaints]
        return " / ".join(words) or f"exit code {code}, without a word"

    def _take_line(self, line: bytes) -> None:
        if line.startswith(b"{") and line.endswith(b"\n"):  # not one cut short by a kill
            self._heard(json.loads(line))


async def _read(stream: asyncio.StreamReader | None, take: Callable[[bytes], None]) -> None:
    while stream is not None and (line := await stream.readline()):
        take(line)
