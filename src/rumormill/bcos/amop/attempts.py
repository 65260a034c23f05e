"""Asking one after another, chosen at random, until one answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Generic, TypeVar

Candidate = TypeVar("Candidate")
Answer = TypeVar("Answer")


class Attempts(Generic[Candidate, Answer]):
    """One search for an answer; it ends once.

    ``candidates`` are looked up anew before each attempt, and nobody is asked twice. ``ask`` may
    fail at once. ``failed`` hears who did not answer and why; ``ended`` hears the answer and whose
    it is, or None twice.

    >>> def ask(name, done):
    ...     done(*((f"{name} is here", "") if name == "b" else (None, "left")))
    >>> search = Attempts(
    ...     Random(1), lambda: ["a", "b"], ask,
    ...     failed=lambda whom, why: print(whom, why), ended=lambda answer, whom: print(answer))
    >>> search.go_on()
    a left
    b is here
    """

    __slots__ = (
        "_ask", "_at_once", "_candidates", "_ended", "_failed", "_random", "_tried", "over",
    )  # fmt: skip

    def __init__(
        self,
        random: Random,
        candidates: Callable[[], Sequence[Candidate]],
        ask: Callable[[Candidate, Callable[[Answer | None, str], None]], None],
        failed: Callable[[Candidate, str], None],
        ended: Callable[[Answer | None, Candidate | None], None],
    ) -> None:
        self._random = random
        self._candidates = candidates
        self._ask = ask
        self._failed = failed
        self._ended = ended
        self._tried: dict[Candidate, None] = {}
        self._at_once = False
        self.over = False
        """Whether it has ended."""

    def go_on(self) -> None:
        """Ask the next; a loop, for many may fail at once."""
        while not self.over:
            left = [each for each in self._candidates() if each not in self._tried]
            if not left:
                self._end(None, None)
                return
            chosen = self._random.choice(left)
            self._tried[chosen] = None
            self._at_once = True
            self._ask(chosen, partial(self._heard, chosen))
            if self._at_once:
                self._at_once = False  # the answer comes later
                return

    def stop(self) -> None:
        """Nobody wants the answer any more."""
        self.over = True

    def _heard(self, whom: Candidate, answer: Answer | None, problem: str) -> None:
        if self.over:
            return
        if answer is not None:
            self._end(answer, whom)
            return
        self._failed(whom, problem)
        if self._at_once:
            self._at_once = False  # the loop is still running
        else:
            self.go_on()

    def _end(self, answer: Answer | None, whom: Candidate | None) -> None:
        self.over = True
        self._ended(answer, whom)
