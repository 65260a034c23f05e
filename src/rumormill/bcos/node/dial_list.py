"""The dial list: whom to connect to, when to try, and when to try again."""

from __future__ import annotations

import enum
from collections.abc import Callable
from random import Random

from rumormill.bcos.node.parameters import NodeParameters
from rumormill.core.timers import Alarm, Timers
from rumormill.core.trace import CONNECTION_FAILED, DIAL_SCHEDULED
from rumormill.core.transport import CancelTransport, DialEnded, OpenTransport
from rumormill.core.turn import Turn
from rumormill.core.words import in_words

DIAL_TIMEOUT = 50.0
"""Seconds that a connection may take to stand, with its handshake."""

FIRST_DELAY = 1.0
"""Seconds until the first new attempt; each further one waits twice as long, to the interval."""

JITTER = 0.2
"""Of a delay, at most, on top: two nodes that lost each other do not dial at once for ever."""

OWN_ADDRESS_DELAY = 3600.0
"""Seconds for which an address that turned out to be our own is left alone."""

SPEAKS_WITHIN = 1.0
"""Seconds that the user waits at most for a word of a node that is connected: nodes of other make
may be silent for longer, and whoever is no node at all hangs up at the first word of ours."""

ENDED = ("closed", "connection_reset")
"""Reasons of a transport whose other end wants no more."""

HUNG_UP = (
    "it hung up before it said anything; is it the port for SDKs, or do its lists keep us out?"
)

STABLE_AFTER = 30.0
"""Seconds; when a link that lasted so long is lost, the first attempt comes soon again."""


class Phase(enum.Enum):
    """Where an address stands."""

    WAITING = "waiting"
    OPENING = "opening"
    CONNECTED = "connected"


class Target:
    """One address that somebody wants us to be connected to."""

    __slots__ = ("address", "attempt", "connected_at", "dial", "keep", "node", "owed", "phase")

    def __init__(self, address: str) -> None:
        self.address = address
        self.node: str | None = None
        """Who was there last."""
        self.keep = False
        self.owed = False
        """The user has not heard yet how the dial went."""
        self.phase = Phase.WAITING
        self.dial = 0
        self.attempt = 0
        self.connected_at = 0.0


