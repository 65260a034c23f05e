"""Happy Eyeballs (RFC 8305): several addresses of one host, and the first to connect wins.

Each address has a quarter of a second before the next one is tried beside it, and one that fails
makes way at once. So an address that swallows every packet costs a quarter of a second, not the
whole time of the dial. The loops' own ``create_connection`` is no help: uvloop's tries one address
after the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeAlias

STAGGER = 0.25
"""Seconds that an attempt has before the next is made beside it (RFC 8305, section 5)."""

Attempt: TypeAlias = Callable[[], Coroutine[Any, Any, object]]


async def first_to_connect(attempts: Sequence[Attempt]) -> None:
    """Make one attempt after the other until the first of them is done; give up the others.

    Raises the first :class:`OSError` if none succeeds. Two may succeed in the same instant: it is
    for the attempts to see to it that only the first of them counts.
    """
    if len(attempts) == 1:
        await attempts[0]()
        return
    begun: list[asyncio.Task[object]] = []
    waiting = list(reversed(attempts))
    try:
        while waiting or not all(each.done() for each in begun):
            if waiting:
                begun.append(asyncio.create_task(waiting.pop()()))
            pending = [each for each in begun if not each.done()]
            await asyncio.wait(
                pending,
                timeout=STAGGER if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if any(each.done() and each.exception() is None for each in pending):
                return
        raise next(error for each in begun if (error := each.exception()) is not None)
    finally:
        for each in begun:
            each.cancel()
        await asyncio.gather(*begun, return_exceptions=True)
