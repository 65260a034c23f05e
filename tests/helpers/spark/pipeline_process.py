"""``rumormill pipeline`` as a process whose events a test waits for, and which it kills."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from tests.helpers.places import environment

PATIENCE = 240.0

QUICK = [
    "--master=local[2,4]",
    "--conf=spark.driver.memory=1g",
    "--conf=spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1"
    " -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
]
"""A Spark that starts fast and stays small."""


class PipelineProcess:
    """``rumormill pipeline run --json ...``, started; killed at the end if it still runs."""

    def __init__(self, *arguments: str | Path, quick: bool = True) -> None:
        self._changed = threading.Condition()
        self._ended = False
        self.events: list[dict[str, Any]] = []
        surroundings = environment()
        surroundings.pop("RUMORMILL_TRACEBACK", None)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rumormill.cli", "pipeline", *map(str, arguments), "--json",
             *(QUICK if quick else [])],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=surroundings, text=True,
        )  # fmt: skip
        self._errors: list[str] = []
        self._threads = [
            threading.Thread(target=self._read_events, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()

    # ---- what it says

    def rows(self) -> int:
        """Rows that it says it has written."""
        return sum(event["rows"] for event in self.named("batch"))

    def named(self, name: str) -> list[dict[str, Any]]:
        """Its events of one kind."""
        return [event for event in self.events if event["event"] == name]

    @property
    def errors(self) -> str:
        """What it wrote to stderr, apart from what Java says when it starts."""
        return "\n".join(line for line in self._errors if "incubator" not in line)

    def wait_until(self, condition: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Wait for events until something holds."""
        with self._changed:
            self._changed.wait_for(lambda: condition() or self._ended, patience)
            assert condition(), f"did not happen; events: {self.events[-5:]}; {self.errors}"

    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    def end(self, patience: float = PATIENCE) -> int:
        """Wait for its end; the exit code."""
        code = self._process.wait(patience)
        for thread in self._threads:
            thread.join(patience)
        return code

    def terminate(self) -> None:
        """Ask it to end, as Ctrl-C does."""
        self._process.send_signal(signal.SIGTERM)

    # ---- kill -9

    def kill(self) -> None:
        """Kill it and everything that it started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            family = [*psutil.Process(self._process.pid).children(recursive=True)]
            self.kill_python()
            for process in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        self.end()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()

    def kill_python(self) -> None:
        """Kill the driver's Python; its Java notices and ends."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def kill_java(self) -> None:
        """Kill the driver's Java; its Python notices and ends."""
        self.java().kill()

    def java(self) -> psutil.Process:
        """The driver's Java."""
        for process in psutil.Process(self._process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if process.name() == "java":
                    return process
        raise AssertionError("there is no Java")

    def workers(self) -> Iterator[psutil.Process]:
        """The Python processes that Java has started, and those that they have started."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for process in self.java().children(recursive=True):
                with contextlib.suppress(psutil.NoSuchProcess):
                    if any("pyspark" in part for part in process.cmdline()):
                        yield process

    # ---- threads

    def _read_events(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.events.append(json.loads(line))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._errors.append(line.rstrip("\n"))
