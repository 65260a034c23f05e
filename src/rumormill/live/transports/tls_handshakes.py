"""Handshakes under way: how many there may be, from how many, and for how long.

A handshake costs whoever is dialed a thousand times what it costs to ask for one. So those under
way are bounded, in all and for each owner of addresses, and each has its time from the first byte
to the last, however its bytes dribble in. The time that we spend on those that fail is charged to
the owner: when it has used up its allowance, its next ones have to wait until time has paid.

Behind one address there may be many, and one of them who does nothing but fail must not lock the
others out. So nobody is refused for debts, and nobody waits longer than :data:`LONGEST_WAIT`: then
all who wait have their turn. And where there are as many handshakes as may be, one that has dawdled
makes room for a newcomer.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from rumormill.core.limits import MICROSECONDS, Accounts, WorkLimits
from rumormill.live.transports.tls_session import Session
from rumormill.live.transports.tls_words import TOO_MANY, TOO_MANY_OF_ADDRESS

MOST_OWNERS = 10_000
"""Whose failed handshakes are remembered."""


USUAL_WORK = WorkLimits()
"""Some thirty handshakes that fail at once, and some fifteen a second."""

LONGEST_WAIT = 2.0
"""Seconds that a handshake has to wait for the debts of its owner: of the time that it has, most
must be left."""

DAWDLING = 1.0
"""Seconds after which a handshake makes room for another: most take a tenth of it."""


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
        if self._owners[owner] >= self._limits.most_of_owner:
            return TOO_MANY_OF_ADDRESS
        return TOO_MANY if self._inbound >= self._limits.most else ""

    def dawdler(self, owner: str) -> Session | None:
        """Who makes room for one more of an owner: the oldest handshake of that owner if it has as
        many as it may have, and else of the one that has most. None if all of them are young.
        """
        if self._owners[owner] < self._limits.most_of_owner:
            owner = max(self._owners, key=self._owners.__getitem__)
        now = asyncio.get_running_loop().time()
        for session in self._sessions.values():  # the oldest first
            if session.owner == owner and now - session.due_at > DAWDLING:
                return session
        return None

    def wait(self, session: Session) -> float:
        """Seconds that a handshake has to wait before it costs us anything; it waits once."""
        if session.waited:
            return 0.0
        session.waited = True
        loop = asyncio.get_running_loop()
        work = self._limits.work
        over = self._accounts.owed(session.owner, loop.time()) - work.burst_cost
        if over <= 0.0:
            return 0.0
        seconds = min(over / (work.share * MICROSECONDS), LONGEST_WAIT)
        session.due_at = loop.time() + seconds
        return seconds

    def begin(self, session: Session) -> None:
        """One more, from now on."""
        session.due_at = asyncio.get_running_loop().time()
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
        # Nobody waits longer for larger debts, and others may have the address tomorrow.
        limits = self._limits.work
        most = limits.burst_cost + LONGEST_WAIT * limits.share * MICROSECONDS
        work.debt = min(work.debt, most)

    def of_dial(self, dial: int) -> Session | None:
        """The one that a dial of ours has come to, if it has."""
        for session in self._sessions.values():
            if session.dial == dial:
                return session
        return None

    def all(self) -> list[Session]:
        """Those under way."""
        return list(self._sessions.values())
