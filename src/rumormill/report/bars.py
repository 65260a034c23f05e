"""Numbers as little pictures of block characters: bars, sparklines, distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rich.text import Text

EIGHTHS = " ▏▎▍▌▋▊▉█"
HEIGHTS = "▁▂▃▄▅▆▇█"
GAP = " "


def bar(share: float | None, width: int, style: str = "cyan") -> Text:
    """A bar of ``width`` characters, filled to ``share``; something never looks like nothing.

    >>> bar(0.5, 4).plain, bar(0.001, 4).plain, bar(1.0, 4).plain, bar(None, 4).plain
    ('██  ', '▏   ', '████', '    ')
    """
    share = min(1.0, max(0.0, share or 0.0))
    eighths = max(math.floor(share * width * 8), 1 if share else 0)
    whole, rest = divmod(eighths, 8)
    filled = "█" * whole + (EIGHTHS[rest] if rest else "")
    return Text(filled.ljust(width), style)


def sparkline(
    values: Sequence[float | None],
    width: int,
    low: float | None = None,
    high: float | None = None,
) -> str:
    """One character for each value, or for each group of them; what is unknown is a gap.

    Of a group the lowest value is shown: a minute in which something was lost must not vanish
    between good ones.

    >>> sparkline([0, 1, None, 2, 3], 8, low=0, high=3)
    '▁▃ ▅█'
    >>> sparkline([1.0, 1.0, 0.0, 1.0], 2, low=0, high=1)
    '█▁'
    """
    groups = _lowest(values, width)
    known = [value for value in groups if value is not None]
    if not known:
        return ""
    bottom = min(known) if low is None else low
    top = max(known) if high is None else high
    span = top - bottom
    last = len(HEIGHTS) - 1

    def height(value: float | None) -> str:
        if value is None:
            return GAP
        # Rounded down: only the full value gets the full height.
        step = math.floor((value - bottom) / span * last + 1e-9) if span > 0 else last
        return HEIGHTS[min(last, max(0, step))]

    return "".join(height(value) for value in groups)


def distribution(points: Sequence[tuple[float, float]], width: int, low: float, high: float) -> str:
    """The density behind a cumulative distribution, on a logarithmic axis from low to high.

    ``points``: (value, share of all that is at most that).

    >>> distribution([(1, 0.1), (10, 0.9), (100, 1.0)], 3, 1, 100)
    '▁█▁'
    """
    if not points or high <= 0:
        return ""
    low = max(low, high / 1e6)
    span = math.log(high / low)
    parts = [0.0] * width
    before = 0.0
    for value, share in points:
        at = math.log(max(value, low) / low) / span if span > 0 else 0.0
        parts[min(width - 1, int(at * width))] += max(0.0, share - before)
        before = max(before, share)
    most = max(parts)
    steps = len(HEIGHTS) - 1
    return "".join(
        HEIGHTS[max(0, math.ceil(part / most * (steps + 1)) - 1)] if part > 0 else GAP
        for part in parts
    )


def _lowest(values: Sequence[float | None], width: int) -> list[float | None]:
    """Of each of ``width`` groups, or of fewer where there are fewer values."""
    count = min(width, len(values))
    edges = [len(values) * place // count for place in range(count + 1)] if count else []
    groups = (values[start:end] for start, end in pairwise(edges))
    return [min((it for it in group if it is not None), default=None) for group in groups]
