"""What was not passed on, summed up: strangers can bring it about as often as they like."""

from __future__ import annotations

from typing import Final

from rumormill.core import trace
from rumormill.core.timers import NEVER, Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face

PERIOD: Final = 1.0
"""Seconds that are summed up in one trace event for each face and reason."""
MOST_ROWS: Final = 1024
"""With more of them, they are told at once."""

_Row = tuple[str, str | None, str, str, str]
"""The event, the node and the address of the face, the kind of packet, the reason."""


class Tally:
    """Counts by face, kind of packet and reason; told after a while, in the order of the first.

    >>> turn, alarm = Turn("node-a"), Alarm()
    >>> tally = Tally(turn, alarm)
    >>> tally.wake(turn.now)
    >>> turn.take()
    []
    """

    __slots__ = ("_alarm", "_rows", "_told_at", "_turn")

    def __init__(self, turn: Turn, alarm: Alarm) -> None:
        self._turn = turn
        self._alarm = alarm
        self._rows: dict[_Row, tuple[int, float, float]] = {}
        """How many, when the first was, when the last."""
        self._told_at = NEVER

    def __len__(self) -> int:
        return len(self._rows)

    def ignored(self, face: Face, what: str, reason: str) -> None:
        """A packet of a face went no further."""
        self._count((trace.IGNORED, face.node, face.uri, what, reason))

    def dropped(self, face: Face, what: str, reason: str) -> None:
        """A packet of a face was lost for want of room."""
        self._count((trace.DROPPED, face.node, face.uri, what, reason))

    def wake(self, now: float) -> None:
        """Tell what was counted if it is time."""
        if now >= self._told_at:
            self.tell()

    def next_wake(self) -> float | None:
        """When it is told."""
        return None if self._told_at == NEVER else self._told_at

    def tell(self) -> None:
        """Tell it now."""
        for (event, node, address, what, reason), (count, since, until) in self._rows.items():
            self._turn.trace(
                event, peer=node, address=address, what=what, reason=reason, count=count,
                since=since, until=until,
            )  # fmt: skip
        self._rows.clear()
        self._told_at = NEVER

    def _count(self, row: _Row) -> None:
        now = self._turn.now
        count, since, _ = self._rows.get(row, (0, now, now))
        self._rows[row] = (count + 1, since, now)
        if self._told_at == NEVER:
            self._told_at = now + PERIOD
            self._alarm.soonest = min(self._alarm.soonest, self._told_at)
        elif len(self._rows) > MOST_ROWS:
            self.tell()
