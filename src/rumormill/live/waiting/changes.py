"""Waiting until something about a network has become true."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Changes:
    """Lets tasks wait for a condition that can only change when :meth:`happened` is called."""

    __slots__ = ("_next", "waiting")

    def __init__(self) -> None:
        self._next: asyncio.Future[None] | None = None
        self.waiting = 0
        """How many tasks wait."""

    def happened(self) -> None:
        """Let everybody who waits look again."""
        if self._next is not None:
            if not self._next.done():
                self._next.set_result(None)
            self._next = None

    async def until(self, condition: Callable[[], bool], timeout: float | None) -> bool:
        """Wait for the condition; False if it did not come true in time."""
        loop = asyncio.get_running_loop()
        deadline = None if timeout is None else loop.time() + timeout
        self.waiting += 1
        try:
            while not condition():
                left = None if deadline is None else deadline - loop.time()
                if left is not None and left <= 0:
                    return False
                if self._next is None:
                    self._next = loop.create_future()
                await asyncio.wait((self._next,), timeout=left)
            return True
        finally:
            self.waiting -= 1
