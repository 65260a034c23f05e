"""Routes, and which faces an Interest may be sent on by: the longest prefix of its name wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.forwarder.tables.prefix_table import PrefixTable
from rumormill.ndn.wire.name import Name, name_to_uri


class Origin:
    """Who has made a route: one route for each origin, prefix and face. Numbers as NFD has them."""

    APPLICATION = 0
    AUTOREG = 64
    CLIENT = 65
    AUTOCONF = 66
    ROUTING = 128
    STATIC = 255


CHILD_INHERIT: Final = 1
"""A flag of a route: it is for longer prefixes, too, that have routes of their own."""
CAPTURE: Final = 2
"""A flag of a route: its prefix takes no routes of shorter prefixes."""

ROUTE_ADDED: Final = "route_added"  # or its cost has changed; fields: prefix, cost, origin
ROUTE_REMOVED: Final = "route_removed"  # fields: prefix, origin, reason


class NextHop(NamedTuple):
    """A face that an Interest may be sent on by."""

    face: Face
    cost: int
    origin: int


class Route(NamedTuple):
    """One route; ``expires`` is a time, or None."""

    prefix: Name
    face: Face
    cost: int
    origin: int
    flags: int
    expires: float | None


class RouteChange(NamedTuple):
    """A route was added or has another cost or other flags (``added``), or it is gone."""

    route: Route
    added: bool


RouteListener: TypeAlias = Callable[[RouteChange], None]
RouteKey: TypeAlias = tuple[Name, int, int]
"""Prefix, number of the face, origin."""


class FibEntry:
    """The routes of one prefix, and the next hops that follow from them."""

    __slots__ = ("hops", "prefix", "routes", "version")

    def __init__(self, prefix: Name) -> None:
        self.prefix = prefix
        self.routes: dict[RouteKey, Route] = {}
        self.hops: tuple[NextHop, ...] = ()
        self.version = -1
        """The version of all routes that ``hops`` was made of."""


class Fib:
    """All routes. A face has none before it is there (:meth:`face_up`), whatever was added."""

    def __init__(self, turn: Turn, parameters: ForwarderParameters, alarm: Alarm) -> None:
        self._turn = turn
        self._most = parameters.max_fib
        self._most_of_face = parameters.max_face_routes
        self._entries: PrefixTable[FibEntry] = PrefixTable()
        self._by_face: dict[int, dict[RouteKey, None]] = {}
        self._count = 0
        self._up: dict[int, None] = {}
        self._timers: Timers[RouteKey] = Timers(alarm)
        self._listeners: list[RouteListener] = []
        self._version = 0

    def __len__(self) -> int:
        """How many routes there are."""
        return self._count

    # ---- changes

    def add(
        self,
        prefix: Name,
        face: Face,
        cost: int = 0,
        origin: int = Origin.STATIC,
        expires: float | None = None,
        flags: int = CHILD_INHERIT,
    ) -> bool:
        """Add a route, or change the one of the same prefix, face and origin.

        False if there is no room for it.
        """
        key = (prefix, face.id, origin)
        entry = self._entries.get(prefix)
        earlier = None if entry is None else entry.routes.get(key)
        if earlier is None:
            if self._count >= self._most or self.count_of(face) >= self._most_of_face:
                return False
            self._count += 1
            self._by_face.setdefault(face.id, {})[key] = None
        if entry is None:
            entry = FibEntry(prefix)
            self._entries.set(prefix, entry)
        route = entry.routes[key] = Route(prefix, face, cost, origin, flags, expires)
        if expires is None:
            self._timers.cancel(key)
        else:
            self._timers.set(key, expires)
        if earlier is None or (earlier.cost, earlier.flags) != (cost, flags):
            self._version += 1
            uri = name_to_uri(prefix)
            self._turn.trace(
                ROUTE_ADDED, peer=face.node, address=face.uri, prefix=uri, cost=cost, origin=origin
            )
            self._tell(RouteChange(route, True))
        return True

    def remove(
        self, prefix: Name, face: Face, origin: int = Origin.STATIC, reason: str = "withdrawn"
    ) -> bool:
        """Take a route away; False if there was none."""
        return self._remove((prefix, face.id, origin), reason)

    def remove_face(self, face: Face) -> None:
        """A face is gone, and its routes with it."""
        self._up.pop(face.id, None)
        for key in list(self._by_face.get(face.id, ())):
            self._remove(key, "face_down")

    def face_up(self, face: Face) -> None:
        """A face is there: its routes can be used."""
        self._up[face.id] = None
        if face.id in self._by_face:
            self._version += 1

    def wake(self, now: float) -> None:
        """End the routes whose time is over."""
        for key in self._timers.due(now):
            self._remove(key, "expired")

    def next_wake(self) -> float | None:
        """When the first of them ends."""
        return self._timers.next_wake()

    def _remove(self, key: RouteKey, reason: str) -> bool:
        prefix, face_id, origin = key
        entry = self._entries.get(prefix)
        route = None if entry is None else entry.routes.pop(key, None)
        if entry is None or route is None:
            return False
        if not entry.routes:
            self._entries.remove(prefix)
        keys = self._by_face[face_id]
        del keys[key]
        if not keys:
            del self._by_face[face_id]
        self._count -= 1
        self._timers.cancel(key)
        self._version += 1
        self._turn.trace(
            ROUTE_REMOVED, peer=route.face.node, address=route.face.uri,
            prefix=name_to_uri(prefix), origin=origin,
            reason=reason,
        )  # fmt: skip
        self._tell(RouteChange(route, False))
        return True

    def on_change(self, listener: RouteListener) -> None:
        """Tell somebody of every change."""
        self._listeners.append(listener)

    def _tell(self, change: RouteChange) -> None:
        for listener in self._listeners:
            listener(change)

    # ---- questions

    def next_hops(self, name: Name) -> tuple[NextHop, ...]:
        """Where an Interest of this name may go, cheapest first; empty: nowhere."""
        entry = self._entries.longest(name)
        if entry is None:
            return ()
        return entry.hops if entry.version == self._version else self._renew(entry)

    def specific_hops(self, name: Name) -> tuple[NextHop, ...]:
        """The same, without the routes for everything, those of the root."""
        entry = self._entries.longest(name)
        if entry is None or not entry.prefix:
            return ()
        return entry.hops if entry.version == self._version else self._renew(entry)

    def has_route(self, prefix: Name, face: Face, origin: int) -> bool:
        """Whether there is exactly this route."""
        entry = self._entries.get(prefix)
        return entry is not None and (prefix, face.id, origin) in entry.routes

    def count_of(self, face: Face) -> int:
        """How many routes a face has."""
        return len(self._by_face.get(face.id, ()))

    def routes(self) -> Iterator[Route]:
        """All routes, in the order in which their prefixes came."""
        for entry in self._entries.by_prefix.values():
            yield from entry.routes.values()

    def entries(self) -> Iterator[tuple[Name, tuple[NextHop, ...]]]:
        """All prefixes with routes, and their next hops."""
        for prefix, entry in self._entries.by_prefix.items():
            yield prefix, self._renew(entry)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {"routes": self._count, "prefixes": len(self._entries)}

    def _renew(self, entry: FibEntry) -> tuple[NextHop, ...]:
        """Find the next hops of a prefix: its own, and those that it inherits.

        A face has one route in it: its own before one of a shorter prefix, then the cheapest.
        """
        best: dict[int, NextHop] = {}
        self._collect(entry, 0, best)
        if not _captures(entry):
            for shorter in self._entries.above(entry.prefix):
                inherited: dict[int, NextHop] = {}
                self._collect(shorter, CHILD_INHERIT, inherited)
                for face_id, hop in inherited.items():
                    best.setdefault(face_id, hop)
                if _captures(shorter):
                    break
        entry.hops = tuple(sorted(best.values(), key=_cost))
        entry.version = self._version
        return entry.hops

    def _collect(self, entry: FibEntry, flags: int, best: dict[int, NextHop]) -> None:
        for route in entry.routes.values():
            face = route.face
            if route.flags & flags == flags and face.id in self._up:
                earlier = best.get(face.id)
                if earlier is None or route.cost < earlier.cost:
                    best[face.id] = NextHop(face, route.cost, route.origin)


def _captures(entry: FibEntry) -> bool:
    return any(route.flags & CAPTURE for route in entry.routes.values())


def _cost(hop: NextHop) -> int:
    return hop.cost
