"""What is to be done at the very end of a network, when nothing happens on it any more."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger("rumormill")


class LastActions:
    """Actions that are awaited one after the other, the last one first.

    ``whose`` names the owner in the log; ``failed`` is called with each error.
    """

    def __init__(self, whose: object, failed: Callable[[BaseException], None]) -> None:
        self._whose = whose
        self._failed = failed
        self._actions: list[Callable[[], Awaitable[None]]] = []

    def add(self, action: Callable[[], Awaitable[None]]) -> None:
        """Await ``action`` at the end."""
        self._actions.append(action)

    async def carry_out(self) -> None:
        """Do all of it; then tell the first that failed."""
        problem: BaseException | None = None
        for action in reversed(self._actions):
            try:
                await action()
            except (Exception, asyncio.CancelledError) as error:
                self._failed(error)
                if problem is None:
                    problem = error
                else:
                    log.warning("%r failed when %r was closed", action, self._whose, exc_info=error)
        if problem is not None:
            raise problem
