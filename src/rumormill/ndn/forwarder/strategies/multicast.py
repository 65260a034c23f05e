"""The strategy for everybody: all next hops are asked."""

from __future__ import annotations

from collections.abc import Sequence

from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.strategies.strategy import Suppression, may_send
from rumormill.ndn.forwarder.tables.fib import NextHop
from rumormill.ndn.forwarder.tables.pit_entry import PitEntry


class Multicast:
    """Ask all next hops. An Interest that is sent again goes to all of them again, unless it is
    too early; then only to those that were not there the first time.
    """

    __slots__ = ("_suppression",)

    def __init__(self, suppression: Suppression) -> None:
        self._suppression = suppression

    def first(self, hops: Sequence[NextHop], face: Face, here: bool) -> Sequence[NextHop]:
        """All of them."""
        return [hop for hop in hops if may_send(hop, face, here)]

    def again(
        self, entry: PitEntry, hops: Sequence[NextHop], face: Face, here: bool, now: float
    ) -> Sequence[NextHop]:
        """All of them, or those that are new."""
        eligible = [hop for hop in hops if may_send(hop, face, here)]
        if self._suppression.holds(entry, now):
            return [hop for hop in eligible if hop.face.id not in entry.outs]
        return eligible

    def after_nack(
        self, entry: PitEntry, hops: Sequence[NextHop], reason: int
    ) -> Sequence[NextHop]:
        """Nobody: all were asked."""
        return ()
