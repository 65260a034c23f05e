"""What neighbours reach, put together: the nearest of them is the way, and goes into the FIB.

Against counting up: a way is only told to who is not nearer than we are, and a way that got longer
is told as lost for a while before the longer one is (see :meth:`Table.report`). Neither is proof
against every order of events; that :data:`UNREACHABLE` is small ends the rest.
"""

from __future__ import annotations

from typing import Protocol

from rumormill.core.timers import Alarm, Timers
from rumormill.ndn.faces.face import Face
from rumormill.ndn.routing.neighbour import Neighbour
from rumormill.ndn.routing.parameters import UNREACHABLE, RoutingParameters
from rumormill.ndn.routing.vector import Destination
from rumormill.ndn.wire.name import Name


class RouteSink(Protocol):
    """Where learned routes go: the forwarder's FIB, under an origin of ours."""

    def add_route(self, prefix: Name, face: Face, cost: int) -> bool:
        """Interests below ``prefix`` may go to ``face``; False if there is no room."""
        ...

    def remove_route(self, prefix: Name, face: Face) -> None:
        """They may not any more; harmless if the route is gone already."""
        ...


class TableUser(Protocol):
    """Who is told of changes."""

    def way_changed(self, destination: Destination) -> None:
        """What neighbours are to be told of this may be something else now."""
        ...

    def reached(self, destination: Destination, reachable: bool) -> None:
        """There is a way now, or there is none any more."""
        ...


class Standing:
    """What is known of one destination."""

    __slots__ = ("distance", "held", "limit", "reported")

    def __init__(self) -> None:
        self.reported: dict[Neighbour, int] = {}
        """What it costs each neighbour to get there."""
        self.distance = UNREACHABLE
        """What it costs us; what neighbours are told, unless it is held."""
        self.limit = UNREACHABLE
        """The least that it has cost us since it was last held: whoever is nearer than that does
        not get there by us."""
        self.held = False
        """The way has been lost or got longer: for a while it is told as lost."""


