"""Handshakes under way: how many there may be, from how many, and for how long.

A handshake costs whoever is dialed a thousand times what it costs to ask for one. So those under
way are bounded, in all and for each owner of addresses, and each has its time from the first byte
to the last, however its bytes dribble in. The time that we spend on those that fail is charged to
the owner: who has used up its allowance is refused before it costs more.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from rumormill.core.limits import MICROSECONDS, Accounts, WorkLimits
from rumormill.live.transports.tls_session import Session
from rumormill.live.transports.tls_words import TOO_MANY, TOO_MANY_OF_ADDRESS, TOO_MUCH_WORK

MOST_OWNERS = 10_000
"""Whose failed handshakes are remembered."""


USUAL_WORK = WorkLimits()
"""Some thirty handshakes that fail at once, and some fifteen a second."""


class HandshakeLimits(NamedTuple):
    """What handshakes may cost."""

    timeout: float
    """Seconds for each, all in all."""
    most: int
    """Under way at once, of those that others have dialed."""
    most_of_owner: int
    """The same, of one IPv4 address or one /64 of IPv6."""
    work: WorkLimits
    """What one such owner may make us do by handshakes that fail."""


class Handshakes:
    """Those of one node; ``timed_out`` hears of each that took too long."""

    def __init__(self, limits: HandshakeLimits, timed_out: Callable[[Session], None]) -> None:
        self._limits = limits
        self._timed_out = timed_out
        self._accounts = Accounts[str](limits.work, MOST_OWNERS)
        self._sessions: dict[int, Session] = {}
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._owners: Counter[str] = Counter()
        self._inbound = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def refusal(self, owner: str) -> str:
        """Why there is no room for one more that an owner has dialed; empty if there is."""
        limits = self._limits
        now = asyncio.get_running_loop().time()
        if self._accounts.owed(owner, now) > limits.work.burst_cost:
            return TOO_MUCH_WORK
        if self._owners[owner] >= limits.most_of_owner:
            return TOO_MANY_OF_ADDRESS
        return TOO_MANY if self._inbound >= limits.most else ""

    def begin(self, session: Session) -> None:
        """One more, from now on."""
        self._sessions[session.number] = session
        if session.owner:
            self._owners[session.owner] += 1
            self._inbound += 1
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._limits.timeout, self._timed_out, session)
        self._timers[session.number] = timer

    def end(self, session: Session) -> None:
        """It is done, or will never be."""
        del self._sessions[session.number]
        self._timers.pop(session.number).cancel()
        if session.owner:
            self._inbound -= 1
            self._owners[session.owner] -= 1
            if not self._owners[session.owner]:
                del self._owners[session.owner]

    def charge(self, session: Session) -> None:
        """It has failed: what it took is charged to whoever has dialed."""
        now = asyncio.get_running_loop().time()
        work = self._accounts.of(session.owner, now)
        work.spend("handshakes", session.spent * MICROSECONDS)
        work.rest(now)  # so that the time that has passed counts

    def of_dial(self, dial: int) -> Session | None:
        """The one that a dial of ours has come to, if it has."""
        for session in self._sessions.values():
            if session.dial == dial:
                return session
        return None

    def all(self) -> list[Session]:
        """Those under way."""
        return list(self._sessions.values())
