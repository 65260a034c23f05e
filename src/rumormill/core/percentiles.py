"""Percentiles: the one rule that every table, test and benchmark of this house goes by.

It is the *nearest rank*: the smallest of the values that at least so large a share of them does not
exceed. It is a value that occurred, never one between two. Of ``n`` values in order, counted from
0, that is number ``ceil(share * n) - 1``. Where values are not at hand as a list (the tables of the
pipeline), the rule is written in that place's own language, from :data:`EXACTLY`, and a test holds
it to this one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)

EXACTLY = 1 - 1e-15
"""What a share is multiplied with. A product of floats may lie just above the whole number that is
meant: 0.07 * 100 is 7.000000000000001, and the 7th value of 100 would become the 8th."""


def place(count: int, share: float) -> int:
    """Which one of ``count`` values in order it is, counted from 0; ``count`` is not 0.

    >>> place(100, 0.5), place(100, 0.07), place(101, 0.5), place(3, 0.0), place(3, 1.0)
    (49, 6, 50, 0, 2)
    """
    return max(0, math.ceil(share * EXACTLY * count) - 1)


def percentile(ordered: Sequence[Number], share: float) -> Number | None:
    """The smallest value that at least ``share`` of all do not exceed; None if there is none.

    ``ordered``: the values, the smallest first.

    >>> percentile([1, 2, 3, 4], 0.5), percentile([1, 2, 3, 4], 0.99), percentile([], 0.5)
    (2, 4, None)
    """
    return ordered[place(len(ordered), share)] if ordered else None
