"""Messages that were delivered or refused lately, so that neither is done twice."""

from __future__ import annotations

from collections import deque
from typing import Final

from rumormill.core import trace
from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.wire.name import Name

GRAIN: Final = 1.0
"""Seconds that one may be remembered longer, so that one wake is for many."""


class Seen:
    """A message whose end is known here."""

    __slots__ = ("acknowledgements", "delivered", "topic")

    def __init__(self, topic: Name, delivered: bool, acknowledgements: int) -> None:
        self.topic = topic
        self.delivered = delivered
        """Otherwise it was refused."""
        self.acknowledgements = acknowledgements
        """How often its publisher was told."""


class Recent:
    """Messages by id, for a time and up to a number; then the oldest is forgotten."""

    def __init__(self, turn: Turn, parameters: PubSubParameters, alarm: Alarm) -> None:
        self._turn = turn
        self._alarm = alarm
        self._seconds = parameters.deduplication_seconds
        self._most = parameters.max_remembered
        self._seen: dict[bytes, Seen] = {}
        self._order: deque[tuple[float, bytes]] = deque()

    def __len__(self) -> int:
        return len(self._seen)

    def get(self, message_id: bytes) -> Seen | None:
        """What became of a message; None if it is not known."""
        return self._seen.get(message_id)

    def add(self, message_id: bytes, seen: Seen) -> None:
        """Remember what became of a message."""
        until = self._turn.now + self._seconds
        self._seen[message_id] = seen
        self._order.append((until, message_id))
        if until + GRAIN < self._alarm.soonest:
            self._alarm.soonest = until + GRAIN
        if len(self._seen) > self._most:
            _, oldest = self._order.popleft()
            del self._seen[oldest]
            self._turn.trace(trace.DROPPED, what="remembered", reason="too_many", count=1)

    def wake(self) -> None:
        """Forget those whose time is over."""
        order, seen, now = self._order, self._seen, self._turn.now
        while order and order[0][0] <= now:
            del seen[order.popleft()[1]]

    def next_wake(self) -> float | None:
        """When the first of them is to be forgotten."""
        return self._order[0][0] + GRAIN if self._order else None
