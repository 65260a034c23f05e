"""Handshakes under way: how many there may be, from how many, and for how long.

A handshake costs whoever is dialed a thousand times what it costs to ask for one. So those under
way are bounded, in all and for each owner of addresses, and each has its time from the first byte
to the last, however its bytes dribble in.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from rumormill.live.transports.tls_session import Session
from rumormill.live.transports.tls_words import TOO_MANY, TOO_MANY_OF_ADDRESS


class Handshakes:
    """Those of one node; ``timed_out`` hears of each that took too long."""

    def __init__(
        self, timeout: float, most: int, most_of_owner: int, timed_out: Callable[[Session], None]
    ) -> None:
        self._timeout = timeout
        self._most, self._most_of_owner = most, most_of_owner
        self._timed_out = timed_out
        self._sessions: dict[int, Session] = {}
        self._timers: dict[int, asyncio.TimerHandle] = {}
        self._owners: Counter[str] = Counter()
        self._inbound = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def refusal(self, owner: str) -> str:
        """Why there is no room for one more that an owner has dialed; empty if there is."""
        if self._owners[owner] >= self._most_of_owner:
            return TOO_MANY_OF_ADDRESS
        return TOO_MANY if self._inbound >= self._most else ""

    def begin(self, session: Session) -> None:
        """One more, from now on."""
        self._sessions[session.number] = session
        if session.owner:
            self._owners[session.owner] += 1
            self._inbound += 1
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._timeout, self._timed_out, session)
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

    def of_dial(self, dial: int) -> Session | None:
        """The one that a dial of ours has come to, if it has."""
        for session in self._sessions.values():
            if session.dial == dial:
                return session
        return None

    def all(self) -> list[Session]:
        """Those under way."""
        return list(self._sessions.values())
