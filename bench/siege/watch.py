"""What the attacked node takes meanwhile: processor time and memory, threads and children too."""

from __future__ import annotations

import asyncio
import contextlib
import time

import psutil

from bench.process_tree import cpu_seconds

INTERVAL = 0.1
"""Seconds between two looks at the memory."""


def resident_bytes(pid: int) -> int:
    """Memory of the process and its descendants; 0 if it is gone."""
    total = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        root = psutil.Process(pid)
        for process in (root, *root.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += process.memory_info().rss
    return total


class Watch:
    """Looks at a process from now on until it is stopped."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._calm = self._peak = resident_bytes(pid)
        self._cpu, self._began = cpu_seconds(pid), time.monotonic()
        self._task = asyncio.create_task(self._look())

    async def stop(self) -> dict[str, float]:
        """CPU seconds for each second that passed, and how much more memory there was at most."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        seconds = time.monotonic() - self._began
        return {
            "cpu": max(0.0, cpu_seconds(self._pid) - self._cpu) / seconds,
            "memory_mb": (self._peak - self._calm) / 1e6,
            "calm_mb": self._calm / 1e6,
        }

    async def _look(self) -> None:
        while True:
            self._peak = max(self._peak, resident_bytes(self._pid))
            await asyncio.sleep(INTERVAL)
