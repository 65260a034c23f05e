"""Hearing what neighbours reach: in order, once, and no more than they may tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from rumormill.core import trace
from rumormill.core.turn import Turn
from rumormill.ndn.routing.events import ROUTES_CHANGED
from rumormill.ndn.routing.messages import Hello, Update
from rumormill.ndn.routing.neighbour import Neighbour
from rumormill.ndn.routing.parameters import UNREACHABLE, RoutingParameters
from rumormill.ndn.routing.table import Table
from rumormill.ndn.routing.vector import Destination
from rumormill.ndn.wire.name import Name, name_from_uri

UPDATE_COST = 10.0
"""What an update takes of the allowance of changes, beside one for each prefix."""

MOST_DOUBTS = 2
"""Hellos in a row that may speak of something else than we hold: an update may be on its way."""

SCOPED = (name_from_uri("/localhost"), name_from_uri("/localhop"))
"""What is below them is never anybody else's."""


class Hearing:
    """What all neighbours have told, within limits."""

    def __init__(
        self,
        turn: Turn,
        node: Name,
        table: Table,
        neighbours: Callable[[], Iterable[Neighbour]],
        parameters: RoutingParameters,
    ) -> None:
        self._turn = turn
        self._node = node
        self._table = table
        self._neighbours = neighbours
        self._parameters = parameters
        self._total = 0
        """Routes of all neighbours."""

    def update(self, neighbour: Neighbour, update: Update) -> bool:
        """Take an update; False if it is not to be answered: then it comes again."""
        heard = neighbour.heard
        if update.sequence <= heard.sequence:
            return True  # our answer got lost
        if not update.begin and not heard.synced:
            self._turn.trace(
                trace.IGNORED,
                peer=neighbour.face.node,
                address=neighbour.face.uri,
                reason="without_beginning",
            )
            return False
        changes = sum(len(group.prefixes) for group in update.groups)
        if not neighbour.allowance.take(UPDATE_COST + changes, self._turn.now):
            self._turn.trace(
                trace.HELD_BACK,
                peer=neighbour.face.node,
                address=neighbour.face.uri,
                reason="routing_updates",
                seconds=0.0,
            )
            return False
        heard.sequence, heard.doubts = update.sequence, 0
        if update.begin:
            heard.synced, heard.incomplete = True, False
            heard.stale = dict.fromkeys(heard.vector)
        refused = self._apply(neighbour, update)
        if update.end and heard.stale is not None:
            for destination in heard.stale:
                self._set(neighbour, destination, UNREACHABLE)
            heard.stale = None
        if changes:
            self._turn.trace(
                ROUTES_CHANGED,
                peer=neighbour.face.node,
                address=neighbour.face.uri,
                changes=changes,
                known=len(heard.vector),
            )
        for reason, count in refused.items():
            heard.incomplete = True
            self._turn.trace(
                trace.DROPPED,
                peer=neighbour.face.node,
                address=neighbour.face.uri,
                what="route",
                reason=reason,
                count=count,
            )
        return True

    def in_doubt(self, neighbour: Neighbour, hello: Hello) -> bool:
        """Whether a hello speaks of something else than we hold, and not for the first time."""
        heard = neighbour.heard
        same = hello.sequence == heard.sequence and (
            heard.incomplete or hello.digest == heard.vector.digest
        )
        if same or not heard.synced or heard.stale is not None:
            heard.doubts = 0
            return False
        heard.doubts += 1
        return heard.doubts >= MOST_DOUBTS

    def forget(self, neighbour: Neighbour) -> None:
        """A neighbour is gone: nothing can be reached by it."""
        for destination in list(neighbour.heard.vector):
            self._set(neighbour, destination, UNREACHABLE)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {"routing_heard": self._total}

    # ---- one by one

    def _apply(self, neighbour: Neighbour, update: Update) -> Counter[str]:
        """Take what may be taken; returns what was refused, and why."""
        refused: Counter[str] = Counter()
        stale = neighbour.heard.stale
        for node, cost, prefixes in update.groups:
            for prefix in prefixes:
                destination = Destination(node, prefix)
                if stale is not None:
                    stale.pop(destination, None)
                if cost < UNREACHABLE:
                    problem = self._problem(neighbour, destination)
                    if problem:
                        refused[problem] += 1
                        continue
                self._set(neighbour, destination, cost)
        return refused

    def _problem(self, neighbour: Neighbour, destination: Destination) -> str:
        """Why a route is not taken; empty if it is."""
        node, prefix = destination
        parameters = self._parameters
        if node == self._node:
            return "our_own"
        if prefix.startswith(SCOPED):
            return "scope"
        if len(prefix) > parameters.max_prefix_bytes:
            return "prefix_too_long"
        vector = neighbour.heard.vector
        if destination in vector:
            return ""
        if len(vector) >= parameters.max_neighbour_prefixes:
            return "too_many_prefixes"
        if self._total >= parameters.max_prefixes and not self._make_room(neighbour):
            return "too_many_prefixes_in_all"
        return ""

    def _make_room(self, neighbour: Neighbour) -> bool:
        """Let who told most have one less, unless that is the neighbour itself."""
        largest = max(self._neighbours(), key=lambda each: len(each.heard.vector))
        if len(largest.heard.vector) <= len(neighbour.heard.vector) + 1:
            return False
        self._set(largest, largest.heard.vector.newest(), UNREACHABLE)
        largest.heard.incomplete = True
        self._turn.trace(
            trace.DROPPED,
            peer=largest.face.node,
            address=largest.face.uri,
            what="route",
            reason="gives_way",
            count=1,
        )
        return True

    def _set(self, neighbour: Neighbour, destination: Destination, cost: int) -> None:
        vector = neighbour.heard.vector
        if cost == vector.cost(destination):
            return
        self._total -= len(vector)
        vector.set(destination, cost)
        self._total += len(vector)
        self._table.report(neighbour, destination, cost, self._turn.now)
