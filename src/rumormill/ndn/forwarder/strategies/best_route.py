"""The strategy for one answer: the nearest next hop is asked, then the next nearest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.strategies.strategy import Suppression, may_send
from rumormill.ndn.forwarder.tables.fib import NextHop
from rumormill.ndn.forwarder.tables.pit_entry import PitEntry
from rumormill.ndn.wire.link import NackReason

NO_WAY: Final = (NackReason.NO_ROUTE, NackReason.DUPLICATE)
"""Reasons for which another next hop is asked at once: by this one there is no way. Who is out of
breath, or refuses for no reason, has understood the Interest, and whoever sent it may try again."""


class BestRoute:
    """Ask the next hop of the lowest cost. An Interest that is sent again goes to the next of those
    that were not asked, and if all were, to the one that was asked longest ago.
    """

    __slots__ = ("_suppression",)

    def __init__(self, suppression: Suppression) -> None:
        self._suppression = suppression

    def first(self, hops: Sequence[NextHop], face: Face, here: bool) -> Sequence[NextHop]:
        """The nearest."""
        for hop in hops:
            other = hop.face
            if other is not face and (other.local or not here):
                return (hop,)
        return ()

    def again(
        self, entry: PitEntry, hops: Sequence[NextHop], face: Face, here: bool, now: float
    ) -> Sequence[NextHop]:
        """The next that was not asked, unless it is too early."""
        if self._suppression.holds(entry, now):
            return ()
        eligible = [hop for hop in hops if may_send(hop, face, here)]
        outs = entry.outs
        for hop in eligible:
            out = outs.get(hop.face.id)
            if out is None or out.expires <= now:
                return (hop,)
        return tuple(sorted(eligible, key=lambda hop: outs[hop.face.id].sent)[:1])

    def after_nack(
        self, entry: PitEntry, hops: Sequence[NextHop], reason: int
    ) -> Sequence[NextHop]:
        """The next that was not asked, if who was asked knows no way."""
        if reason in NO_WAY:
            for hop in hops:
                id, local = hop.face.id, hop.face.local
                if id not in entry.outs and id not in entry.ins and (local or not entry.here):
                    return (hop,)
        return ()
