"""Routes, and which faces an Interest may be sent on by: the longest prefix of its name wins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from rumormill.core.timers import Alarm
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.parameters import ForwarderParameters
from rumormill.ndn.wire.name import Name


class Origin:
    """Who has made a route: one route for each origin, prefix and face. Numbers as NFD has them."""

    APPLICATION = 0
    AUTOREG = 64
    CLIENT = 65
    AUTOCONF = 66
    ROUTING = 128
    STATIC = 255


CHILD_INHERIT = 1
"""A flag of a route: it is for longer prefixes, too, that have routes of their own."""
CAPTURE = 2
"""A flag of a route: its prefix takes no routes of shorter prefixes."""


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
    """A route was added or changed (``added``), or is gone."""

    route: Route
    added: bool


RouteListener: TypeAlias = Callable[[RouteChange], None]


class Fib:
    """All routes."""

    def __init__(self, turn: Turn, parameters: ForwarderParameters, alarm: Alarm) -> None:
        raise NotImplementedError

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
        raise NotImplementedError

    def remove(self, prefix: Name, face: Face, origin: int = Origin.STATIC) -> bool:
        """Take a route away; False if there was none."""
        raise NotImplementedError

    def remove_face(self, face: Face) -> None:
        """Take all routes of a face away."""
        raise NotImplementedError

    def next_hops(self, name: Name) -> tuple[NextHop, ...]:
        """Where an Interest of this name may go, cheapest first; empty: nowhere."""
        raise NotImplementedError

    def routes(self) -> Iterator[Route]:
        """All routes, in the order in which they came."""
        raise NotImplementedError

    def on_change(self, listener: RouteListener) -> None:
        """Tell somebody of every change."""
        raise NotImplementedError
