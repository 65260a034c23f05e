"""What is between the forwarder's routes and routing: learned ones go in, local ones come out."""

from __future__ import annotations

from typing import Final

from rumormill.core import trace
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.tables.fib import Fib, Origin, RouteChange
from rumormill.ndn.routing.distance_vector import DistanceVector
from rumormill.ndn.routing.messages import name_without_epoch
from rumormill.ndn.routing.vector import Destination
from rumormill.ndn.wire.name import Name, name_to_uri
from rumormill.ndn.wire.notify import notify_name

ANNOUNCED: Final = frozenset((Origin.APPLICATION, Origin.CLIENT))
"""Routes of these origins are told to neighbours: what programs have registered, and our own."""

NOTIFY: Final = notify_name(b"")
"""The component that ends the prefix of a topic's subscribers."""

MOST_TRACED: Final = 64
"""Subscribers that come or go in one turn and are traced one by one; of more, the number."""


class Routes:
    """Tells routing what is registered here, puts what it learns into the FIB, and traces who
    subscribes to what.
    """

    routing: DistanceVector
    """Made after this."""

    def __init__(self, turn: Turn, fib: Fib, own: Face) -> None:
        self._turn = turn
        self._fib = fib
        self._own = own
        """The face of the node's own pubsub: what it subscribes to, it traces itself."""
        self._local: dict[Name, dict[tuple[int, int], None]] = {}
        """By prefix: the faces and origins of routes that are told."""
        self._changes: list[tuple[bool, Name, str | None, str | None]] = []
        fib.on_change(self._changed)

    # ---- what routing learns: see RouteSink and ReachUser

    def add_route(self, prefix: Name, face: Face, cost: int) -> bool:
        """Interests below a prefix may go to a neighbour."""
        added = self._fib.add(prefix, face, cost, Origin.ROUTING)
        if not added:
            self._turn.trace(
                trace.DROPPED,
                peer=face.node,
                address=face.uri,
                what="route",
                reason="fib_full",
                count=1,
            )
        return added

    def remove_route(self, prefix: Name, face: Face) -> None:
        """They may not any more."""
        self._fib.remove(prefix, face, Origin.ROUTING)

    def reached(self, destination: Destination, reachable: bool) -> None:
        """A prefix of another node can be reached, or no more."""
        node, prefix = destination
        if prefix.endswith(NOTIFY):
            self._changes.append((reachable, prefix, name_to_uri(name_without_epoch(node)), None))

    # ---- what is registered here

    def _changed(self, change: RouteChange) -> None:
        route = change.route
        if route.origin not in ANNOUNCED:
            return
        prefix, key = route.prefix, (route.face.id, route.origin)
        known = self._local.setdefault(prefix, {})
        if change.added:
            if key in known:
                return  # another cost
            known[key] = None
            self.routing.announce(prefix)
        else:
            del known[key]
            if not known:
                del self._local[prefix]
                self.routing.withdraw(prefix)
        if route.face is not self._own and prefix.endswith(NOTIFY):
            self._changes.append((change.added, prefix, route.face.node, route.face.uri))

    # ---- the trace

    def settle(self) -> None:
        """At the end of a turn: trace who has subscribed to what, and who left."""
        if not self._changes:
            return
        changes, self._changes = self._changes, []
        for came, event in ((False, trace.PEER_UNSUBSCRIBED), (True, trace.PEER_SUBSCRIBED)):
            found = [change for change in changes if change[0] is came]
            if len(found) > MOST_TRACED:
                self._turn.trace(event, count=len(found))
                continue
            for _, prefix, node, address in found:
                topic = name_to_uri(prefix[: -len(NOTIFY)])
                # Of a program on this node nobody knows the name, only the face.
                self._turn.trace(event, topic, peer=node, direct=True, address=address)

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {"local_prefixes": len(self._local)}
