"""Telling neighbours what we reach: changes alone, together, one packet at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rumormill.core.turn import Turn
from rumormill.ndn.routing.messages import (
    GROUP_OVERHEAD,
    PREFIX_OVERHEAD,
    Group,
    Update,
)
from rumormill.ndn.routing.neighbour import Neighbour, Phase, Unanswered
from rumormill.ndn.routing.parameters import UNREACHABLE, RoutingParameters
from rumormill.ndn.routing.table import Table
from rumormill.ndn.routing.vector import Destination
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name
from rumormill.ndn.wire.tlv import MOST_PACKET

PACKET_BYTES = MOST_PACKET - 800
"""Bytes of prefixes in an update on a stream: the rest is for what is around them."""

DATAGRAM_BYTES = 1000
"""On datagrams: what is in one piece gets lost less often than what is in many."""


class Telling:
    """What each neighbour is told, and what it has been told."""

    def __init__(
        self,
        turn: Turn,
        node: Name,
        table: Table,
        neighbours: Callable[[], Iterable[Neighbour]],
        parameters: RoutingParameters,
        post: Callable[[Neighbour, Update], Interest],
        later: Callable[[Neighbour, float], None],
    ) -> None:
        self._turn = turn
        self._node = node
        self._table = table
        self._neighbours = neighbours
        self._delay = parameters.update_delay
        self._post = post
        """Sends an update."""
        self._later = later
        """Calls :meth:`tell` for a neighbour after so many seconds."""
        self._sequence = 0
        self._own: dict[Name, None] = {}
        """Prefixes that are registered here."""

    @property
    def own(self) -> Iterable[Name]:
        """Prefixes that are registered here, and told."""
        return self._own.keys()

    def announce(self, prefix: Name) -> None:
        """A prefix is registered here."""
        if prefix not in self._own:
            self._own[prefix] = None
            self.mark(Destination(self._node, prefix))

    def withdraw(self, prefix: Name) -> None:
        """It is no more."""
        if prefix in self._own:
            del self._own[prefix]
            self.mark(Destination(self._node, prefix))

    # ---- what to tell

    def mark(self, destination: Destination) -> None:
        """A way may have changed: note who knows it otherwise, and tell them soon."""
        for neighbour in self._neighbours():
            if neighbour.phase is not Phase.UP:
                continue
            told = neighbour.told
            if self._cost(neighbour, destination) == told.vector.cost(destination):
                # It may have changed there and back: what waits stays as small as what is known.
                told.dirty.pop(destination, None)
            else:
                told.dirty[destination] = None
                if told.unanswered is None:
                    self._later(neighbour, self._delay)

    def restart(self, neighbour: Neighbour) -> None:
        """Tell a neighbour all, from the beginning."""
        told = neighbour.told
        told.vector.clear()
        told.unanswered = None
        told.begin = told.full = True
        told.restarted_at = self._turn.now
        everything = [Destination(self._node, prefix) for prefix in self._own]
        everything += self._table.destinations()
        told.dirty = dict.fromkeys(everything)
        self.tell(neighbour)

    def tell(self, neighbour: Neighbour) -> None:
        """Send the next update, if there is something to tell and nothing on its way."""
        told = neighbour.told
        if neighbour.phase is not Phase.UP or told.unanswered is not None:
            return
        groups = self._take(neighbour)
        if not groups and not told.full:
            return
        self._sequence += 1
        told.sequence = self._sequence
        end = told.full and not told.dirty
        update = Update(self._node, self._sequence, told.begin, end, groups)
        told.begin = False
        told.unanswered = Unanswered(self._post(neighbour, update), 1, end)

    def answered(self, neighbour: Neighbour) -> None:
        """A neighbour has taken what was on its way to it."""
        told = neighbour.told
        if told.unanswered is not None and told.unanswered.end:
            told.full = False
        told.unanswered = None
        self.tell(neighbour)

    def _take(self, neighbour: Neighbour) -> tuple[Group, ...]:
        """As many changes as fit into a packet; from now on they are told."""
        told = neighbour.told
        room = DATAGRAM_BYTES if neighbour.datagrams else PACKET_BYTES
        groups: dict[tuple[Name, int], list[Name]] = {}
        while told.dirty:
            destination = next(iter(told.dirty))
            cost = self._cost(neighbour, destination)
            if cost != told.vector.cost(destination):
                node, prefix = destination
                size = PREFIX_OVERHEAD + len(prefix)
                if (node, cost) not in groups:
                    size += GROUP_OVERHEAD + len(node)
                if size > room and groups:  # alone it fits into any packet
                    break
                room -= size
                groups.setdefault((node, cost), []).append(prefix)
                told.vector.set(destination, cost)
            del told.dirty[destination]
        return tuple(
            Group(node, cost, tuple(prefixes)) for (node, cost), prefixes in groups.items()
        )

    def _cost(self, neighbour: Neighbour, destination: Destination) -> int:
        if destination.node == self._node:
            return 0 if destination.prefix in self._own else UNREACHABLE
        return self._table.told_to(neighbour.node, destination)
