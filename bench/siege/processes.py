"""Programs of the siege: started, listened to line by line, and ended whatever happens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import bench

Line = dict[str, Any]

ENDING = 5.0
"""Seconds that a program has to end by itself."""
LONGEST_LINE = 16 << 20


class SiegeError(Exception):
    """Something did not do what the measurement needs; the text is one line."""


class Program:
    """A program that says JSON lines. Leaving the context ends it."""

    def __init__(self, what: str, command: Sequence[str], *, nice: int = 0) -> None:
        self.what = what
        self._command = command
        self._nice = nice
        self._keep = True
        self._newest = b""
        self._process: asyncio.subprocess.Process | None = None
        self._lines: asyncio.Queue[Line | None] = asyncio.Queue()
        self._errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 - as long as we

    @classmethod
    def module(cls, what: str, module: str, *arguments: str, nice: int = 0) -> Self:
        """A module of ours, in the interpreter that runs this."""
        return cls(what, [sys.executable, "-m", module, *arguments], nice=nice)

    async def __aenter__(self) -> Self:
        prefix = ["nice", "-n", str(self._nice)] if self._nice else []
        self._process = await asyncio.create_subprocess_exec(
            *prefix,
            *self._command,
            cwd=bench.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            limit=LONGEST_LINE,
        )
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.end()
        self._errors.close()

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.returncode is None

    async def end(self) -> None:
        """Let it end, kill it if it does not."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), ENDING)
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)

    async def say(self, **command: Any) -> None:
        """Give it a command."""
        assert self._process is not None and self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            await self._process.stdin.drain()

    async def line(self, timeout: float) -> Line:
        """Its next line; :class:`SiegeError` if none comes."""
        try:
            line = await asyncio.wait_for(self._lines.get(), timeout)
        except TimeoutError:
            raise SiegeError(f"{self.what} said nothing for {timeout:g} s") from None
        if line is None:
            self._lines.put_nowait(None)
            raise SiegeError(f"{self.what} ended: {self._last_words()}")
        return line

    async def expect(self, event: str, timeout: float) -> Line:
        """Its next line with this ``event``; others are passed over."""
        deadline = asyncio.get_running_loop().time() + timeout
        while True:
            left = deadline - asyncio.get_running_loop().time()
            line = await self.line(max(0.0, left))
            if line.get("event") == event:
                return line

    def drain(self) -> None:
        """From now on keep only the newest line: it may be a flood."""
        self._keep = False

    def newest(self) -> Line:
        """What it said last since :meth:`drain`."""
        line: Line = json.loads(self._newest) if self._newest else {}
        return line

    async def _read(self) -> None:
        assert self._process is not None and self._process.stdout is not None
        with contextlib.suppress(ValueError):  # a line that is longer than any should be
            async for raw in self._process.stdout:
                if self._keep:
                    with contextlib.suppress(ValueError):
                        self._lines.put_nowait(json.loads(raw))
                else:
                    self._newest = raw
        self._lines.put_nowait(None)

    def _last_words(self) -> str:
        code = None if self._process is None else self._process.returncode
        self._errors.seek(0, os.SEEK_SET)
        lines = [line for line in self._errors.read().splitlines() if line.strip()]
        return lines[-1][:200] if lines else f"exit code {code}, without a word"
