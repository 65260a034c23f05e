"""Questions that wait for their answers: each ends once, by its answer, its time, or a loss."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, NamedTuple, TypeVar

from rumormill.core.timers import Alarm, Timers

Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class _Question(NamedTuple, Generic[Answer]):
    whom: Hashable
    done: Callable[[Answer | None, str], None]


class Pending(Generic[Key, Answer]):
    """Questions by key. ``done`` hears the answer, or None and why there is none.

    >>> pending = Pending[int, str](Alarm())
    >>> pending.begin(7, "node-b", 30.0, lambda answer, why: print([answer, why]))
    >>> pending.wake(29.0)
    >>> pending.answer(7, "hello"), pending.answer(7, "again")
    ['hello', '']
    (True, False)
    """

    __slots__ = ("_asked", "_questions", "_timers")

    def __init__(self, alarm: Alarm) -> None:
        self._questions: dict[Key, _Question[Answer]] = {}
        self._asked: dict[Hashable, dict[Key, None]] = {}
        """The keys of each who was asked: who leaves ends its own, whatever others wait for."""
        self._timers: Timers[Key] = Timers(alarm)

    def __len__(self) -> int:
        return len(self._questions)

    def __contains__(self, key: Key) -> bool:
        return key in self._questions

    def begin(
        self, key: Key, whom: Hashable, until: float, done: Callable[[Answer | None, str], None]
    ) -> None:
        """A question was sent to ``whom``; one that had the same key ends as ``replaced``."""
        if key in self._questions:
            self._end(key, None, "replaced")
        self._questions[key] = _Question(whom, done)
        self._asked.setdefault(whom, {})[key] = None
        self._timers.set(key, until)

    def asked(self, key: Key) -> Hashable | None:
        """Whom the question went to: nobody else may answer it."""
        question = self._questions.get(key)
        return None if question is None else question.whom

    def answer(self, key: Key, answer: Answer) -> bool:
        """The answer has come; False if nobody waits for it."""
        return key in self._questions and self._end(key, answer, "")

    def forget(self, key: Key) -> None:
        """Nobody waits for the answer any more; ``done`` does not hear of it."""
        self._take(key)

    def lost(self, whom: Hashable, reason: str) -> None:
        """``whom`` is gone, and will not answer."""
        for key in list(self._asked.get(whom, ())):
            self._end(key, None, reason)

    def wake(self, now: float) -> None:
        """End those whose time is over."""
        for key in self._timers.due(now):
            self._end(key, None, "timed_out")

    def next_wake(self) -> float | None:
        """When the first of them ends."""
        return self._timers.next_wake()

    def _end(self, key: Key, answer: Answer | None, problem: str) -> bool:
        question = self._take(key)
        if question is None:
            return False
        question.done(answer, problem)
        return True

    def _take(self, key: Key) -> _Question[Answer] | None:
        question = self._questions.pop(key, None)
        if question is not None:
            self._timers.cancel(key)
            keys = self._asked[question.whom]
            del keys[key]
            if not keys:
                del self._asked[question.whom]
        return question
