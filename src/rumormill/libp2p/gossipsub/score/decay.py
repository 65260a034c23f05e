"""Decay: how a counter forgets."""

from __future__ import annotations

DECAY_TO_ZERO = 0.01
"""A counter below this is 0, unless the parameters say otherwise."""


def decay_within(
    seconds: float, interval: float = 1.0, decay_to_zero: float = DECAY_TO_ZERO
) -> float:
    """The factor with which a counter that stands at 1 is at 0 after so many seconds.

    ``interval`` is the ``decay_interval``: the factor is applied once in it.

    >>> round(decay_within(600), 5)
    0.99235
    >>> round(decay_within(600, interval=12), 5)
    0.91201
    """
    steps = max(1.0, seconds // interval)
    return float(decay_to_zero ** (1.0 / steps))


def steady_count(rate: float, decay: float, interval: float = 1.0) -> float:
    """Where a counter settles, after its decay, that grows by ``rate`` a second.

    >>> round(steady_count(rate=5, decay=0.9))
    45
    """
    return rate * interval * decay / (1.0 - decay)


def decayed(value: float, factor: float, decay_to_zero: float) -> float:
    """A counter after its decay."""
    value *= factor
    return value if value >= decay_to_zero else 0.0
