"""What was left undone, counted: a trace event a second for each kind, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core import trace

if TYPE_CHECKING:
    from rumormill.bep50.overlay.node import Node

REPORT_INTERVAL = 1.0
"""Seconds between two reports: a flood of packets is not to become a flood of events."""


class Drops:
    """Counts by what was dropped and why; both are names of ours, so there are few."""

    __slots__ = ("_counts", "_node")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._counts: dict[tuple[str, str], int] = {}

    def count(self, what: str, reason: str) -> None:
        """One more was dropped."""
        counts = self._counts
        if not counts:
            self._node.timers.set(self, self._node.now + REPORT_INTERVAL)
        key = (what, reason)
        counts[key] = counts.get(key, 0) + 1

    def wake(self, now: float) -> None:
        """Report what was counted."""
        counts, self._counts = self._counts, {}
        for (what, reason), count in counts.items():
            self._node.emit(trace.DROPPED, what=what, reason=reason, count=count)
