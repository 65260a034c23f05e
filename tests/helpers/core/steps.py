"""Counts the work that some code does, in steps instead of seconds: the same on every machine.

Two things are counted. ``steps``: the lines of Python that run, and the functions of C that they
call. ``bytes``: what C does behind one such call, as far as it grows with the input, which is the
memory that is taken (a slice, a copy, two strings put together) and the bytes that are searched
through (``find``, ``count``, ``split``). A reader that looks at all of its buffer again with each
piece that comes is found by one, one that copies it by the other.

What no count sees is a C function that is worse than linear by itself. Those that readers use are
regular expressions (all of ours are bounded or cannot go back) and ``int`` of text, which Python
itself limits to 4,300 digits.
"""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

SEARCHES = frozenset(
    ("count", "decode", "find", "index", "lstrip", "partition", "replace", "rfind", "rindex",
     "rpartition", "split", "splitlines", "strip", "translate")
)  # fmt: skip
"""Methods that may walk over all of their object."""

SMALL = 512
"""Bytes. Less than that, taken or searched, is a step like any other; our own counting takes some
as well."""


class Work(NamedTuple):
    """How much was done."""

    steps: int
    bytes: int


MOST = Work(5_000_000, 500_000_000)
"""More than any test should wait for."""


class TooMuchWork(AssertionError):
    """More was done than was allowed; it was ended there, so that no test waits for the rest."""


class Counter:
    """Counts while it is entered.

    ``bounded`` are names of functions of ours that search a part of a buffer only, from a place to
    a place not far behind it: their searches count as steps.
    """

    def __init__(self, most: Work = MOST, bounded: frozenset[str] = frozenset()) -> None:
        self._most = most
        self._bounded = bounded
        self._steps = self._bytes = self._held = 0

    @property
    def work(self) -> Work:
        """What was done so far."""
        return Work(self._steps, self._bytes)

    def __enter__(self) -> Counter:
        tracemalloc.start(1)
        self._held = tracemalloc.get_traced_memory()[0]
        sys.setprofile(self._on_call)
        sys.settrace(self._on_frame)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)
        sys.setprofile(None)
        tracemalloc.stop()

    def _on_frame(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        return self._on_line

    def _on_line(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        """Before each line, and at the end of each function: what came of the line before?"""
        self._steps += event == "line"
        held, peak = tracemalloc.get_traced_memory()
        taken = peak - self._held
        if taken >= SMALL:
            self._bytes += taken
        self._held = held
        tracemalloc.reset_peak()
        if self._steps > self._most.steps or self._bytes > self._most.bytes:
            sys.settrace(None)
            sys.setprofile(None)
            raise TooMuchWork(f"{self.work}, allowed are {self._most}")
        return self._on_line

    def _on_call(self, frame: FrameType, event: str, function: Any) -> None:
        if event != "c_call":
            return
        self._steps += 1
        if function.__name__ in SEARCHES and frame.f_code.co_name not in self._bounded:
            searched = function.__self__
            if isinstance(searched, bytes | bytearray | str | list | tuple):
                size = len(searched)
                self._bytes += size if size >= SMALL else 0


def work_of(
    action: Callable[[], object],
    expected: tuple[type[Exception], ...] = (),
    bounded: frozenset[str] = frozenset(),
    most: Work = MOST,
) -> Work:
    """What it takes to do something, be it that it ends with one of the ``expected`` errors.

    >>> work_of(lambda: sum(range(10_000))).steps < 10
    True
    """
    counter = Counter(most, bounded)
    try:
        with counter:
            action()
    except expected:
        pass
    return counter.work
