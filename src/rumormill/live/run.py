"""``rumormill.run``: a program's event loop, and a garbage collector that keeps out of its way."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

# Loaded now, so that they are among what is frozen.
import rumormill.libp2p.live.network
import rumormill.live.open  # noqa: F401

Result = TypeVar("Result")


def run(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on a new event loop, uvloop's where it is installed.

    While it runs, the garbage collector leaves alone what the program had loaded before, and looks
    for cycles less often (:func:`quiet_collector`).

    >>> async def answer() -> int:
    ...     return 42
    >>> run(answer())
    42
    """
    with quiet_collector():
        try:
            import uvloop
        except ImportError:
            return asyncio.run(coroutine)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(coroutine)


COLLECT_FROM = 20_000
"""New objects after which the collector looks for cycles; Python's own 700 are made by a few
hundred messages, and each look costs more than it finds: a message leaves no cycle behind."""


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Let the garbage collector work less while messages flow: 5 of 90 us a message were its.

    What was loaded before is frozen (``gc.freeze``): modules, classes and settings last as long as
    the program, and to walk through them again and again finds nothing. Who runs a network with
    ``asyncio.run`` can use this too; afterwards everything is as it was.
    """
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(max(COLLECT_FROM, thresholds[0]), *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
