"""Commands to make a face that is not reached yet: they are answered when it is, or not in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from rumormill.core.timers import Alarm, Timers
from rumormill.core.turn import Turn
from rumormill.ndn.faces.face import Face
from rumormill.ndn.forwarder.management.answers import TIMED_OUT, Answer, refused
from rumormill.ndn.wire.interest import Interest

MOST: Final = 256
"""Commands that may wait."""
PATIENCE: Final = 10.0
"""Seconds that one waits at most."""
IN_TIME: Final = 0.9
"""Part of the command's own lifetime after which it is answered, while somebody still listens."""


class Asked(NamedTuple):
    """A command that waits."""

    face: Face
    interest: Interest
    token: bytes
    made: Face
    answer: Answer
    """What is said when the face is there."""


class PendingFaces:
    """All of them; ``send`` sends an answer."""

    def __init__(
        self, turn: Turn, send: Callable[[Face, Interest, bytes, Answer], None], alarm: Alarm
    ) -> None:
        self._turn = turn
        self._send = send
        self._asked: dict[int, Asked] = {}
        self._last = 0
        self._timers: Timers[int] = Timers(alarm)

    def __len__(self) -> int:
        return len(self._asked)

    def wait(self, asked: Asked) -> bool:
        """Answer a command when its face is there; False if too many wait."""
        if len(self._asked) >= MOST:
            return False
        self._last += 1
        self._asked[self._last] = asked
        seconds = min(asked.interest.lifetime / 1000, PATIENCE)
        self._timers.set(self._last, self._turn.now + IN_TIME * seconds)
        return True

    def face_up(self, face: Face) -> None:
        """A face is there: who wanted it is told."""
        for key, asked in self._with(lambda asked: asked.made.id == face.id):
            self._end(key)
            self._send(asked.face, asked.interest, asked.token, asked.answer)

    def face_down(self, face: Face) -> None:
        """A face is gone: nothing more is to be told to it."""
        for key, _ in self._with(lambda asked: asked.face.id == face.id):
            self._end(key)

    def wake(self, now: float) -> None:
        """Answer those whose face was not reached in time."""
        for key in self._timers.due(now):
            asked = self._asked.pop(key)
            answer = refused(TIMED_OUT, "The address was not reached in time")
            self._send(asked.face, asked.interest, asked.token, answer)

    def next_wake(self) -> float | None:
        """When the first of them has waited long enough."""
        return self._timers.next_wake()

    def _with(self, test: Callable[[Asked], bool]) -> list[tuple[int, Asked]]:
        return [(key, asked) for key, asked in self._asked.items() if test(asked)]

    def _end(self, key: int) -> None:
        del self._asked[key]
        self._timers.cancel(key)
