"""A garbage collector that keeps out of the way while messages flow."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

COLLECT_FROM = 20_000
"""New objects after which the collector looks for cycles; Python's own 700 are made by a few
hundred messages, and each look costs more than it finds: a message leaves no cycle behind."""

_quiet = 0


@contextmanager
def quiet_collector() -> Iterator[None]:
    """Let the garbage collector work less while messages flow: 5 of 90 us a message were its.

    What was loaded before is frozen (``gc.freeze``): modules, classes and settings last as long as
    the program, and to walk through them again and again finds nothing. Who runs a network with
    ``asyncio.run`` can use this too; afterwards everything is as it was.
    """
    global _quiet
    thresholds = gc.get_threshold()
    _quiet += 1
    freeze_loaded()
    gc.set_threshold(max(COLLECT_FROM, thresholds[0]), *thresholds[1:])
    try:
        yield
    finally:
        _quiet -= 1
        gc.set_threshold(*thresholds)
        gc.unfreeze()


def freeze_loaded() -> None:
    """Freeze what was loaded since, within :func:`quiet_collector`; elsewhere nothing happens.

    A family is loaded when its first network is opened, which may be late.
    """
    if _quiet:
        gc.collect()
        gc.freeze()
