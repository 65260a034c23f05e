"""What a command comes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from rumormill.ndn.faces.face import Face
from rumormill.ndn.wire.control import ControlParameters, ControlResponse, StatusCode

GONE: Final = 410
TOO_LONG: Final = 414
NO_ROOM: Final = 503
TIMED_OUT: Final = 504
"""Codes that are not among those of the wire's own."""


class Request(NamedTuple):
    """A command that came by a face."""

    face: Face
    parameters: ControlParameters
    remote: bool
    """Whether it came by /localhop: it may be about its own face only."""


class Answer(NamedTuple):
    """What is told, and what is to be done once it is."""

    response: ControlResponse
    then: Callable[[], None] | None = None
    when_up: Face | None = None
    """Not told before this face is there."""


Handler = Callable[[Request], Answer]


def done(parameters: ControlParameters) -> Answer:
    """It was done."""
    return Answer(ControlResponse(StatusCode.OK, "OK", parameters))


def refused(code: int, text: str) -> Answer:
    """It was not done."""
    return Answer(ControlResponse(code, text))