class DialList:
    """Addresses, and what became of each. ``connected`` says whether a node has a link."""

    def __init__(
        self,
        turn: Turn,
        parameters: NodeParameters,
        random: Random,
        connected: Callable[[str], bool],
        alarm: Alarm,
    ) -> None:
        self._turn = turn
        self._interval = parameters.dial_interval
        self._random = random
        self._connected = connected
        self._targets: dict[str, Target] = {}
        self._dials: dict[int, Target] = {}
        self._last_dial = 0
        # Keys: a dial's number for its time-out, an address for its next turn.
        self._timers: Timers[int | str] = Timers(alarm)

    def __len__(self) -> int:
        """How many addresses are being dialed or kept."""
        return len(self._targets)

    # ---- what the user wants

    def dial(self, address: str, keep: bool) -> None:
        """Connect to ``address``; with ``keep``, whenever it is lost, again."""
        target = self._targets.get(address)
        if target is None:
            target = self._targets[address] = Target(address)
        target.keep = target.keep or keep
        target.owed = True
        if target.node is not None and self._connected(target.node):
            if target.phase is not Phase.OPENING:
                self.reached(target, target.node)
        elif target.phase is not Phase.OPENING:
            self._open(target)

    def stop(self) -> None:
        """Dial nothing any more."""
        for target in list(self._targets.values()):
            if target.phase is Phase.OPENING:
                self._end_dial(target)
                self._turn.add(CancelTransport(target.dial))
            self._report(target, None, "the node is shutting down")
            self._remove(target)

    # ---- what became of it

    def opened(self, dial: int) -> Target | None:
        """The connection of ``dial`` stands; None if nobody waits for it any more."""
        target = self._dials.get(dial)
        if target is not None:
            self._end_dial(target)
        return target

    def transport_failed(self, dial: int, reason: str) -> None:
        """The connection of ``dial`` came to nothing."""
        target = self._dials.get(dial)
        if target is not None:
            self._end_dial(target)
            self._not_reached(target, reason)

    def reached(self, target: Target, node: str, *, spoken: bool = True) -> None:
        """There is a link to who is at the address, whoever opened it; if the node has not
        ``spoken`` yet, the user hears of it later.
        """
        if target.phase is not Phase.CONNECTED or target.node != node:
            target.connected_at = self._turn.now
        target.phase = Phase.CONNECTED
        target.node = node
        if target.owed and not spoken:
            self._timers.set(target.address, self._turn.now + SPEAKS_WITHIN)
            return
        self._timers.cancel(target.address)
        self._report(target, node)
        if not target.keep:
            self._remove(target)

    def spoke(self, node: str) -> None:
        """The first packet of a node came."""
        for target in list(self._targets.values()):
            if target.owed and target.node == node and target.phase is Phase.CONNECTED:
                self.reached(target, node)

    def refused(self, target: Target, problem: str) -> None:
        """Who is at the address is not wanted; the links have traced why."""
        self._report(target, None, problem)
        self._again_or_never(target)

    def is_ourselves(self, target: Target) -> None:
        """The address is our own."""
        self._report(target, None, "it is the address of this node itself")
        if target.keep:
            self._put_off(target, OWN_ADDRESS_DELAY)
        else:
            self._remove(target)

    def lost(self, node: str, reason: str) -> None:
        """The last link to a node is gone."""
        for target in list(self._targets.values()):
            if target.node == node and target.phase is Phase.CONNECTED:
                if self._turn.now - target.connected_at >= STABLE_AFTER:
                    target.attempt = 0
                self._report(target, None, HUNG_UP if reason in ENDED else in_words(reason))
                self._again_or_never(target)

    # ---- time

    def wake(self, now: float) -> None:
        """Dial what is due, and give up what takes too long."""
        for key in self._timers.due(now):
            if isinstance(key, int):
                target = self._dials.pop(key)
                self._turn.add(CancelTransport(key))
                self._not_reached(target, "timed_out", f"no connection within {DIAL_TIMEOUT:g} s")
            else:
                self._due(self._targets[key])

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _due(self, target: Target) -> None:
        if target.node is not None and self._connected(target.node):
            self.reached(target, target.node)
        else:
            self._open(target)

    def _open(self, target: Target) -> None:
        self._timers.cancel(target.address)
        self._last_dial += 1
        target.dial = self._last_dial
        target.phase = Phase.OPENING
        self._dials[target.dial] = target
        self._timers.set(target.dial, self._turn.now + DIAL_TIMEOUT)
        self._turn.add(OpenTransport(target.dial, target.address))

    def _not_reached(self, target: Target, reason: str, problem: str = "") -> None:
        self._turn.trace(CONNECTION_FAILED, peer=target.node, address=target.address, reason=reason)
        self._report(target, None, problem or in_words(reason))
        self._again_or_never(target)

    def _again_or_never(self, target: Target) -> None:
        if target.keep:
            self._put_off(target)
        else:
            self._remove(target)

    def _put_off(self, target: Target, seconds: float | None = None) -> None:
        target.phase = Phase.WAITING
        target.attempt += 1
        delay = self._delay(target.attempt) if seconds is None else seconds
        self._timers.set(target.address, self._turn.now + delay)
        self._turn.trace(
            DIAL_SCHEDULED, peer=target.node,
            address=target.address, delay=delay, attempt=target.attempt,
        )  # fmt: skip

    def _delay(self, attempt: int) -> float:
        # The exponent is bounded because a float is.
        grown = min(FIRST_DELAY * 2.0 ** min(attempt - 1, 16), self._interval)
        return grown * (1.0 + JITTER * self._random.random())

    def _report(self, target: Target, node: str | None, problem: str = "") -> None:
        if target.owed:
            target.owed = False
            if problem:
                problem = f"could not connect to {target.address}: {problem}"
            self._turn.add(DialEnded(target.address, node, problem))

    def _end_dial(self, target: Target) -> None:
        del self._dials[target.dial]
        self._timers.cancel(target.dial)
        target.phase = Phase.WAITING

    def _remove(self, target: Target) -> None:
        del self._targets[target.address]
        self._timers.cancel(target.address)
