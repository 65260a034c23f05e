"""``rumormill`` commands in processes of their own, whose lines a test waits for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from queue import Empty, Queue
from typing import Any

from tests.helpers.places import environment

PATIENCE = 60.0
"""Seconds to wait for what takes one on an idle machine."""


class Command:
    """A ``rumormill`` process; its lines can be waited for."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None) -> None:
        surroundings = dict(env or environment())
        surroundings.pop("RUMORMILL_TRACEBACK", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rumormill.cli", *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=surroundings,
        )  # fmt: skip
        self._lines: Queue[str] = Queue()
        self._errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _read_lines(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.decode().rstrip("\n"))

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._errors.append(line.decode().rstrip("\n"))

    def line(self) -> str:
        """The next line of stdout."""
        try:
            return self._lines.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError(f"no line within {PATIENCE} s; stderr: {self._errors}") from None

    def event(self, kind: str) -> dict[str, Any]:
        """The next line of stdout, which must be an event of this kind."""
        event: dict[str, Any] = json.loads(self.line())
        assert event["event"] == kind, event
        return event

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self, timeout: float = PATIENCE) -> int:
        """Wait for the end; the exit code."""
        code = self.process.wait(timeout)
        for thread in self._threads:
            thread.join(PATIENCE)
        return code

    @property
    def rest(self) -> list[str]:
        """Lines of stdout that nobody waited for."""
        return list(self._lines.queue)

    @property
    def sentence(self) -> str:
        """The one line of stderr."""
        assert len(self._errors) == 1, self._errors
        return self._errors[0]

    @property
    def errors(self) -> list[str]:
        """Lines of stderr."""
        return self._errors


StartCommand = Callable[..., Command]
