"""A neighbour: what it has told us, what we have told it, and what it has not answered yet."""

from __future__ import annotations

import enum
from typing import NamedTuple

from rumormill.core.limits import Allowance
from rumormill.ndn.faces.face import Face
from rumormill.ndn.routing.parameters import RoutingParameters
from rumormill.ndn.routing.vector import Destination, Vector
from rumormill.ndn.wire.interest import Interest
from rumormill.ndn.wire.name import Name

MOST_HELLOS = 4
"""Hellos of which an answer still counts, where answers take longer than the next hello."""


NEVER_YET = float("-inf")


class Phase(enum.Enum):
    """How far we are with a neighbour."""

    PROBING = "probing"
    """It gets hellos, and has not both answered one and said one."""
    UP = "up"
    """Hellos go both ways: its routes count, and it is told ours."""
    ALONE = "alone"
    """It does not speak our protocol, and gets nothing of us until it says hello."""


class Unanswered(NamedTuple):
    """An update that is on its way."""

    interest: Interest
    attempt: int
    end: bool
    """With it, all is told."""


class Heard:
    """What a neighbour has told us."""

    __slots__ = ("doubts", "incomplete", "sequence", "stale", "synced", "vector")

    def __init__(self) -> None:
        self.vector = Vector()
        self.sequence = 0
        """Of the last update that was taken."""
        self.synced = False
        """Whether it has begun to tell all since it came: changes have something to change."""
        self.stale: dict[Destination, None] | None = None
        """While all is told again: what was not told again yet."""
        self.incomplete = False
        """Something of it was refused: our digests differ, and that is all right."""
        self.doubts = 0
        """Hellos in a row that speak of something else than we hold."""


class Told:
    """What we have told a neighbour."""

    __slots__ = ("begin", "dirty", "full", "restarted_at", "sequence", "unanswered", "vector")

    def __init__(self) -> None:
        self.vector = Vector()
        self.sequence = 0
        """Of the last update to it."""
        self.dirty: dict[Destination, None] = {}
        """What it knows otherwise than it is now."""
        self.begin = False
        """The next update begins to tell all."""
        self.full = False
        """All is being told."""
        self.restarted_at = NEVER_YET
        """When it was begun to tell all."""
        self.unanswered: Unanswered | None = None
        """Only one update is on its way at a time, so that they come in order."""


class Neighbour:
    """Somebody at the other end of a face; ``dialed`` if it was we who wanted it."""

    __slots__ = (
        "allowance", "answered", "dialed", "errors", "face", "former", "heard", "hello_at",
        "hellos", "last_answer", "node", "phase", "spoken", "told", "tries",
    )  # fmt: skip

    def __init__(self, face: Face, parameters: RoutingParameters, *, dialed: bool) -> None:
        self.face = face
        self.dialed = dialed
        self.phase = Phase.PROBING
        self.node: Name | None = None
        """Who it is, by its last hello, with the epoch of its present life."""
        self.former: Name | None = None
        """Who it was before: what is late of that life says nothing any more."""
        self.spoken = False
        """Whether it has ever said hello."""
        self.answered = False
        """Whether it has answered since the probing began."""
        self.tries = 0
        """Hellos since the probing began."""
        self.hellos: dict[Name, None] = {}
        """Names of hellos that are not answered yet."""
        self.hello_at = NEVER_YET
        """When it was sent the last one."""
        self.last_answer = NEVER_YET
        self.errors = 0
        self.heard = Heard()
        self.told = Told()
        self.allowance = Allowance(
            parameters.update_rate, 2.0 * parameters.max_neighbour_prefixes + HELLO_COST
        )

    @property
    def datagrams(self) -> bool:
        """Whether packets get lost on the way, and nobody hears of a restart."""
        return self.face.uri.startswith("udp")

    def forget(self) -> None:
        """All that was told is void, on both sides; the sequence stays, as the life does."""
        sequence = self.heard.sequence
        self.heard, self.told = Heard(), Told()
        self.heard.sequence = sequence

    def sent_hello(self, name: Name) -> None:
        """An answer by this name is one of it."""
        self.hellos[name] = None
        if len(self.hellos) > MOST_HELLOS:
            del self.hellos[next(iter(self.hellos))]


HELLO_COST = 20.0
"""What a hello takes of the allowance of changes."""
