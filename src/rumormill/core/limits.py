"""What somebody may make us do: an allowance that refills with time.

One :class:`Allowance` is for one thing that is counted (the pings of one connection, the rejected
messages of one peer); :class:`Allowances` keeps one for each of many keys that strangers choose.

:class:`Work` is for all that one peer makes us do: each kind of it has a price, paid from one
allowance. Who has used it up is held back for a while, and who does nothing else is dropped.
:class:`Accounts` keeps one for each of many keys.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key")

MICROSECONDS = 1_000_000
"""Of work in a second: prices are in microseconds of one core, as measured, more or less."""

SHORTEST_REST = 0.02
"""Seconds. A shorter one would only cost us timers."""

WORN_OUT = float("inf")
"""A rest without an end: the peer has been held back so much that it is to be dropped."""

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


class WorkLimits(NamedTuple):
    """How much work one peer may make us do for nothing."""

    share: float = 0.05
    """Of one core: seconds of work for each second."""
    burst: float = 0.1
    """Seconds of work at once."""
    patience: float = 5.0
    """Seconds that it may have to rest, and a tenth of a second more with each that passes; then
    it is to be dropped."""
    shortest_rest: float = SHORTEST_REST
    """Seconds of a rest, at least."""

    @property
    def burst_cost(self) -> float:
        """The burst in microseconds, as prices are: nobody with less debt has to rest."""
        return self.burst * MICROSECONDS


PATIENCE_RATE = 0.1
"""Seconds of rest for each second that wear nobody's patience out: an honest peer may be at the
edge of its allowance for ever."""


class Work:
    """What one peer has made us do, in microseconds, beyond what was of use.

    Whoever does some of it for the peer says so by :meth:`spend`, with a name for the trace; what
    is of use costs nothing. After each input of the peer, :meth:`rest` says for how long nothing
    more may be taken of it.

    >>> work = Work(WorkLimits(share=0.05, burst=0.25, patience=10.0), now=0.0)
    >>> work.spend("ids", 200_000)
    >>> work.rest(now=0.0)
    0.0
    >>> work.spend("ids", 100_000)
    >>> work.rest(now=0.0), work.reason
    (1.0, 'ids')
    """

    __slots__ = (
        "_blame", "_burst", "_by_kind", "_limits", "_patience", "_rests_until", "_since", "debt",
        "reason",
    )  # fmt: skip

    def __init__(self, limits: WorkLimits, now: float) -> None:
        self._limits = limits
        self._burst = limits.burst_cost
        self._since = self._rests_until = now
        self._by_kind: dict[str, float] = {}
        self._blame = 0.0
        self._patience = Allowance(PATIENCE_RATE, limits.patience)
        self.debt = 0.0
        """Microseconds that were spent and that time has not paid for yet."""
        self.reason = ""
        """What most of the work before the last rest was."""

    def spend(self, kind: str, cost: float, *, blame: bool = True) -> None:
        """The peer made us do ``cost`` microseconds of work of a kind.

        Without ``blame`` it was of use, and only dear: it may have to rest for it, and is never
        dropped.
        """
        self.debt += cost
        self._by_kind[kind] = self._by_kind.get(kind, 0.0) + cost
        if blame:
            self._blame += cost

    def rest(self, now: float) -> float:
        """Seconds for which nothing is to be taken of the peer: nearly always 0.0.

        :data:`WORN_OUT` if it is to be dropped instead.
        """
        if self.debt <= self._burst:
            return 0.0
        rate = self._limits.share * MICROSECONDS
        self.debt = max(0.0, self.debt - max(0.0, now - self._since) * rate)
        self._since = now
        over = self.debt - self._burst
        if over <= 0.0:
            return 0.0
        self.reason = max(self._by_kind, key=self._by_kind.__getitem__, default="")
        to_blame = self._blame / (sum(self._by_kind.values()) or 1.0)
        self._by_kind.clear()
        self._blame = 0.0
        seconds = max(over / rate, self._limits.shortest_rest)
        # What was under way when it was told to rest may have made its rest longer.
        longer = max(0.0, now + seconds - max(now, self._rests_until))
        self._rests_until = max(self._rests_until, now + seconds)
        return seconds if self._patience.take(longer * to_blame, now) else WORN_OUT

    def owed(self, now: float) -> float:
        """Microseconds that time has not paid for until now."""
        paid = max(0.0, now - self._since) * self._limits.share * MICROSECONDS
        return max(0.0, self.debt - paid)

    def idle(self, now: float) -> bool:
        """Whether all is paid, and all patience back: a new one would be the same."""
        return self.owed(now) == 0.0 and self._patience.idle(now)


class Accounts(Generic[Key]):
    """A :class:`Work` with the same limits for each key, for no more than ``most`` keys.

    As with :class:`Allowances`, who owes nothing is forgotten without a loss: with each new key a
    few are looked at. Past ``most`` one goes that has been there for long.

    >>> accounts = Accounts[str](WorkLimits(share=0.05, burst=0.25), most=1000)
    >>> accounts.of("10.0.0.1", now=0.0).spend("queries", 300_000)
    >>> accounts.of("10.0.0.1", now=0.0).rest(now=0.0), accounts.owed("10.0.0.2", now=0.0)
    (1.0, 0.0)
    """

    __slots__ = ("_by_key", "_limits", "_most")

    def __init__(self, limits: WorkLimits, most: int) -> None:
        self._limits = limits
        self._most = most
        self._by_key: OrderedDict[Key, Work] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_key)

    def of(self, key: Key, now: float) -> Work:
        """The account of a key, opened if it has none."""
        work = self._by_key.get(key)
        if work is None:
            self._look_at_some(now)
            if len(self._by_key) >= self._most:
                self._by_key.popitem(last=False)
            work = self._by_key[key] = Work(self._limits, now)
        return work

    def owed(self, key: Key, now: float) -> float:
        """Microseconds that the key has not paid for."""
        work = self._by_key.get(key)
        return 0.0 if work is None else work.owed(now)

    def _look_at_some(self, now: float) -> None:
        """Forget those that owe nothing; the others are looked at again when all have been."""
        by_key = self._by_key
        for _ in range(min(FORGOTTEN_AT_ONCE, len(by_key))):
            key = next(iter(by_key))
            if by_key[key].idle(now):
                del by_key[key]
            else:
                by_key.move_to_end(key)
