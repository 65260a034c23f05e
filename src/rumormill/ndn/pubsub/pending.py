"""Our Interests that wait for an answer, or for being sent again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from random import Random
from typing import ClassVar, Final

from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.ndn.pubsub import events
from rumormill.ndn.pubsub.line import Line
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.interest import Interest, with_nonce
from rumormill.ndn.wire.name import Name

EARLY: Final = 0.9
"""Part of a lifetime after which an Interest is sent again. As long as forwarders remember the last
try, they bring the next one elsewhere; once it is over, they begin anew with who did not answer."""


class Flight(ABC):
    """Something that is asked for with one Interest, as often as it takes."""

    __slots__ = ("interest", "nacks", "sends", "sent")

    is_notify: ClassVar[bool] = False
    """Whether the answer needs a route to ourselves."""

    def __init__(self, interest: Interest) -> None:
        self.interest = interest
        """As it was sent last."""
        self.sent = False
        """Whether it is on its way; otherwise it waits for being sent again."""
        self.sends = 0
        self.nacks = 0

    @abstractmethod
    def answered(self, data: Data) -> None:
        """The answer is there; nobody waits for it any more."""

    @abstractmethod
    def refused(self, reason: int) -> None:
        """A Nack came for what was sent last; the Interest is not on its way any more."""

    @abstractmethod
    def due(self) -> None:
        """Its time is over: no answer came, or it is to be sent again."""


class Pending:
    """All flights, by the names of their Interests."""

    def __init__(self, turn: Turn, line: Line, random: Random, alarm: Alarm) -> None:
        self._turn = turn
        self._line = line
        self._random = random
        self._flights: dict[Name, Flight] = {}
        self._timers: Timers[Name] = Timers(alarm)

    def __len__(self) -> int:
        return len(self._flights)

    def new_nonce(self) -> bytes:
        """What makes an Interest different from the last one of its name."""
        return self._random.getrandbits(32).to_bytes(4, "big")

    def jitter(self, delay: float) -> float:
        """A delay with up to half of it added, so that what failed together comes back apart."""
        return delay * (1.0 + 0.5 * self._random.random())

    # ---- what flights do

    def send(self, flight: Flight, lifetime: float, *, last: bool = False) -> None:
        """Send the Interest, from the second time on with another nonce, and wait for an answer:
        the last time until its lifetime is over, before that a little less.
        """
        if flight.sends:
            flight.interest = with_nonce(flight.interest, self.new_nonce())
        interest = flight.interest
        flight.sends += 1
        flight.sent = True
        self._flights[interest.name] = flight
        wait = lifetime if last else EARLY * lifetime
        self._timers.set(interest.name, self._turn.now + wait)
        self._line.send_interest(interest)

    def pause(self, flight: Flight, wait: float) -> None:
        """Do nothing for so long; an answer that comes meanwhile is one."""
        flight.sent = False
        name = flight.interest.name
        self._flights[name] = flight
        self._timers.set(name, self._turn.now + wait)

    def end(self, flight: Flight) -> None:
        """Nobody waits for it any more; harmless if nobody did."""
        name = flight.interest.name
        if self._flights.pop(name, None) is not None:
            self._timers.cancel(name)

    # ---- what comes

    def data(self, data: Data) -> bool:
        """A Data came; False if nobody waits for it."""
        flight = self._flights.pop(data.name, None)
        if flight is None:
            return False
        self._timers.cancel(data.name)
        flight.answered(data)
        return True

    def nack(self, interest: Interest, reason: int) -> bool:
        """A Nack came; False if it is for nothing that is on its way.

        One for an Interest that was sent again since is late, and says nothing of the newer one.
        """
        flight = self._flights.get(interest.name)
        if flight is None or not flight.sent or flight.interest.nonce != interest.nonce:
            return False
        flight.sent = False
        flight.nacks += 1
        flight.refused(reason)
        return True

    def resend(self, *, notifies: bool) -> None:
        """The line was down and is up again: what was on its way is sent once more.

        Notifications only when others can fetch from us, all else at once.
        """
        flights = self._flights.values()
        again = [each for each in flights if each.sent and each.is_notify == notifies]
        for flight in again:
            flight.interest = with_nonce(flight.interest, self.new_nonce())
            flight.sends += 1
            self._line.send_interest(flight.interest)
        if again:
            what = "notify" if notifies else "fetch"
            self._turn.trace(events.RETRIED, what=what, reason="line_up", count=len(again))

    def wake(self) -> None:
        """Tell those whose time is over."""
        flights = self._flights
        for name in self._timers.due(self._turn.now):
            flight = flights.get(name)
            if flight is not None:  # one before it may have ended it
                flight.due()

    def next_wake(self) -> float | None:
        """When the first of them is due."""
        return self._timers.next_wake()
