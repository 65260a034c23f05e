"""Waiting until messages would get somewhere: for peers, or for room in their queues."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from rumormill.core.trace import TraceEvent
from rumormill.live.driver import Driver
from rumormill.live.waiting.changes import Changes


class Readiness:
    """Looks again at what somebody waits for, after each event that may have changed it."""

    def __init__(self, driver: Driver[Any], shifts: Collection[str]) -> None:
        self._driver = driver
        self._shifts = shifts
        self._changes = Changes()
        self._stop_watching: Callable[[], None] | None = None

    @property
    def waiting(self) -> int:
        """How many tasks wait."""
        return self._changes.waiting

    @property
    def watching(self) -> bool:
        """Whether it listens to events, which costs nothing while nobody waits."""
        return self._stop_watching is not None

    def look_again(self) -> None:
        """Something changed of which no event tells, such as room in a queue."""
        self._changes.happened()

    async def until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait for the condition; False if it did not come true in time."""
        if self._stop_watching is None:
            self._stop_watching = self._driver.on_trace(self._see)
        try:
            return await self._changes.until(condition, timeout)
        finally:
            # One listener serves all who wait, and events cost nothing when nobody does.
            if not self._changes.waiting and self._stop_watching is not None:
                self._stop_watching()
                self._stop_watching = None

    def _see(self, event: TraceEvent) -> None:
        if event.event in self._shifts:
            self._changes.happened()
