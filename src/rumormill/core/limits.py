"""What somebody may make us do: an allowance that refills with time.

One :class:`Allowance` is for one thing that is counted (the pings of one connection, the rejected
messages of one peer); :class:`Allowances` keeps one for each of many keys that strangers choose.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

Key = TypeVar("Key")

FORGOTTEN_AT_ONCE = 2
"""Full allowances that one call forgets: more than it can add, so that they become fewer."""


class Allowance:
    """So much at once (``burst``), and so much per second after that (``rate``).

    >>> allowance = Allowance(rate=10, burst=3)
    >>> [allowance.take(1, now=0.0) for _ in range(4)], allowance.take(1, now=0.1)
    ([True, True, True, False], True)
    """

    __slots__ = ("_burst", "_left", "_rate", "_since")

    def __init__(self, rate: float, burst: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._since: float | None = None

    def take(self, cost: float, now: float) -> bool:
        """Use ``cost`` of it; False, and nothing is used, if there is not that much left."""
        if self._since is None:
            self._since = now
        elapsed = now - self._since
        if elapsed > 0:
            self._left = min(self._burst, self._left + elapsed * self._rate)
            self._since = now
        if cost > self._left:
            return False
        self._left -= cost
        return True

    def idle(self, now: float) -> bool:
        """Whether it has not been asked for so long that it is full, whatever was used of it."""
        return self._since is None or (now - self._since) * self._rate >= self._burst


class Allowances(Generic[Key]):
    """The same allowance for each key, for no more than ``most`` keys.

    A key that is not known has its whole burst. So those that are full again are forgotten without
    a loss, a few with every call; and past ``most`` the one that asked longest ago is forgotten.

    >>> allowances = Allowances[str](rate=1.0, burst=2.0, most=1000)
    >>> [allowances.take("10.0.0.1", 1, now=0.0) for _ in range(3)]
    [True, True, False]
    >>> allowances.take("10.0.0.2", 1, now=0.0), allowances.take("10.0.0.1", 1, now=1.0)
    (True, True)
    """

    __slots__ = ("_burst", "_by_key", "_most", "_rate")

    def __init__(self, rate: float, burst: float, most: int) -> None:
        self._rate = rate
        self._burst = burst
        self._most = most
        # Who asked longest ago comes first. Not a dict: to find its first key, it walks over all
        # places that were emptied, and a flood of new keys would make every call do so.
        self._by_key: OrderedDict[Key, Allowance] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_key)

    def take(self, key: Key, cost: float, now: float) -> bool:
        """Use ``cost`` of what the key has; False, and nothing is used, if that is too little."""
        self._forget_idle(now)
        by_key = self._by_key
        allowance = by_key.get(key)
        if allowance is None:
            if len(by_key) >= self._most:
                by_key.popitem(last=False)
            allowance = by_key[key] = Allowance(self._rate, self._burst)
        else:
            by_key.move_to_end(key)
        return allowance.take(cost, now)

    def _forget_idle(self, now: float) -> None:
        by_key = self._by_key
        for _ in range(FORGOTTEN_AT_ONCE):
            oldest = next(iter(by_key), None)
            if oldest is None or not by_key[oldest].idle(now):
                return
            del by_key[oldest]
