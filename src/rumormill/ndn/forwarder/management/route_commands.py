"""Commands about routes: rib/register, rib/unregister, fib/add-nexthop, fib/remove-nexthop."""

from __future__ import annotations

from typing import Final

from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.management.answers import (
    GONE,
    NO_ROOM,
    TOO_LONG,
    Answer,
    Handler,
    Request,
    done,
    refused,
)
from rumormill.ndn.forwarder.management.tables import Tables
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.forwarder.tables.fib import CHILD_INHERIT, Origin
from rumormill.ndn.wire.control import ControlParameters, StatusCode
from rumormill.ndn.wire.name import Name, prefix_ends

LARGEST_COST: Final = 2**53
"""Costs are numbers of 64 bits, and added up by some; who sends a larger one has made a mistake."""
LONGEST: Final = 100 * 365 * 86400 * 1000
"""Milliseconds: a route that is to live longer than that lives for ever."""


class RouteCommands:
    """What programs say about routes."""

    def __init__(self, turn: Turn, parameters: ForwarderParameters, tables: Tables) -> None:
        self._turn = turn
        self._most_components = parameters.max_prefix_components
        self._tables = tables

    def handlers(self) -> dict[tuple[str, str], Handler]:
        """What is done for each command, by module and verb."""
        return {
            ("rib", "register"): self.register,
            ("rib", "unregister"): self.unregister,
            ("fib", "add-nexthop"): self.add_next_hop,
            ("fib", "remove-nexthop"): self.remove_next_hop,
        }

    def register(self, request: Request) -> Answer:
        """Add a route; without a face, to whoever asks."""
        origin = _or(request.parameters.origin, Origin.APPLICATION)
        return self._add(request, origin, _or(request.parameters.flags, CHILD_INHERIT))

    def unregister(self, request: Request) -> Answer:
        """Take a route away. It is no mistake if there is none."""
        return self._remove(request, _or(request.parameters.origin, Origin.APPLICATION))

    def add_next_hop(self, request: Request) -> Answer:
        """Add a route that nothing inherits."""
        return self._add(request, Origin.STATIC, 0)

    def remove_next_hop(self, request: Request) -> Answer:
        """Take such a route away."""
        return self._remove(request, Origin.STATIC)

    def _add(self, request: Request, origin: int, flags: int) -> Answer:
        parameters = request.parameters
        prefix, cost = parameters.name, parameters.cost or 0
        if prefix is None or cost > LARGEST_COST or origin > LARGEST_COST:
            return refused(StatusCode.BAD_REQUEST, "Malformed command")
        if self._too_long(prefix):
            return refused(TOO_LONG, f"more than {self._most_components} components")
        face = self._face(request)
        if isinstance(face, Answer):
            return face
        if face is None:
            return refused(GONE, "Face not found")
        expiration = parameters.expiration
        expires = None
        if expiration is not None and expiration < LONGEST:
            expires = self._turn.now + expiration / 1000
        if not self._tables.fib.add(prefix, face, cost, origin, expires, flags):
            return refused(NO_ROOM, "No room for more routes")
        return done(
            ControlParameters(
                name=prefix, face_id=face.id, origin=origin, cost=cost, flags=flags,
                expiration=expiration,
            )
        )  # fmt: skip

    def _remove(self, request: Request, origin: int) -> Answer:
        prefix = request.parameters.name
        if prefix is None:
            return refused(StatusCode.BAD_REQUEST, "Malformed command")
        face = self._face(request)
        if isinstance(face, Answer):
            return face
        if face is not None:
            self._tables.fib.remove(prefix, face, origin)
        id = request.parameters.face_id if face is None else face.id
        return done(ControlParameters(name=prefix, face_id=id, origin=origin))

    def _face(self, request: Request) -> Face | Answer | None:
        """The face that a command is about, None if it is unknown."""
        id = request.parameters.face_id
        if not id or id == request.face.id:
            return request.face
        if request.remote:
            return refused(StatusCode.UNAUTHORIZED, "Only for the face itself")
        return self._tables.face(id)

    def _too_long(self, prefix: Name) -> bool:
        return len(prefix_ends(prefix)) - 1 > self._most_components


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value
