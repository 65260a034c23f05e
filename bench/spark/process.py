"""Starts :mod:`bench.spark.program` and talks to it."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import bench

MASTER = "local[2]"

Row = dict[str, Any]


class SparkFailedError(Exception):
    """Spark could not do what it was told; the text is one line."""


class SparkProcess:
    """A session of its own, until the block ends.

    with SparkProcess(recommended=True) as spark:
        sample = spark.ask("stream", reader=spool_reader(folder))
    """

    def __init__(
        self,
        *,
        recommended: bool = True,
        jars: str = "",
        settings: Mapping[str, str] | None = None,
        tables: Path | None = None,
    ) -> None:
        given = {**(settings or {}), **({"spark.jars": jars} if jars else {})}
        self._session = {
            "master": MASTER,
            "recommended": recommended,
            "settings": given,
            "tables": None if tables is None else str(tables),
        }
        self.pid = 0

    def __enter__(self) -> Self:
        command = [sys.executable, "-m", "bench.spark.program"]
        # A file, not a pipe: nobody reads what Spark logs unless it fails.
        self._log = tempfile.TemporaryFile("w+", errors="replace")
        self._process = subprocess.Popen(
            command,
            cwd=bench.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        self.pid = self._process.pid
        self._exchange(self._session)
        return self

    def ask(self, what: str, **details: Any) -> Row:
        """Let it do something; its answer."""
        return self._exchange({"do": what, **details})

    def _exchange(self, job: Row) -> Row:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # what it said before it ended is told below
        line = self._process.stdout.readline()
        if not line:
            raise SparkFailedError(f"Spark ended: {self._last_words()}")
        found: Row = json.loads(line)
        if "error" in found:
            raise SparkFailedError(found["error"])
        return found

    def _last_words(self) -> str:
        self._log.seek(0)
        lines = [line for line in self._log.read().splitlines() if line.strip()]
        return lines[-1][:300] if lines else "it did not say why"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=90)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
