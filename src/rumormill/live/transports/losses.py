"""Datagrams that were lost on our side: told at once, and what repeats as a sum, once a second."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

Lost = Callable[[str, str | None, int], None]
"""Called for datagrams that were lost on our side: why, the peer if it is known, and how many."""

INTERVAL = 1.0
"""Seconds between two reports of the same: a flood of datagrams is not to become one of events."""

MOST_NAMED = 64
"""Peers that are named in one report; what others lost is told without their name."""


class Losses:
    """Counts by reason and peer."""

    __slots__ = ("_counts", "_tell", "_timer")

    def __init__(self, tell: Lost) -> None:
        self._tell = tell
        self._counts: dict[tuple[str, str | None], int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, reason: str, peer: str | None) -> None:
        """One more was lost."""
        counts, key = self._counts, (reason, peer)
        if key not in counts and len(counts) >= MOST_NAMED:
            key = (reason, None)
        if key in counts:
            counts[key] += 1
            return
        counts[key] = 0
        self._tell(*key, 1)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(INTERVAL, self.report)

    def report(self) -> None:
        """Tell what was lost since; what goes on is summed up again."""
        counts, self._counts = self._counts, {}
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for (reason, peer), count in counts.items():
            if count:
                self._tell(reason, peer, count)
