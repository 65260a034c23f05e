"""Addresses that somebody wants us to be connected to, and when each is dialed again.

For families in which an address is all that is known of who is there, and has one connection.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Protocol

from rumormill.core.timers import Alarm, Timers
from rumormill.core.trace import CONNECTION_FAILED, DIAL_SCHEDULED
from rumormill.core.transport import CancelTransport, DialEnded, OpenTransport
from rumormill.core.turn import Turn
from rumormill.core.words import in_words


class RedialTimes(Protocol):
    """How patient we are: what a family's parameters say."""

    @property
    def dial_timeout(self) -> float:
        """Seconds until a connection must stand."""
        ...

    @property
    def redial_first_delay(self) -> float:
        """Seconds before an address to be kept is dialed again; doubles with every failure."""
        ...

    @property
    def redial_longest_delay(self) -> float:
        """Seconds between two dials of an address at most."""
        ...

    @property
    def redial_jitter(self) -> float:
        """Part of a delay that is added at random."""
        ...

    @property
    def stable_after(self) -> float:
        """Seconds that a connection must have lived for the delays to begin anew."""
        ...


class Target:
    """One address."""

    __slots__ = ("address", "attempt", "busy", "dial", "keep", "owed")

    def __init__(self, address: str) -> None:
        self.address = address
        self.keep = False
        self.owed = False
        """The user has not heard yet how the dial went."""
        self.busy = False
        """It is being dialed, or connected."""
        self.dial: int | None = None
        """The transport that is being opened."""
        self.attempt = 0
        """Dials put off since the last connection that lasted."""


class Targets:
    """All of them, in the order in which they were asked for."""

    def __init__(self, turn: Turn, times: RedialTimes, random: random.Random, alarm: Alarm) -> None:
        self._turn = turn
        self._times = times
        self._random = random
        self._by_address: dict[str, Target] = {}
        self._by_dial: dict[int, Target] = {}
        self._last_dial = 0
        self.problem = ""
        """What came of the last that failed, in a sentence."""
        # Keys: a dial's number for its time-out, an address for its next turn.
        self._timers: Timers[int | str] = Timers(alarm)

    def __len__(self) -> int:
        return len(self._by_address)

    def __contains__(self, address: object) -> bool:
        return address in self._by_address

    @property
    def opening(self) -> int:
        """How many transports are being opened."""
        return len(self._by_dial)

    def addresses(self) -> Iterable[str]:
        """In the order in which they were asked for."""
        return self._by_address

    def want(self, address: str, keep: bool, peer: str | None) -> None:
        """Connect to ``address``, where ``peer`` is if it is connected already."""
        target = self._by_address.get(address)
        if target is None:
            target = self._by_address[address] = Target(address)
        target.keep = target.keep or keep
        target.owed = True
        if peer is not None:
            self._report(target, peer)
        elif not target.busy:
            self._open(target)

    def opened(self, dial: int | None) -> str | None:
        """The transport of ``dial`` stands: the address; None if nobody waits for it any more."""
        target = None if dial is None else self._by_dial.get(dial)
        if target is None:
            return None
        self._end_dial(target)
        return target.address

    def transport_failed(self, dial: int, reason: str) -> None:
        """The transport of ``dial`` came to nothing."""
        target = self._by_dial.get(dial)
        if target is not None:
            self._end_dial(target)
            self.failed(target.address, reason, in_words(reason))

    def reached(self, address: str, peer: str) -> None:
        """Who is at ``address`` can be used, and is called ``peer``."""
        target = self._by_address.get(address)
        if target is not None:
            self._report(target, peer)

    def failed(self, address: str, reason: str, problem: str, lasted: float | None = None) -> None:
        """``address`` was not reached, or its connection is gone after so many seconds.

        ``reason`` is for the trace, ``problem`` for whoever has asked for the address.
        """
        target = self._by_address.get(address)
        if target is None:
            return
        target.busy = False
        if lasted is None:
            self._turn.trace(CONNECTION_FAILED, address=address, reason=reason)
            self.problem = f"could not connect to {address}: {problem}"
        self._report(target, None, problem)
        if not target.keep:
            del self._by_address[address]
            return
        if lasted is not None and lasted >= self._times.stable_after:
            target.attempt = 0
        target.attempt += 1
        delay = self._delay(target.attempt)
        self._timers.set(address, self._turn.now + delay)
        self._turn.trace(DIAL_SCHEDULED, address=address, delay=delay, attempt=target.attempt)

    def forget(self, address: str, problem: str) -> None:
        """Nobody wants ``address`` any more; ``problem`` is for who still waits for it."""
        target = self._by_address.pop(address, None)
        if target is None:
            return
        if target.dial is not None:
            self._turn.add(CancelTransport(target.dial))
            self._end_dial(target)
        self._timers.cancel(address)
        self._report(target, None, problem)

    def stop(self) -> None:
        """Dial nothing any more."""
        for address in list(self._by_address):
            self.forget(address, "the network is being closed")

    def wake(self) -> None:
        """Dial what is due, and give up what takes too long."""
        for key in self._timers.due(self._turn.now):
            if isinstance(key, str):
                self._open(self._by_address[key])
                continue
            target = self._by_dial[key]
            self._turn.add(CancelTransport(key))
            self._end_dial(target)
            problem = f"no answer within {self._times.dial_timeout:g} s"
            self.failed(target.address, "timed_out", problem)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _open(self, target: Target) -> None:
        self._timers.cancel(target.address)
        self._last_dial += 1
        target.dial = self._last_dial
        target.busy = True
        self._by_dial[target.dial] = target
        self._timers.set(target.dial, self._turn.now + self._times.dial_timeout)
        self._turn.add(OpenTransport(target.dial, target.address))

    def _end_dial(self, target: Target) -> None:
        if target.dial is not None:
            del self._by_dial[target.dial]
            self._timers.cancel(target.dial)
            target.dial = None

    def _delay(self, attempt: int) -> float:
        """Doubled each time, with jitter on top."""
        times = self._times
        spread = 1.0 + times.redial_jitter * self._random.random()
        # The exponent is bounded because a float is.
        grown = times.redial_first_delay * 2.0 ** min(attempt - 1, 64) * spread
        return min(grown, times.redial_longest_delay)

    def _report(self, target: Target, peer: str | None, problem: str = "") -> None:
        if target.owed:
            target.owed = False
            if problem:
                problem = f"could not connect to {target.address}: {problem}"
            self._turn.add(DialEnded(target.address, peer, problem))
