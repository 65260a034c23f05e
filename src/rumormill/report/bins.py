"""Latencies in bins, 64 to each doubling: counts that can be added up over minutes and topics.

Of whole microseconds ``v`` the bin is ``sign(v) * floor(log2(|v| + 1) * 64)``, which is 1.1 % wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from rumormill.core.percentiles import place

TO_A_DOUBLING = 64

Counts = Mapping[int, int]
"""How many values lie in each bin."""


def edges(number: int) -> tuple[float, float]:
    """Where a bin begins and where it ends, in milliseconds.

    >>> edges(64)[0], edges(-64)[1], edges(0)[0]
    (0.001, -0.001, 0.0)
    """
    inner = (2 ** (abs(number) / TO_A_DOUBLING) - 1) / 1000
    outer = (2 ** ((abs(number) + 1) / TO_A_DOUBLING) - 1) / 1000
    return (inner, outer) if number >= 0 else (-outer, -inner)


def middle(number: int) -> float:
    """What a value in this bin reads as, in milliseconds."""
    return sum(edges(number)) / 2


def lasted_within(number: int) -> float:
    """Where a bin of lifetimes ends, which is coarser: in seconds.

    >>> lasted_within(0), lasted_within(6)
    (0.25, 31.75)
    """
    return (2.0 ** (number + 1) - 1) / 4


def percentile(counts: Counts, share: float) -> float | None:
    """The nearest rank, in milliseconds; None if there is no value.

    >>> round(percentile({640: 9, 1280: 1}, 0.5), 2), percentile({}, 0.5)
    (1.03, None)
    """
    total = sum(counts.values())
    if not total:
        return None
    numbers = sorted(counts)
    upto = accumulate(counts[number] for number in numbers)
    wanted = place(total, share)
    return next(middle(at) for at, sum_ in zip(numbers, upto, strict=True) if sum_ > wanted)


def curve(counts: Counts) -> list[tuple[float, float]]:
    """Latencies in ascending order, each with the share of all that took at most so long."""
    total = sum(counts.values())
    numbers = [number for number in sorted(counts) if counts[number]]
    upto = accumulate(counts[number] for number in numbers)
    return [(middle(at), sum_ / total) for at, sum_ in zip(numbers, upto, strict=True)]
