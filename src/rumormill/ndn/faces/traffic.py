"""What goes over each face: counted by kinds, and told once in a while.

A trace event for each packet would cost as much as the packet. So each face counts, and what it has
counted in a second is one event for each direction: ``packet_received`` and ``packet_sent``, with
the bytes (``size``), the packets (``count``), and how many of them are ``interests``, ``data`` and
``nacks``.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

from rumormill.core.timers import Alarm, Timers
from rumormill.core.trace import PACKET_RECEIVED, PACKET_SENT
from rumormill.core.turn import Turn

INTERVAL: Final = 1.0
"""Seconds between two reports of a face that is busy."""

_DUE: Final = "report"


class Traffic(NamedTuple):
    """What has gone over a face so far."""

    in_interests: int = 0
    in_data: int = 0
    in_nacks: int = 0
    in_bytes: int = 0
    out_interests: int = 0
    out_data: int = 0
    out_nacks: int = 0
    out_bytes: int = 0


NONE: Final = Traffic()


class Counting(Protocol):
    """A face that counts."""

    @property
    def id(self) -> int:
        """Its number."""
        ...

    @property
    def node(self) -> str | None:
        """The node at the other end, if it is known."""
        ...

    @property
    def uri(self) -> str:
        """Where the other end is."""
        ...

    @property
    def traffic(self) -> Traffic:
        """What has gone over it so far."""
        ...


class TrafficReports:
    """Tells of all faces that are busy, and remembers what it has told of each."""

    __slots__ = ("_busy", "_timers", "_told", "_turn")

    def __init__(self, turn: Turn, alarm: Alarm) -> None:
        self._turn = turn
        self._busy: dict[int, Counting] = {}
        self._told: dict[int, Traffic] = {}
        self._timers: Timers[str] = Timers(alarm)

    def __len__(self) -> int:
        """How many faces it knows something of."""
        return len(self._told)

    def busy(self, face: Counting) -> None:
        """A face has received or sent something since the last report."""
        busy = self._busy
        if face.id not in busy:
            if not busy:
                self._timers.at_latest(_DUE, self._turn.now + INTERVAL)
            busy[face.id] = face

    def gone(self, face: Counting) -> None:
        """A face is no more: what was not told of it yet is told now."""
        self._busy.pop(face.id, None)
        self._tell(face)
        self._told.pop(face.id, None)

    def wake(self, now: float) -> None:
        """Tell what there is to tell."""
        if self._timers.due(now):
            busy, self._busy = self._busy, {}
            for face in busy.values():
                self._tell(face)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _tell(self, face: Counting) -> None:
        now = face.traffic
        before = self._told.get(face.id, NONE)
        self._told[face.id] = now
        counts = [new - old for new, old in zip(now, before, strict=True)]
        for event, (interests, data, nacks, size) in (
            (PACKET_RECEIVED, counts[:4]),
            (PACKET_SENT, counts[4:]),
        ):
            if size:
                self._turn.trace(
                    event, peer=face.node, address=face.uri, size=size,
                    count=interests + data + nacks,
                    interests=interests, data=data, nacks=nacks,
                )  # fmt: skip
