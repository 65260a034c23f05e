"""A machine that does what the test says, and writes down what happens to it."""

from __future__ import annotations

from typing import Any


class Notebook:
    """Writes down its inputs; a list is taken as the effects to return."""

    def __init__(self) -> None:
        self.lines: list[tuple[float, Any]] = []

    def handle(self, input: Any, now: float) -> list[Any]:
        if isinstance(input, list):
            return input
        self.lines.append((round(now, 6), input))
        return []

    def wake(self, now: float) -> list[Any]:
        return []

    def next_wake(self) -> float | None:
        return None

    def inputs(self, kind: type[Any] = object) -> list[Any]:
        return [input for _, input in self.lines if isinstance(input, kind)]
