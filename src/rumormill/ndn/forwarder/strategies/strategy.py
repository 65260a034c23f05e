"""What a strategy is: it says to which of the next hops an Interest goes, and when again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.tables.fib import NextHop
from rumormill.ndn.forwarder.tables.pit_entry import PitEntry


class Strategy(Protocol):
    """How Interests are sent on. It keeps nothing but what is in the entries of Interests.

    ``hops`` are the next hops by cost, ``face`` is where the Interest came from, and with ``here``
    it may go to programs on this machine only.
    """

    def first(self, hops: Sequence[NextHop], face: Face, here: bool) -> Sequence[NextHop]:
        """To whom an Interest goes that nobody waits for yet; to nobody: there is no route."""
        ...

    def again(
        self, entry: PitEntry, hops: Sequence[NextHop], face: Face, here: bool, now: float
    ) -> Sequence[NextHop]:
        """To whom an Interest goes that somebody waits for already."""
        ...

    def after_nack(
        self, entry: PitEntry, hops: Sequence[NextHop], reason: int
    ) -> Sequence[NextHop]:
        """To whom an Interest goes after one who was asked has said that it cannot answer."""
        ...


def may_send(hop: NextHop, face: Face, here: bool) -> bool:
    """Whether an Interest that came by a face may go to a next hop."""
    return hop.face is not face and (hop.face.local or not here)


class Suppression:
    """How soon an Interest is sent on again: not before a while, which doubles each time."""

    __slots__ = ("_first", "_most")

    def __init__(self, first: float, most: float) -> None:
        self._first = first
        self._most = most

    def holds(self, entry: PitEntry, now: float) -> bool:
        """Whether it is too early. If it is not, the next time it is later.

        What nobody can answer any more, of those who were asked, is never held.
        """
        if not pending(entry, now):
            entry.interval = 0.0
            return False
        interval = entry.interval or self._first
        if now < entry.sent + interval:
            return True
        entry.interval = min(2 * interval, self._most)
        return False


def pending(entry: PitEntry, now: float) -> bool:
    """Whether somebody who was asked may still answer."""
    return any(out.nack is None and out.expires > now for out in entry.outs.values())
