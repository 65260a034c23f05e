"""Reach beyond our neighbours: who is how far, by whom, and packets that are passed on.

Each node tells its neighbours which nodes it reaches and how far they are; each uses the shortest
way that it is told. Nobody is told of a way that leads back to it, nothing is further than
:data:`MOST_HOPS`, and what is carried has no more hops left than that: so whatever goes round in a
circle while the net changes ends soon.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from rumormill.bcos.wire.p2p_packet import P2PPacket
from rumormill.bcos.wire.routed import (
    MOST_IN_PACKET,
    ROUTED_MODULE,
    Carried,
    Route,
    RoutedType,
    decode_carried,
    decode_routes,
    encode_carried,
    encode_routes,
)
from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn

MOST_HOPS = 8

MOST_ROUTES = 1024
"""Nodes that one neighbour may say it reaches."""

MOST_DESTINATIONS = 4096
"""Nodes that all neighbours together may say they reach."""

ROUTE_COST = 10.0
"""Microseconds of a route, with what we tell others because of it."""

NO_WAY = Route("", 0, 0)
FLUSH = "flush"


class Way(NamedTuple):
    """The neighbour who says that it reaches a node, and how far that is from us."""

    hops: int
    by: str
    seq: int


class ReachPort(Protocol):
    """The links, and who is told of nodes that come into reach."""

    def linked(self, node: str) -> bool:
        """Whether there is a link to a node."""
        ...

    def send_by_link(self, node: str, packet: P2PPacket) -> bool:
        """Hand a packet to a neighbour; False if it cannot leave."""
        ...

    def charge_work(self, node: str, what: str, cost: float, blame: bool) -> None:
        """A neighbour has made us work."""
        ...

    def seq_of(self, node: str) -> int:
        """The topic seq that a neighbour told last."""
        ...

    def in_reach(self, node: str, seq: int, new: bool) -> None:
        """A node that has no link can be reached, or has a new seq."""
        ...

    def out_of_reach(self, node: str) -> None:
        """A node that has no link cannot be reached any more."""
        ...

    def arrived(self, source: str, by: str, packet: P2PPacket) -> None:
        """A packet came from a node that is further away, by way of a neighbour."""
        ...


class Neighbour:
    """Somebody with a link who speaks this."""

    __slots__ = ("offers", "stale", "told")

    def __init__(self) -> None:
        self.offers: dict[str, None] = {}
        """Whom it says it reaches."""
        self.told: dict[str, Route] = {}
        self.stale: dict[str, None] = {}
        """Of whom it has to be told again."""


class Reach:
    """The routes of one node."""

    def __init__(
        self, turn: Turn, own_id: str, port: ReachPort, delay: float, retry: float, alarm: Alarm
    ) -> None:
        self._turn = turn
        self._own_id = own_id
        self._port = port
        self._delay = delay
        self._retry = retry
        self._neighbours: dict[str, Neighbour] = {}
        self._offers: dict[str, dict[str, Way]] = {}
        """By node and neighbour."""
        self._ways: dict[str, Way] = {}
        """The best of them."""
        self._timers: Timers[str] = Timers(alarm)

    def nodes(self) -> list[str]:
        """Those that are reached by others alone."""
        return [node for node in self._ways if not self._port.linked(node)]

    def reaches(self, node: str) -> bool:
        """Whether there is a way to a node by others."""
        return node in self._ways

    def seq_by_way(self, node: str) -> int | None:
        """The topic seq of a node as others tell it; None if there is no way by them."""
        way = self._ways.get(node)
        return None if way is None else way.seq

    def next_hop(self, node: str) -> str | None:
        """The neighbour by whom a node is reached."""
        way = self._ways.get(node)
        return None if way is None else way.by

    # ---- links

    def joined(self, node: str) -> None:
        """There is a link to a node, or another one than before."""
        known = self._neighbours.get(node)
        if known is not None:
            self._tell_all(known)
        hello = P2PPacket(ROUTED_MODULE, RoutedType.HELLO, 0)
        self._port.send_by_link(node, hello)

    def parted(self, node: str) -> None:
        """There is no link to a node any more, and so no way by it."""
        neighbour = self._neighbours.pop(node, None)
        if neighbour is not None:
            for destination in neighbour.offers:
                self._withdraw(destination, node)
            self._touch(node)

    def seq_heard(self, node: str) -> None:
        """A neighbour has told a new seq."""
        if node in self._neighbours:
            self._touch(node)

    # ---- packets

    def received(self, node: str, packet: P2PPacket) -> None:
        """A packet of this module, from a neighbour."""
        if packet.type == RoutedType.HELLO:
            self._hello(node)
        elif packet.type == RoutedType.ROUTES:
            self._routes(node, decode_routes(packet.payload))
        elif packet.type == RoutedType.CARRIED:
            self._carried(node, decode_carried(packet.payload))
        else:
            raise RemoteProtocolError("bad_routed_packet", f"type {packet.type}")

    def _hello(self, node: str) -> None:
        self._port.charge_work(node, "hello", ROUTE_COST * (1 + len(self._ways)), True)
        neighbour = self._neighbours.get(node)
        if neighbour is None:
            neighbour = self._neighbours[node] = Neighbour()
            self._touch(node)
        self._tell_all(neighbour)

    def _tell_all(self, neighbour: Neighbour) -> None:
        neighbour.told.clear()
        neighbour.stale = dict.fromkeys((*self._neighbours, *self._ways))
        self._timers.at_latest(FLUSH, self._turn.now + self._delay)

    def _routes(self, node: str, routes: list[Route]) -> None:
        self._port.charge_work(node, "routes", ROUTE_COST * len(routes), True)
        neighbour = self._neighbours.get(node)
        if neighbour is None:
            raise RemoteProtocolError("no_hello", "routes before it")
        left_out = 0
        for destination, hops, seq in routes:
            if destination in (self._own_id, node):
                continue
            if not 1 <= hops < MOST_HOPS:
                if destination in neighbour.offers:
                    del neighbour.offers[destination]
                    self._withdraw(destination, node)
            elif self._has_room(neighbour, destination):
                neighbour.offers[destination] = None
                self._offers.setdefault(destination, {})[node] = Way(hops + 1, node, seq)
                self._choose(destination)
            else:
                left_out += 1
        if left_out:
            self._turn.trace(
                trace.DROPPED, peer=node, what="routes", reason="too_many", count=left_out
            )

    def _has_room(self, neighbour: Neighbour, destination: str) -> bool:
        if destination in neighbour.offers:
            return True
        known = destination in self._offers or len(self._offers) < MOST_DESTINATIONS
        return known and len(neighbour.offers) < MOST_ROUTES

    def _withdraw(self, destination: str, node: str) -> None:
        offers = self._offers[destination]
        del offers[node]
        if not offers:
            del self._offers[destination]
        self._choose(destination)

    def _choose(self, destination: str) -> None:
        """Take the shortest way; of equal ones, the one that is in use."""
        before = self._ways.get(destination)
        offers = self._offers.get(destination)
        linked = self._port.linked(destination)
        if not offers:
            del self._ways[destination]
            self._touch(destination)
            if not linked:
                self._port.out_of_reach(destination)
            return
        best = min(offers.values(), key=lambda way: way.hops)
        if before is not None and before.by in offers and offers[before.by].hops == best.hops:
            best = offers[before.by]
        if best == before:
            return
        self._ways[destination] = best
        self._touch(destination)
        if not linked:
            self._port.in_reach(destination, best.seq, before is None)

    # ---- telling neighbours

    def _touch(self, destination: str) -> None:
        there = destination in self._neighbours or destination in self._ways
        for neighbour in self._neighbours.values():
            if there or destination in neighbour.told:
                neighbour.stale[destination] = None
            else:
                neighbour.stale.pop(destination, None)  # it never heard of it
        self._timers.at_latest(FLUSH, self._turn.now + self._delay)

    def _route_for(self, neighbour: str, destination: str) -> Route:
        """What a neighbour is told of a node."""
        if destination == neighbour:
            return NO_WAY
        if destination in self._neighbours:
            return Route(destination, 1, self._port.seq_of(destination))
        way = self._ways.get(destination)
        if way is None or way.by == neighbour or way.hops >= MOST_HOPS:
            return NO_WAY
        return Route(destination, way.hops, way.seq)

    def _flush(self, name: str, neighbour: Neighbour) -> bool:
        """Tell a neighbour what has changed; False if it has no room for that."""
        while neighbour.stale:
            some = list(neighbour.stale)[:MOST_IN_PACKET]
            routes = []
            for destination in some:
                route = self._route_for(name, destination)
                if route != neighbour.told.get(destination, NO_WAY):
                    routes.append(route if route.hops else Route(destination, 0, 0))
            packet = P2PPacket(ROUTED_MODULE, RoutedType.ROUTES, 0, encode_routes(routes))
            if routes and not self._port.send_by_link(name, packet):
                return False
            for route in routes:
                if route.hops:
                    neighbour.told[route.node] = route
                else:
                    neighbour.told.pop(route.node, None)
            for destination in some:
                del neighbour.stale[destination]
        return True

    # ---- carrying

    def send(self, node: str, packet: P2PPacket) -> bool:
        """Send a packet to a node that has no link; False if there is no way, or no room."""
        return self._pass_on(Carried(MOST_HOPS, self._own_id, node, packet), None)

    def _carried(self, by: str, carried: Carried) -> None:
        ways = self._offers.get(carried.source, {})
        if carried.source == self._own_id or (carried.source != by and by not in ways):
            # Nobody speaks for a node that it has not said it reaches.
            self._not_carried(by, carried, "no_way_back")
        elif carried.destination == self._own_id:
            self._port.arrived(carried.source, by, carried.packet)
        elif carried.hops_left <= 1:
            self._not_carried(by, carried, "too_far")
        else:
            self._pass_on(carried._replace(hops_left=carried.hops_left - 1), by)

    def _pass_on(self, carried: Carried, came_by: str | None) -> bool:
        destination = carried.destination
        if destination in self._neighbours:
            following = destination
        else:
            way = self._ways.get(destination)
            following = "" if way is None else way.by
        if not following or following == came_by:
            self._not_carried(came_by, carried, "no_way")
            return False
        payload = encode_carried(carried)
        packet = P2PPacket(ROUTED_MODULE, RoutedType.CARRIED, 0, payload)
        return self._port.send_by_link(following, packet)

    def _not_carried(self, by: str | None, carried: Carried, reason: str) -> None:
        if by is not None:
            self._port.charge_work(by, "carried", ROUTE_COST, False)
        self._turn.trace(
            trace.DROPPED, peer=by, what="carried", reason=reason, count=1,
            destination=carried.destination,
        )  # fmt: skip

    # ---- time

    def wake(self, now: float) -> None:
        """Tell neighbours what has changed."""
        for _ in self._timers.due(now):
            done = [self._flush(*each) for each in list(self._neighbours.items())]
            if not all(done):
                self._timers.at_latest(FLUSH, now + self._retry)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        neighbours = self._neighbours.values()
        return {
            "reach_neighbours": len(self._neighbours),
            "reach_offers": sum(map(len, self._offers.values())),
            "reach_ways": len(self._ways),
            "reach_told": sum(len(n.told) + len(n.stale) for n in neighbours),
        }
