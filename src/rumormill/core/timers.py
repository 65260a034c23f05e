"""When each of many things wants to be woken: a heap that stays as small as their number."""

from __future__ import annotations

from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)

SPARE = 32
"""Outdated entries that the heap may hold beside as many as there are timers."""


class Alarm:
    """The earliest time of several :class:`Timers`, known without asking each of them.

    It may be too early, after the timer that it came from was put off: waking early is harmless,
    and whoever wakes them all finds the exact time anew.
    """

    __slots__ = ("soonest",)

    def __init__(self) -> None:
        self.soonest = NEVER


NEVER = float("inf")


class Timers(Generic[Key]):
    """One time for each key; keys of the same time come in the order of setting.

    ``alarm`` is told of every time that is earlier than those it knows.

    >>> timers = Timers[str]()
    >>> timers.set("tea", 4.0); timers.set("egg", 6.0); timers.at_latest("egg", 5.0)
    >>> timers.next_wake(), timers.due(5.0), timers.next_wake()
    (4.0, ['tea', 'egg'], None)
    """

    __slots__ = ("_alarm", "_heap", "_sequence", "_times")

    def __init__(self, alarm: Alarm | None = None) -> None:
        self._alarm = alarm or Alarm()
        self._times: dict[Key, float] = {}
        # Entries are not taken out when a timer changes: an entry whose time is not the timer's
        # any more is skipped, and the heap is made anew when most of it is of that kind.
        self._heap: list[tuple[float, int, Key]] = []
        self._sequence = 0

    def __len__(self) -> int:
        """How many keys have a time."""
        return len(self._times)

    def set(self, key: Key, when: float) -> None:
        """Wake ``key`` at ``when``, and not at the time it had before."""
        if self._times.get(key) == when:
            return
        self._times[key] = when
        self._sequence += 1
        heappush(self._heap, (when, self._sequence, key))
        if when < self._alarm.soonest:
            self._alarm.soonest = when
        if len(self._heap) > 2 * len(self._times) + SPARE:
            self._tidy()

    def at_latest(self, key: Key, when: float) -> None:
        """Wake ``key`` at ``when`` unless it has an earlier time."""
        current = self._times.get(key)
        if current is None or when < current:
            self.set(key, when)

    def cancel(self, key: Key) -> None:
        """Forget ``key``; harmless if it has no time."""
        found = self._times.pop(key, None)
        if found is not None and len(self._heap) > 2 * len(self._times) + SPARE:
            self._tidy()

    def due(self, now: float) -> list[Key]:
        """The keys whose time has come; they have none from now on."""
        keys = []
        heap, times = self._heap, self._times
        while heap and heap[0][0] <= now:
            when, _, key = heappop(heap)
            if times.get(key) == when:
                del times[key]
                keys.append(key)
        return keys

    def next_wake(self) -> float | None:
        """The earliest time, or None."""
        heap, times = self._heap, self._times
        while heap and times.get(heap[0][2]) != heap[0][0]:
            heappop(heap)
        return heap[0][0] if heap else None

    def _tidy(self) -> None:
        times = self._times
        self._heap = [entry for entry in self._heap if times.get(entry[2]) == entry[0]]
        heapify(self._heap)
