"""The leading side of a child process: starts it, sends it lines, keeps what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from typing import Any

from rumormill.core.errors import RumormillError

LONGEST_LINE = 1 << 20
LAST_LINES = 5
"""Lines of a worker's stderr that are kept, to say what it died of."""


class DemoError(RumormillError):
    """The demo cannot go on; the sentence says at which step, and why."""


class LedProcess:
    """A child process of ours that is led by lines of JSON, and ours alone to kill."""

    def __init__(self, name: str, module: str, on_event: Callable[[dict[str, Any]], None]) -> None:
        self.name = name
        self._module = module
        self._on_event = on_event
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._answers: dict[str, dict[str, Any]] = {}
        self._news = asyncio.Condition()
        self._complaints: deque[str] = deque(maxlen=LAST_LINES)

    @property
    def running(self) -> bool:
        """Whether its process is there."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The process's number, while there is one."""
        return None if self._process is None else self._process.pid

    async def start(self, orders: dict[str, Any]) -> None:
        """Start the process. It has no terminal of its own: Ctrl-C is for us to handle."""
        pipe = asyncio.subprocess.PIPE
        self._answers.clear()
        self._complaints.clear()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", self._module,
            stdin=pipe, stdout=pipe, stderr=pipe, limit=LONGEST_LINE, start_new_session=True,
        )  # fmt: skip
        self._readers = [
            asyncio.create_task(self._read_events(self._process)),
            asyncio.create_task(self._read_complaints(self._process)),
        ]
        self.send(orders)

    def send(self, order: dict[str, Any]) -> None:
        """Give an order; one that the process does not live to read is lost, as it should be."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(json.dumps(order).encode() + b"\n")

    async def answer(self, event: str, timeout: float, doing: str) -> dict[str, Any]:
        """Wait for one kind of answer, the last of which is taken away."""
        try:
            async with asyncio.timeout(timeout), self._news:
                await self._news.wait_for(
                    lambda: event in self._answers or "failed" in self._answers or not self.running
                )
        except TimeoutError:
            raise DemoError(f"{self.name} took more than {timeout:g} s {doing}") from None
        if event not in self._answers:
            raise DemoError(f"{self.name} failed while {doing}: {self.last_words()}")
        return self._answers.pop(event)

    def check(self) -> None:
        """Raise :class:`DemoError` if the process told that something went wrong, or ended."""
        if "failed" in self._answers or not self.running:
            raise DemoError(f"{self.name} failed: {self.last_words()}")

    def last_words(self) -> str:
        """What the process said before it ended."""
        failed = self._answers.get("failed")
        if failed is not None:
            return str(failed["problem"])
        code = None if self._process is None else self._process.returncode
        return " / ".join(self._complaints) or f"exit code {code}, without a word"

    async def kill(self) -> None:
        """End the process with SIGKILL, and wait until it is gone and its last lines are read."""
        if self._process is None:
            return
        if self._process.returncode is None:
            # Not Process.kill(): that looks for the end of the child itself, and asyncio, which
            # waits for the same, would complain of a child that it does not know.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)
        self._process = None

    async def stop(self, timeout: float) -> None:
        """Let the process end by itself; kill it if it does not."""
        self.send({"do": "stop"})
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._process.wait(), timeout)
        await self.kill()

    async def _read_events(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            if not line.endswith(b"\n"):
                break  # killed in the middle of a line
            event: dict[str, Any] = json.loads(line)
            self._on_event(event)
            if event["event"] != "delivered":
                await self._announce(event)
        await process.wait()
        async with self._news:
            self._news.notify_all()

    async def _announce(self, event: dict[str, Any]) -> None:
        async with self._news:
            self._answers[event["event"]] = event
            self._news.notify_all()

    async def _read_complaints(self, process: asyncio.subprocess.Process) -> None:
        assert process.stderr is not None
        while line := await process.stderr.readline():
            self._complaints.append(line.decode("utf-8", "replace").strip())


class WorkerProcess(LedProcess):
    """One node of the demo."""

    def __init__(self, node: int, on_event: Callable[[int, dict[str, Any]], None]) -> None:
        super().__init__(f"node {node}", "rumormill.cli.demo.worker", self._heard)
        self.node = node
        self.id = ""
        self.address = ""
        self.status: dict[str, Any] = {}
        self.newest: int | None = None
        """The number of the newest value, on a network that keeps one, as it told last."""
        self.published = 0
        """The number of its own newest value."""
        self._tell = on_event

    async def start(self, orders: dict[str, Any]) -> None:
        """Start the process; nothing is known of this life of it."""
        self.status, self.newest = {}, None
        await super().start(orders)

    def describe(self) -> dict[str, Any]:
        """Who it is, for programs."""
        return {"node": self.node, "id": self.id, "address": self.address, "pid": self.pid}

    def _heard(self, event: dict[str, Any]) -> None:
        self._tell(self.node, event)
        match event["event"]:
            case "status":
                self.status, self.newest = event, event["seq"]
            case "count":
                self.newest = event["seq"]
            case "published":
                self.published = event["seq"] or 0
