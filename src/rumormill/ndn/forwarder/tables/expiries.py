"""When Interests end: in buckets of a short time each, so that ending earlier costs nothing."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, Final

from rumormill.core.timers import Alarm

if TYPE_CHECKING:
    from rumormill.ndn.forwarder.tables.pit_entry import PitEntry

TICKS: Final = 32
"""Buckets in a second. An Interest ends at the end of its bucket: never too early."""

MOST_AT_ONCE: Final = 1024
"""Interests that end in one turn."""


class Expiries:
    """The Interests that wait, by when they end.

    Nearly every Interest is answered long before. A heap of all of them would cost more than
    everything else that is done for it.
    """

    __slots__ = ("_alarm", "_buckets", "_ticks")

    def __init__(self, alarm: Alarm) -> None:
        self._alarm = alarm
        self._buckets: dict[int, dict[PitEntry, None]] = {}
        self._ticks: list[int] = []

    def __len__(self) -> int:
        """How many buckets there are."""
        return len(self._buckets)

    def put(self, entry: PitEntry, when: float) -> None:
        """An Interest ends at ``when``."""
        tick = entry.tick = int(when * TICKS) + 1
        bucket = self._buckets.get(tick)
        if bucket is None:
            bucket = self._buckets[tick] = {}
            heappush(self._ticks, tick)
            if tick / TICKS < self._alarm.soonest:
                self._alarm.soonest = tick / TICKS
        bucket[entry] = None

    def take(self, entry: PitEntry) -> None:
        """It has ended, or ends at another time."""
        bucket = self._buckets.get(entry.tick)
        if bucket is not None:
            bucket.pop(entry, None)

    def due(self, now: float) -> list[PitEntry]:
        """Those whose time has come, in the order of their times. They are to be taken out.

        Only some of very many: :meth:`next_wake` is in the past then, so that others get their
        turn before the rest.
        """
        found: list[PitEntry] = []
        ticks, buckets = self._ticks, self._buckets
        while ticks and ticks[0] <= now * TICKS:
            bucket = buckets[ticks[0]]
            found.extend(islice(bucket, MOST_AT_ONCE - len(found)))
            if len(found) == MOST_AT_ONCE:
                break
            del buckets[heappop(ticks)]
        return found

    def next_wake(self) -> float | None:
        """When the first of them ends."""
        ticks, buckets = self._ticks, self._buckets
        while ticks and not buckets[ticks[0]]:
            del buckets[heappop(ticks)]
        return ticks[0] / TICKS if ticks else None
