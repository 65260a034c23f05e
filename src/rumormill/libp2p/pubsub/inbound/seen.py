"""Ids of messages that were seen lately, so that each is handled once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rumormill.core.timers import NEVER

SWEEP_INTERVAL = 1.0
"""Seconds by which an id may outlive its time, so that ids are forgotten many at once."""


class SeenCache:
    """Remembers ids for ``ttl`` seconds after they were first seen, and no more than ``most``.

    >>> seen = SeenCache(ttl=120.0, most=1000)
    >>> seen.add(b"id", now=0.0), b"id" in seen
    (0, True)
    >>> seen.expire(now=121.0)
    >>> b"id" in seen
    False
    """

    renew: Callable[[bytes, float], None] | None = None
    """Called for every further copy; here there is nothing to do."""

    __slots__ = ("_by_age", "_most", "_ttl", "expires", "ids")

    def __init__(self, ttl: float, most: int) -> None:
        self._ttl = ttl
        self._most = most
        self.ids: set[bytes] = set()
        """To look up in the midst of much work; :meth:`add` alone changes it."""
        # A dict alone would do, but popping its oldest entry again and again is quadratic.
        self._by_age: deque[tuple[float, bytes]] = deque()
        self.expires = NEVER
        """When it is worth calling :meth:`expire`: not for every single id."""

    def __contains__(self, message_id: bytes) -> bool:
        return message_id in self.ids

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, message_id: bytes, now: float) -> int:
        """Remember an id; returns how many had to be forgotten before their time to make room."""
        if message_id in self.ids:
            return 0
        self.ids.add(message_id)
        if not self._by_age:
            self.expires = now + self._ttl + SWEEP_INTERVAL
        self._by_age.append((now + self._ttl, message_id))
        if len(self.ids) <= self._most:
            return 0
        self.expire(now)
        forgotten = max(0, len(self.ids) - self._most)
        for _ in range(forgotten):
            self.ids.discard(self._by_age.popleft()[1])
        return forgotten

    def expire(self, now: float) -> None:
        """Forget what is older than ``ttl``."""
        by_age = self._by_age
        while by_age and by_age[0][0] <= now:
            self.ids.discard(by_age.popleft()[1])
        self.expires = by_age[0][0] + SWEEP_INTERVAL if by_age else NEVER