class Table:
    """All destinations that neighbours reach."""

    def __init__(
        self, routes: RouteSink, user: TableUser, parameters: RoutingParameters, alarm: Alarm
    ) -> None:
        self._routes = routes
        self._user = user
        self._hop_cost = parameters.hop_cost
        self._hold = parameters.hold
        self._standings: dict[Destination, Standing] = {}
        self._nodes: dict[Name, dict[Name, None]] = {}
        """By prefix: at which nodes it is."""
        self._installed: dict[Name, dict[Neighbour, int]] = {}
        """By prefix: what is in the FIB."""
        self._holds: Timers[Destination] = Timers(alarm)

    def __len__(self) -> int:
        """How many destinations are known."""
        return len(self._standings)

    def destinations(self) -> list[Destination]:
        """All of them, reachable or not."""
        return list(self._standings)

    def nodes(self, prefix: Name) -> list[Name]:
        """At which nodes a prefix can be reached."""
        nodes = self._nodes.get(prefix, ())
        return [node for node in nodes if self._hops(self._standings[Destination(node, prefix)])]

    def distance(self, destination: Destination) -> int:
        """What it costs us to get there, as neighbours are told it."""
        standing = self._standings.get(destination)
        return UNREACHABLE if standing is None or standing.held else standing.distance

    def told_to(self, node: Name | None, destination: Destination) -> int:
        """What a neighbour is to be told: nothing of ways that lead by itself."""
        standing = self._standings.get(destination)
        if standing is None or standing.held or node == destination.node:
            return UNREACHABLE
        distance = standing.distance
        for neighbour, cost in standing.reported.items():
            # By the node, not the face: two nodes may have dialed each other.
            if cost < distance and neighbour.node == node:
                return UNREACHABLE
        return distance

    # ---- what neighbours say

    def report(self, neighbour: Neighbour, destination: Destination, cost: int, now: float) -> None:
        """A neighbour gets there at another cost from now on, or no more.

        If we get there as cheaply as before, or by somebody who is nearer than we ever were, all
        is well. Otherwise whoever there still is may speak of the very way that was lost: by us.
        So the destination is told as lost, and after the hold, when such words have been taken
        back, the best that is left is taken.
        """
        standing = self._standings.get(destination)
        if standing is None:
            if cost >= UNREACHABLE:
                return
            standing = self._standings[destination] = Standing()
            self._nodes.setdefault(destination.prefix, {})[destination.node] = None
        before = bool(self._hops(standing))
        if cost < UNREACHABLE:
            standing.reported[neighbour] = cost
        else:
            standing.reported.pop(neighbour, None)
        nearest = min(standing.reported.values(), default=UNREACHABLE)
        best = nearest + self._hop_cost
        if best <= standing.limit or nearest < standing.limit or not self._hold:
            self._settle(destination, standing, best)
        elif not standing.held:
            standing.held = True
            self._holds.set(destination, now + self._hold)
        self._changed(destination, standing, before)

    def wake(self, now: float) -> None:
        """Take the best of what is left where the hold is over."""
        for destination in self._holds.due(now):
            standing = self._standings[destination]
            before = bool(self._hops(standing))
            standing.limit = UNREACHABLE
            nearest = min(standing.reported.values(), default=UNREACHABLE)
            self._settle(destination, standing, nearest + self._hop_cost)
            self._changed(destination, standing, before)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._holds.next_wake()

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "routing_destinations": len(self._standings),
            "routing_prefixes": len(self._nodes),
            "routing_installed": sum(map(len, self._installed.values())),
            "routing_holds": len(self._holds),
        }

    # ---- what follows

    def _settle(self, destination: Destination, standing: Standing, best: int) -> None:
        standing.distance = min(best, UNREACHABLE)
        standing.limit = min(standing.limit, best) if self._hold else standing.distance
        standing.held = False
        self._holds.cancel(destination)

    def _changed(self, destination: Destination, standing: Standing, before: bool) -> None:
        after = bool(self._hops(standing))
        node, prefix = destination
        if not standing.reported and not standing.held:
            del self._standings[destination]
            nodes = self._nodes[prefix]
            del nodes[node]
            if not nodes:
                del self._nodes[prefix]
        self._install(prefix)
        if before != after:
            self._user.reached(destination, after)
        self._user.way_changed(destination)

    def _install(self, prefix: Name) -> None:
        """Bring the FIB up to date: the cheapest cost of each neighbour, over all nodes."""
        wanted = self._next_hops(prefix)
        installed = self._installed.get(prefix)
        if installed is None:
            if not wanted:
                return
            installed = self._installed[prefix] = {}
        for neighbour in [each for each in installed if each not in wanted]:
            del installed[neighbour]
            self._routes.remove_route(prefix, neighbour.face)
        for neighbour, cost in wanted.items():
            if installed.get(neighbour) != cost and self._routes.add_route(
                prefix, neighbour.face, cost
            ):
                installed[neighbour] = cost
        if not installed:
            del self._installed[prefix]

    def _next_hops(self, prefix: Name) -> dict[Neighbour, int]:
        hops: dict[Neighbour, int] = {}
        for node in self._nodes.get(prefix, ()):
            for neighbour, cost in self._hops(self._standings[Destination(node, prefix)]):
                if cost < hops.get(neighbour, UNREACHABLE):
                    hops[neighbour] = cost
        return hops

    def _hops(self, standing: Standing) -> list[tuple[Neighbour, int]]:
        """Who gets there and is not farther away than we are: also those that are as near, as an
        alternative. Should Interests go in circles by them, their nonces tell.
        """
        most = standing.limit if standing.held else standing.distance
        hop_cost = self._hop_cost
        return [
            (neighbour, cost + hop_cost)
            for neighbour, cost in standing.reported.items()
            if cost <= most and cost + hop_cost < UNREACHABLE
        ]
