"""The gate of a node that speaks in datagrams: who may come in, before anybody reads what it says.

There are no connections that could be held back or closed, and a source address can be forged. So
each source has an allowance of work (:class:`~rumormill.core.limits.Work`), and when it is used up,
its datagrams are turned away unread for a while. Three things keep that from becoming a weapon:

- What is *proven* to be of a peer has an account of its own: a datagram with something in it that
  only the owner of the address can know. While others forge the address of an honest peer, its own
  datagrams come in; they are turned away only for what it did itself.
- Strangers, whom we neither know nor asked, share an allowance besides, however many they are: so
  those that we know are served first. When it is used up, those wait first that took most of it.
- Who goes on though it is turned away, thousands of times, is not heard for a minute.

The family says who is known and what proves an address (:class:`Acquaintances`), and charges.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple, Protocol

from rumormill.core.limits import WORN_OUT, Accounts, Work, WorkLimits
from rumormill.core.machine import Peer
from rumormill.core.timers import Timers

LONG_REST = 60.0
"""Seconds for which nothing is heard of who did nothing but wear us out."""

MOST_UNHEARD = 1000
"""Datagrams turned away in one rest after which a long one follows: honest nodes that get no
answer say less, not more."""

LIGHT = 2_000.0
"""Microseconds: a stranger that owes less is let in when those that owe more have to wait."""

MOST_COMMON_COST = 100.0
"""Microseconds of one datagram that all strangers pay together: prices above it are punishments,
and meant for the one."""

STRANGERS_BURST = 0.2
"""Seconds of work that all strangers together may bring at once before those that take most have
to wait; if those that take little bring twice as much, all of them."""

TURNED_AWAY = 10.0
"""Microseconds that a datagram costs a stranger that took much, though it is turned away."""

REPORT_INTERVAL = 1.0
"""Seconds between two reports of strangers that were turned away."""


class Acquaintances(Protocol):
    """What a family knows of those who send."""

    def source_of(self, peer: Peer) -> str:
        """What an address shares with others of the same owner."""
        ...

    def is_neighbour(self, peer: Peer) -> bool:
        """Whether we deal with the peer, at just this address, which it has proven to be its."""
        ...

    def is_known(self, peer: Peer, now: float) -> bool:
        """Whether the address was proven not long ago; neighbours are among them."""
        ...

    def vouched(self, peer: Peer, packet: bytes, now: float) -> bool:
        """Whether something in the unread datagram shows that the peer is at its own address."""
        ...


class Gatekeeper(Protocol):
    """What a transport asks before it hands a datagram on."""

    alert: bool
    """Whether there is anybody who is to be turned away; else nobody needs to ask."""

    def admits(self, peer: Peer, packet: bytes, now: float) -> bool:
        """Whether a datagram may come in; if not, it is counted here."""
        ...


class Held(NamedTuple):
    """A source that has used up its allowance just now."""

    reason: str
    seconds: float
    worn_out: bool


class TurnedAway(NamedTuple):
    """Datagrams that were turned away: from whom if it was one, and why."""

    peer: Peer | None
    reason: str
    packets: int
    held: Held | None = None
    """What follows, for who went on and on."""


class _Rest:
    """A source whose datagrams are turned away."""

    __slots__ = ("count", "peer", "reason", "until")

    def __init__(self, peer: Peer, reason: str, until: float) -> None:
        self.peer = peer
        self.reason = reason
        self.until = until
        self.count = 0


class Gate:
    """Turns away who has used up its allowance. Nothing in it grows past ``most`` sources."""

    __slots__ = (
        "_accounts", "_acquaintances", "_all_strangers", "_all_until", "_busy_strangers",
        "_busy_until", "_most", "_resting", "_timers", "_told_later", "_turned_away", "alert",
    )  # fmt: skip

    def __init__(
        self,
        limits: WorkLimits,
        strangers_share: float,
        acquaintances: Acquaintances,
        most: int,
    ) -> None:
        self._acquaintances = acquaintances
        self._most = most
        self._accounts = Accounts[str](limits, most)
        common = WorkLimits(strangers_share, STRANGERS_BURST, patience=WORN_OUT)
        self._busy_strangers = Work(common, 0.0)
        self._all_strangers = Work(common._replace(burst=2 * STRANGERS_BURST), 0.0)
        self._busy_until = self._all_until = 0.0
        self._turned_away = 0
        self._told_later: list[TurnedAway] = []
        self._resting: OrderedDict[str, _Rest] = OrderedDict()
        self._timers: Timers[str] = Timers()
        self.alert = False
        """Whether there is anybody who is to be turned away."""

    def sizes(self) -> dict[str, int]:
        """How much is held, for tests of its bounds."""
        return {"accounts": len(self._accounts), "resting": len(self._resting)}

    # ---- before a datagram is read

    def admits(self, peer: Peer, packet: bytes, now: float) -> bool:
        """Whether a datagram may come in; if not, it is counted here."""
        if not self.alert:
            return True
        acquaintances = self._acquaintances
        source = acquaintances.source_of(peer)
        neighbour = acquaintances.is_neighbour(peer)
        rest = self._resting.get(_proven(peer if neighbour else source))
        if rest is not None and now < rest.until:
            rest.count += 1
            return False
        rest = self._resting.get(source)
        if rest is not None and now < rest.until:
            if acquaintances.vouched(peer, packet, now):
                return True
            rest.count += 1
            return False
        if neighbour or now >= self._busy_until:
            return True
        light = self._accounts.owed(source, now) <= LIGHT
        if light and now >= self._all_until:
            return True
        if acquaintances.is_known(peer, now) or acquaintances.vouched(peer, packet, now):
            return True
        self._turned_away += 1
        if not light:
            self._wear_out(source, peer, now)
        return False

    def _wear_out(self, source: str, peer: Peer, now: float) -> None:
        """A stranger that took much goes on: soon it rests, and costs no more than a look."""
        held = self._spend(source, peer, "turned_away", TURNED_AWAY, now, blame=False)
        if held is not None:
            self._told_later.append(TurnedAway(peer, held.reason, 0, held))

    # ---- what it made us do

    def charge(
        self, peer: Peer, kind: str, cost: float, now: float, *, proven: bool, blame: bool
    ) -> Held | None:
        """The peer made us do work, ``proven`` to be of itself or in the name of its address.

        Returns what is to be traced, if its allowance is used up with that.
        """
        acquaintances = self._acquaintances
        key = source = acquaintances.source_of(peer)
        if proven:
            key = _proven(peer if acquaintances.is_neighbour(peer) else source)
        elif not acquaintances.is_known(peer, now):
            self._charge_strangers(source, kind, min(cost, MOST_COMMON_COST), now)
        return self._spend(key, peer, kind, cost, now, blame=blame)

    def _spend(
        self, key: str, peer: Peer, kind: str, cost: float, now: float, *, blame: bool
    ) -> Held | None:
        work = self._accounts.of(key, now)
        work.spend(kind, cost, blame=blame)
        seconds = work.rest(now)
        if not seconds:
            return None
        worn_out = seconds == WORN_OUT
        if worn_out:
            seconds = LONG_REST
        return self._let_rest(key, peer, Held(work.reason, seconds, worn_out), now)

    def _charge_strangers(self, source: str, kind: str, cost: float, now: float) -> None:
        self._busy_strangers.spend(kind, cost, blame=False)
        if self._accounts.owed(source, now) <= LIGHT:
            # Who took much waits first anyway: it must not take from those that took little.
            self._all_strangers.spend(kind, cost, blame=False)
        if seconds := self._busy_strangers.rest(now):
            self._busy_until = now + seconds
            self.alert = True
            if seconds := self._all_strangers.rest(now):
                self._all_until = now + seconds

    def _let_rest(self, key: str, peer: Peer, held: Held, now: float) -> Held | None:
        until = now + held.seconds
        self.alert = True
        rest = self._resting.get(key)
        if rest is not None and now < rest.until:
            # What was under way when the rest began makes it longer; it was told already.
            if until > rest.until:
                rest.until = until
                self._timers.set(key, until)
            return None
        if rest is None:
            if len(self._resting) >= self._most:
                forgotten, _ = self._resting.popitem(last=False)
                self._timers.cancel(forgotten)
            rest = self._resting[key] = _Rest(peer, held.reason, until)
        rest.peer, rest.reason, rest.until = peer, held.reason, until
        self._timers.set(key, until)
        return held

    # ---- time

    def next_wake(self) -> float | None:
        """When a rest is over, or strangers are to be counted."""
        times = [] if (due := self._timers.next_wake()) is None else [due]
        if self._turned_away or self._busy_until:
            times.append(self._busy_until + REPORT_INTERVAL)
        return min(times, default=None)

    def due(self, now: float) -> list[TurnedAway]:
        """End the rests that are over; returns who was turned away meanwhile."""
        told, self._told_later = self._told_later, []
        for key in self._timers.due(now):
            rest = self._resting.pop(key)
            held = None
            if rest.count >= MOST_UNHEARD:
                going_on = Held(rest.reason, LONG_REST, worn_out=True)
                held = self._let_rest(key, rest.peer, going_on, now)
            if rest.count:
                told.append(TurnedAway(rest.peer, rest.reason, rest.count, held))
        if self._turned_away:
            told.append(TurnedAway(None, "strangers", self._turned_away))
            self._turned_away = 0
        if now >= self._busy_until + REPORT_INTERVAL:
            self._busy_until = 0.0
        self.alert = bool(self._resting) or bool(self._busy_until)
        return told


def _proven(owner: str) -> str:
    """The key of what is proven to be of an owner, beside what is done in its name."""
    return f"={owner}"
