"""Nonces of Interests that have ended: what comes with one of them has gone round in a circle."""

from __future__ import annotations

from rumormill.core.timers import NEVER, Alarm
from rumormill.ndn.wire.name import Name


class DeadNonces:
    """Names with nonces, each for ``seconds`` at least and twice that at most.

    They are kept as numbers: names can be long. Two generations, for one that is thrown away
    as a whole needs no timers. If there are too many, the older generation goes early.

    >>> dead = DeadNonces(6.0, 1000, Alarm())
    >>> dead.add(b"name", b"1234", now=0.0)
    >>> dead.wake(6.0); dead.has(b"name", b"1234"), dead.has(b"name", b"5678")
    (True, False)
    >>> dead.wake(12.0); dead.has(b"name", b"1234"), len(dead)
    (False, 0)
    """

    __slots__ = ("_alarm", "_most", "_new", "_old", "_seconds", "_turns_at")

    def __init__(self, seconds: float, most: int, alarm: Alarm) -> None:
        self._seconds = seconds
        self._most = most // 2
        self._alarm = alarm
        self._new: set[int] = set()
        self._old: set[int] = set()
        self._turns_at = NEVER

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def add(self, name: Name, nonce: bytes, now: float) -> None:
        """An Interest has ended."""
        if len(self._new) >= self._most:
            self._turn(now)
        elif self._turns_at == NEVER:
            self._start(now)
        self._new.add(hash((name, nonce)))

    def has(self, name: Name, nonce: bytes) -> bool:
        """Whether an Interest with this nonce ended a while ago."""
        key = hash((name, nonce))
        return key in self._new or key in self._old

    def wake(self, now: float) -> None:
        """Forget the older generation if it is time."""
        if now >= self._turns_at:
            self._turn(now)

    def next_wake(self) -> float | None:
        """When a generation ends."""
        return None if self._turns_at == NEVER else self._turns_at

    def _turn(self, now: float) -> None:
        self._old, self._new = self._new, set()
        if self._old:
            self._start(now)
        else:
            self._turns_at = NEVER

    def _start(self, now: float) -> None:
        self._turns_at = now + self._seconds
        if self._turns_at < self._alarm.soonest:
            self._alarm.soonest = self._turns_at
