"""What was left undone, counted: a trace event a second for each kind, however many there are."""

from __future__ import annotations

from typing import Protocol

from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.core import trace
from rumormill.core.timers import Timers

REPORT_INTERVAL = 1.0
"""Seconds between two reports: a flood of packets is not to become a flood of events."""


class Wakeable(Protocol):
    """A part of a node that has a time of its own."""

    def wake(self, now: float) -> None:
        """Do what is due."""
        ...

    def __hash__(self) -> int: ...


class Drops:
    """Counts by what was dropped and why; both are names of ours, so there are few."""

    __slots__ = ("_counts", "_outbox", "_timers")

    def __init__(self, outbox: Outbox, timers: Timers[Wakeable]) -> None:
        self._outbox = outbox
        self._timers = timers
        self._counts: dict[tuple[str, str], int] = {}

    def count(self, what: str, reason: str) -> None:
        """One more was dropped."""
        counts = self._counts
        if not counts:
            self._timers.set(self, self._outbox.now + REPORT_INTERVAL)
        key = (what, reason)
        counts[key] = counts.get(key, 0) + 1

    def wake(self, now: float) -> None:
        """Report what was counted."""
        counts, self._counts = self._counts, {}
        for (what, reason), count in counts.items():
            self._outbox.emit(trace.DROPPED, what=what, reason=reason, count=count)
