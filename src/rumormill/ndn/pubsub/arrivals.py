"""Messages on their way to us, from the notification to the acknowledgement."""

from __future__ import annotations

from typing import Final, NamedTuple

from rumormill.core import trace
from rumormill.core.turn import Turn
from rumormill.ndn.pubsub.guard import FetchGuard
from rumormill.ndn.pubsub.line import Line
from rumormill.ndn.pubsub.pending import Flight
from rumormill.ndn.pubsub.recent import Recent, Seen
from rumormill.ndn.pubsub.segments import SegmentFetch
from rumormill.ndn.wire.data import Data, encode_data
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.link import NackReason
from rumormill.ndn.wire.name import Name
from rumormill.ndn.wire.signature import Signer

MOST_WAITERS: Final = 8
"""Notifications of one message that wait for its end. A publisher whose signatures are random has
another one for each time that it sends it; it gives up before there are so many."""


class Subscription:
    """A topic that we listen to."""

    __slots__ = ("fetches", "name", "ready", "route", "text", "told")

    def __init__(self, text: str, name: Name, route: Name) -> None:
        self.text = text
        self.name = name
        self.route = route
        """What the forwarder brings us Interests below."""
        self.ready = False
        """Whether the route stands."""
        self.told = False
        """Whether the trace has it."""
        self.fetches = 0


class Waiter(NamedTuple):
    """A notification that wants an answer."""

    notify: Interest
    token: bytes
    until: float
    """From then on nobody waits for the answer."""


class Fetcher:
    """What an arrival tells of its Interest; see :class:`~.fetching.Fetching`."""

    def answered(self, arrival: Arrival, data: Data) -> None:
        """The message is there, or its manifest."""
        raise NotImplementedError

    def refused(self, arrival: Arrival) -> None:
        """A forwarder could not bring it."""
        raise NotImplementedError

    def due(self, arrival: Arrival) -> None:
        """It did not come, or is to be asked for again."""
        raise NotImplementedError


class Arrival(Flight):
    """One message on its way. Its Interest is the one that fetches the message."""

    __slots__ = (
        "check", "fetcher", "fetching", "id", "publisher", "reserved", "segments",
        "sender", "stranger", "subscription", "timeouts", "waiters",
    )  # fmt: skip

    def __init__(
        self,
        fetcher: Fetcher,
        id: bytes,
        subscription: Subscription,
        publisher: Name,
        sender: str,
        fetch: Interest,
        waiter: Waiter,
    ) -> None:
        super().__init__(fetch)
        self.fetcher = fetcher
        self.id = id
        self.subscription = subscription
        self.publisher = publisher
        self.sender = sender
        """The publisher as text."""
        self.waiters = [waiter]
        self.stranger = False
        self.fetching = False
        """Whether the guard counts it."""
        self.check = 0
        """The number of the check that is under way."""
        self.timeouts = 0
        self.segments: SegmentFetch | None = None
        self.reserved = 0
        """Bytes set aside for its segments."""

    @property
    def source(self) -> str | None:
        """Whose checks it is among. A stranger could choose another name each time, so all of them
        are one."""
        return None if self.stranger else self.sender

    def answered(self, data: Data) -> None:
        """It is there, or its manifest."""
        self.fetcher.answered(self, data)

    def refused(self, reason: int) -> None:
        """A forwarder could not bring it."""
        self.fetcher.refused(self)

    def due(self) -> None:
        """It did not come, or is to be asked for again."""
        self.fetcher.due(self)

    def join(self, waiter: Waiter) -> None:
        """One more notification of the same message; the last of each name counts."""
        waiters, name = self.waiters, waiter.notify.name
        for place, other in enumerate(waiters):
            if other.notify.name == name:
                waiters[place] = waiter
                return
        if len(waiters) >= MOST_WAITERS:
            del waiters[0]
        waiters.append(waiter)


class Arrivals:
    """All of them by id, and what becomes of each."""

    def __init__(
        self, turn: Turn, line: Line, signer: Signer, guard: FetchGuard, recent: Recent
    ) -> None:
        self._turn = turn
        self._line = line
        self._signer = signer
        self._guard = guard
        self._recent = recent
        self.by_id: dict[bytes, Arrival] = {}

    def begin(self, arrival: Arrival) -> None:
        """A message is going to be fetched."""
        self.by_id[arrival.id] = arrival
        arrival.stranger = self._guard.begin(arrival.publisher)
        arrival.fetching = True
        arrival.subscription.fetches += 1

    def _end(self, arrival: Arrival, came: bool | None) -> None:
        del self.by_id[arrival.id]
        if arrival.fetching:
            self._guard.end(arrival.publisher, arrival.stranger, came, self._turn.now)
            arrival.subscription.fetches -= 1

    def delivered(self, arrival: Arrival) -> None:
        """A message was delivered: all who wait hear of it, and it is remembered."""
        self._end(arrival, came=True)
        now, count = self._turn.now, 0
        for notify, token, until in arrival.waiters:
            if now < until:
                self.acknowledge(notify, token)
                count += 1
        self._recent.add(arrival.id, Seen(arrival.subscription.name, True, count))

    def acknowledge(self, notify: Interest, token: bytes) -> None:
        """Answer a notification under its own name."""
        self._line.send_data(encode_data(notify.name, None, self._signer), token)

    def refused(
        self, arrival: Arrival, reason: int, *, came: bool | None, remember: bool = False
    ) -> None:
        """A message is not delivered: all who wait get a Nack with ``reason``.

        ``came``: whether its publisher had it, None if nobody knows; ``remember``: it would be
        refused again, so it is not fetched again.
        """
        self._end(arrival, came)
        if remember:
            self._recent.add(arrival.id, Seen(arrival.subscription.name, False, 0))
        for notify, token, until in arrival.waiters:
            if self._turn.now < until:
                self._line.send_nack(notify, reason, token)

    def again(self, seen: Seen, notify: Interest, token: bytes, most: int) -> str:
        """A notification of a message whose end is known; returns why it is not answered, or ""."""
        if not seen.delivered:
            self._line.send_nack(notify, NackReason.NO_ROUTE, token)
        elif seen.acknowledgements >= most:
            return "too_many_acknowledgements"
        else:
            seen.acknowledgements += 1
            self.acknowledge(notify, token)
        return ""

    def trace(self, event: str, arrival: Arrival, reason: str) -> None:
        """Say why a message goes no further."""
        self._turn.trace(
            event, arrival.subscription.text, arrival.id, arrival.sender, reason=reason
        )

    def dropped(self, arrival: Arrival, what: str, reason: str) -> None:
        """Say that there was no room for it."""
        self._turn.trace(
            trace.DROPPED, arrival.subscription.text, arrival.id, arrival.sender, what=what,
            reason=reason, count=1,
        )  # fmt: skip
