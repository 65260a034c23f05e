"""What repeats in a trace is summed up: so many of this kind from that peer.

A peer can make us reject, ignore, drop and count as often as its connection carries; a trace that
had a row for each would be its own attack. So of each kind, source (a peer or an address) and
reason the first few events of a second pass as they are. The others come at the end of the second,
as one event with their ``count``: totals stay what they were.

    summaries = Summaries(show=print)
    summaries.see(event)        # shown now, or with others of its second
    summaries.flush()           # shows what waits

Only kinds of which the number is all that matters are touched (``REPEATABLE`` in ``core``'s
``trace.py``), and those by which messages are followed (``FOLLOWED``) when a peer has more of them
than the messages that are about can explain. Everything else passes, always, in its order.

The memory is bounded whatever strangers choose. Simulations do not come here, but for spools of
attacks: their traces are as long as their scripts say, and are compared event by event.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

from rumormill.core.trace import (
    DELIVERED,
    FOLLOWED,
    PUBLISHED,
    REPEATABLE,
    TraceEvent,
    type_of_field,
)

EACH: Final = 10
"""Events of one kind, source and reason that pass as they are in a second."""

FOLLOWED_FACTOR: Final = 50
"""For kinds by which messages are followed it is so many times as many, and one more for each
message of this second and the last: so many copies has every peer in a mesh."""

MESSAGES: Final = frozenset((DELIVERED, PUBLISHED))
"""Kinds that tell of a new message."""

MOST_TALLIES: Final = 256
"""Kinds, sources and reasons that are told apart in a second; of peers that have joined more, as
strangers could otherwise crowd them out."""

MOST_OF_PEERS: Final = 8192
"""The same with those of peers that have joined: some thirty for each of 256."""

MOST_SUMS: Final = 16
"""Topics, messages and the like that are told apart in one of them; the rest is one sum."""

TOLD: Final = ("reason", "address", "what", "kind")
"""Texts that a sum keeps. Numbers are added up; other texts, which are different each time, are in
the events that passed."""

TOLD_OF_REST: Final = ("reason", "address")
"""The same of the sum of the rest."""


Key = tuple[str, type_of_field, type_of_field]
"""A kind of events, who brought them about, and the reason."""


class Sum:
    """Several events as one: ``told`` are the texts that all of them have in common."""

    __slots__ = ("_first", "_last", "_message_id", "_numbers", "_peer", "_told", "_topic", "count")

    def __init__(
        self,
        first: TraceEvent,
        told: Mapping[str, type_of_field],
        peer: str | None = None,
        topic: str | None = None,
        message_id: bytes | None = None,
    ) -> None:
        self._first = self._last = first
        self._told = told
        self._peer, self._topic, self._message_id = peer, topic, message_id
        self._numbers: dict[str, int | float] = {}
        self.count = 0

    def add(self, event: TraceEvent) -> None:
        """One more."""
        self._last = event
        numbers = self._numbers
        count = 1
        for name, value in event.fields.items():
            if type(value) is int or type(value) is float:
                if name == "count":
                    count = int(value)
                else:
                    numbers[name] = numbers.get(name, 0) + value
        self.count += count

    def event(self) -> TraceEvent:
        """One event that stands for all."""
        first, last = self._first, self._last
        fields: dict[str, type_of_field] = {**self._told, **self._numbers}
        fields.update(count=self.count, since=first.time)
        return TraceEvent(
            last.time, first.node, first.event, self._topic, self._message_id, self._peer, fields
        )


class Tally:
    """The events of one kind, source and reason in one second."""

    __slots__ = ("_sums", "seen")

    def __init__(self) -> None:
        self.seen = 0
        """How many there were."""
        self._sums: dict[object, Sum] = {}

    def add(self, event: TraceEvent, message_id: bytes | None) -> None:
        """Keep an event for the end of the second; by its message, if there is one."""
        get = event.fields.get
        detail = (event.topic, message_id, get("what"), get("kind"))
        (self._sums.get(detail) or self._sum(detail, event, message_id)).add(event)

    def _sum(self, detail: object, event: TraceEvent, message_id: bytes | None) -> Sum:
        """A new sum, if there is room for one more; else that of the rest."""
        if len(self._sums) < MOST_SUMS:
            told = {name: event.fields[name] for name in TOLD if name in event.fields}
            found = Sum(event, told, event.peer, event.topic, message_id)
        elif (rest := self._sums.get(None)) is not None:
            return rest
        else:
            detail = None
            told = {name: event.fields[name] for name in TOLD_OF_REST if name in event.fields}
            found = Sum(event, told, event.peer)
        self._sums[detail] = found
        return found

    def take(self) -> list[TraceEvent]:
        """What was kept."""
        sums, self._sums = self._sums, {}
        return [each.event() for each in sums.values()]


class Others(Tally):
    """The events of one kind whose sources have no tally: their number, by reason."""

    __slots__ = ()

    def add(self, event: TraceEvent, message_id: bytes | None) -> None:
        """Keep an event for the end of the second."""
        reason = event.fields.get("reason")
        (self._sums.get(reason) or self._sum(reason, event, None)).add(event)

    def _sum(self, detail: object, event: TraceEvent, message_id: bytes | None) -> Sum:
        if detail is not None and len(self._sums) >= MOST_SUMS:
            detail = None
        found = self._sums.get(detail)
        if found is None:
            told: dict[str, type_of_field] = {"others": True}
            if detail is not None:
                told["reason"] = event.fields["reason"]
            found = self._sums[detail] = Sum(event, told)
        return found


class Summaries:
    """Passes events on to ``show``, those that repeat summed up.

    ``each``: how many of one kind, source and reason pass in a second; ``each_followed``: of kinds
    by which messages are followed, beside one for each message. ``more``: kinds of a family that
    are like ``REPEATABLE``. ``peers``: who has joined.

    >>> shown = []
    >>> summaries = Summaries(shown.append, each=1)
    >>> for number in range(4):
    ...     summaries.see(TraceEvent(7 + number / 8, "us", "rejected", "weather", peer="mallory"))
    >>> summaries.flush()
    >>> [(event.time, event.peer, dict(event.fields)) for event in shown]
    [(7.0, 'mallory', {}), (7.375, 'mallory', {'count': 3, 'since': 7.125})]
    """

    def __init__(
        self,
        show: Callable[[TraceEvent], object],
        *,
        each: int = EACH,
        each_followed: int | None = None,
        more: Collection[str] = (),
        peers: Callable[[], Collection[str]] = tuple,
    ) -> None:
        self._show = show
        self._each = each
        self._each_followed = FOLLOWED_FACTOR * each if each_followed is None else each_followed
        self._peers = peers
        # For each kind that may be summed up, whether messages are followed by it.
        self._kinds = dict.fromkeys((*REPEATABLE, *more), False) | dict.fromkeys(FOLLOWED, True)
        self._second = 0
        self._tallies: dict[Key, Tally] = {}
        self._others: dict[str, Others] = {}
        self._joined: frozenset[str] | None = None
        self._messages = self._messages_before = 0
        self.due: float | None = None
        """When what waits should be shown; None while nothing does."""

    def __len__(self) -> int:
        return len(self._tallies) + len(self._others)

    def see(self, event: TraceEvent) -> None:
        """Show an event, or keep it for the end of its second."""
        kind = event.event
        followed = self._kinds.get(kind)
        if followed is None:
            if kind in MESSAGES:
                self._messages += 1
            self._show(event)
            return
        second = int(event.time)
        if not self._second - 1 <= second <= self._second:
            self._begin(second)
        fields = event.fields
        key = (kind, event.peer or fields.get("address"), fields.get("reason"))
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tally(key)
        tally.seen += 1
        if tally.seen <= self._each or (followed and tally.seen <= self._most_followed()):
            self._show(event)
            return
        tally.add(event, event.message_id if followed else None)
        if self.due is None:
            self.due = self._second + 1.0

    def _most_followed(self) -> int:
        return self._each_followed + self._messages + self._messages_before

    def _tally(self, key: Key) -> Tally:
        """A new tally, if there is room for one more; else that of all others of the kind."""
        kind, source, _ = key
        count = len(self._tallies)
        if count < MOST_TALLIES or (count < MOST_OF_PEERS and self._has_joined(source)):
            found = self._tallies[key] = Tally()
            return found
        others = self._others.get(kind)
        if others is None:
            others = self._others[kind] = Others()
        return others

    def _has_joined(self, source: type_of_field) -> bool:
        """Whether it is ourselves, or a peer that we deal with."""
        if self._joined is None:
            self._joined = frozenset(self._peers())
        return source is None or source in self._joined

    def _begin(self, second: int) -> None:
        """A new second: whole ones, so that what is summed up lies within one minute, too.

        What is a little late (its input came before the second, its effect after) begins none.
        """
        self.flush()
        self._messages_before = self._messages if second == self._second + 1 else 0
        self._second, self._messages = second, 0
        self._tallies.clear()
        self._others.clear()
        self._joined = None

    def flush(self) -> None:
        """Show what waits."""
        if self.due is None:
            return
        self.due = None
        for tally in (*self._tallies.values(), *self._others.values()):
            for event in tally.take():
                self._show(event)
