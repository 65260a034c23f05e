"""Futures by token: who waits for which answer of the machine."""

from __future__ import annotations

import asyncio
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Waiting(Generic[Answer]):
    """Those who wait, each for the one answer that bears its token."""

    __slots__ = ("_futures",)

    def __init__(self) -> None:
        self._futures: dict[int, asyncio.Future[Answer]] = {}

    def __len__(self) -> int:
        return len(self._futures)

    def begin(self, token: int) -> asyncio.Future[Answer]:
        """Somebody begins to wait; to be called before the machine is asked."""
        future = self._futures[token] = asyncio.get_running_loop().create_future()
        return future

    def done(self, token: int, answer: Answer) -> None:
        """The answer came."""
        future = self._futures.pop(token, None)
        if future is not None and not future.done():
            future.set_result(answer)

    def failed(self, token: int, error: Exception) -> None:
        """There will be none."""
        future = self._futures.pop(token, None)
        if future is not None and not future.done():
            future.set_exception(error)

    def forget(self, token: int) -> bool:
        """Nobody waits any more; whether the answer was still to come."""
        return self._futures.pop(token, None) is not None

    def close(self, error: Exception) -> None:
        """Nobody will answer any more."""
        for token in list(self._futures):
            self.failed(token, error)
