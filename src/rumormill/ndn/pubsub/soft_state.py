"""Messages that others may fetch from us: as long as their end is open, and a little longer."""

from __future__ import annotations

from collections import deque
from typing import Final

from rumormill.core import trace
from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.segments import SegmentSource, segment_of
from rumormill.ndn.wire.data import Data
from rumormill.ndn.wire.name import Name

GRAIN: Final = 0.25
"""Seconds that what lingers may do so longer, so that one wake is for many."""


class Kept:
    """A message that can be fetched."""

    __slots__ = ("data", "fetched", "open", "segments", "size")

    def __init__(self, data: Data, segments: SegmentSource | None = None) -> None:
        self.data = data
        """What is at the message's name: itself, or the manifest of its segments."""
        self.segments = segments
        self.size = len(data.raw) + (0 if segments is None else segments.size)
        self.fetched = 0
        """How often it was handed out."""
        self.open = True
        """Whether it is not known yet what becomes of it."""


class SoftState:
    """Messages by name. Those whose end is open are never forgotten: their number has a limit of
    its own. Of the others, that linger, the oldest goes when there are too many.
    """

    def __init__(self, turn: Turn, parameters: PubSubParameters, alarm: Alarm) -> None:
        self._turn = turn
        self._alarm = alarm
        self._linger = parameters.linger
        self._most = parameters.max_lingering
        self._most_bytes = parameters.max_lingering_bytes
        self._kept: dict[Name, Kept] = {}
        self._lingering: deque[tuple[float, Kept]] = deque()
        self._in_segments = 0
        self.open_bytes = 0
        self.lingering_bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, name: Name) -> bool:
        return name in self._kept

    def add(self, kept: Kept) -> None:
        """A message can be fetched from now on."""
        self._kept[kept.data.name] = kept
        self.open_bytes += kept.size
        if kept.segments is not None:
            self._in_segments += 1

    def take_away(self, kept: Kept) -> None:
        """A message whose end was open cannot be fetched any more."""
        self.open_bytes -= kept.size
        self._forget(kept)

    def close(self, kept: Kept) -> None:
        """The end of a message is known; it lingers."""
        if self._linger <= 0.0:
            self.take_away(kept)
            return
        kept.open = False
        self.open_bytes -= kept.size
        self.lingering_bytes += kept.size
        until = self._turn.now + self._linger
        self._lingering.append((until, kept))
        if until + GRAIN < self._alarm.soonest:
            self._alarm.soonest = until + GRAIN
        lost = 0
        while len(self._lingering) > self._most or self.lingering_bytes > self._most_bytes:
            self._forget_oldest()
            lost += 1
        if lost:
            self._turn.trace(trace.DROPPED, what="lingering", reason="too_many", count=lost)

    def answer(self, name: Name) -> Data | None:
        """The Data of a name: a message, a manifest, or a segment."""
        kept = self._kept.get(name)
        if kept is not None:
            kept.fetched += 1
            return kept.data
        return self._segment(name) if self._in_segments else None

    def _segment(self, name: Name) -> Data | None:
        found = segment_of(name)
        if found is None:
            return None
        kept = self._kept.get(found[0])
        if kept is None or kept.segments is None:
            return None
        return kept.segments.segment(found[1])

    def wake(self) -> None:
        """Forget what has lingered long enough."""
        now = self._turn.now
        while self._lingering and self._lingering[0][0] <= now:
            self._forget_oldest()

    def next_wake(self) -> float | None:
        """When the first of them is to be forgotten."""
        return self._lingering[0][0] + GRAIN if self._lingering else None

    def sizes(self) -> dict[str, int]:
        """What takes memory."""
        return {
            "kept": len(self._kept),
            "kept_bytes": self.open_bytes,
            "lingering": len(self._lingering),
            "lingering_bytes": self.lingering_bytes,
        }

    def _forget_oldest(self) -> None:
        _, kept = self._lingering.popleft()
        self.lingering_bytes -= kept.size
        self._forget(kept)

    def _forget(self, kept: Kept) -> None:
        del self._kept[kept.data.name]
        if kept.segments is not None:
            self._in_segments -= 1
