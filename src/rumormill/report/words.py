"""Names and numbers as people read them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rumormill.core.words import HEAD, LONG_NAME, TAIL, short

TOPIC_LENGTH = 60
"""A topic of so many characters is shown whole."""

NOTHING = "-"


def shortened(ids: Iterable[str], enough: int = LONG_NAME, head: int = HEAD) -> dict[str, str]:
    """A short name for each id that is longer than ``enough``, no two of them alike.

    The ends of peer ids differ, the beginnings do not; where two ends are the same, both get
    longer ones.

    >>> shortened(["12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA", "node-1"])
    {'12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA': '12D3..QAJU5SA', 'node-1': 'node-1'}
    """
    unique = list(dict.fromkeys(ids))
    tails = dict.fromkeys(unique, TAIL)
    while True:
        names = {peer: short(peer, enough, head, tails[peer]) for peer in unique}
        seen = Counter(names.values())
        alike = [peer for peer in unique if seen[names[peer]] > 1 and names[peer] != peer]
        if not alike:
            return names
        for peer in alike:
            tails[peer] += TAIL


def labelled(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """A key for each (network, name): the name alone, unless two networks share it.

    >>> labelled([("mesh", "weather"), ("mesh", "news"), ("flood", "news")])
    ... # doctest: +NORMALIZE_WHITESPACE
    {('mesh', 'weather'): 'weather', ('mesh', 'news'): 'news (mesh)',
     ('flood', 'news'): 'news (flood)'}
    """
    unique = list(dict.fromkeys(keys))
    shared = Counter(name for _, name in unique)
    labels: dict[tuple[str, str], str] = {key: key[1] for key in unique if shared[key[1]] == 1}
    taken = set(labels.values())
    for network, name in unique:
        if (network, name) in labels:
            continue
        label = f"{name} ({network})"
        while label in taken:
            label += "'"
        taken.add(label)
        labels[network, name] = label
    return {key: labels[key] for key in unique}


def listed(names: Sequence[str], most: int = 3) -> str:
    """Names in a sentence; of many, the first ones and how many more.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed(["a", "b", "c", "d", "e"])
    ('a', 'a, b and c', 'a, b, c and 2 more')
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def text(value: Any) -> str:
    """Words, or a dash."""
    return NOTHING if value is None else str(value)


def count(value: float | None) -> str:
    """A whole number, or a dash."""
    return NOTHING if value is None else f"{value:,.0f}"


def percent(share: float | None) -> str:
    """A share that never looks whole, or like nothing, when it is not.

    >>> percent(1.0), percent(0.99996), percent(0.5), percent(0.000001), percent(0.0), percent(None)
    ('100 %', '99.99 %', '50 %', '<0.01 %', '0 %', '-')
    """
    if share is None:
        return NOTHING
    if 0 < share < 0.0001:
        return "<0.01 %"
    # A ten-millionth of room for the rounding of floats: 0.29 is not 28.99 %.
    hundredths = math.floor(share * 10_000 + 1e-7)
    return f"{hundredths / 100:.2f}".rstrip("0").rstrip(".") + " %"


def milliseconds(value: float | None) -> str:
    """A time in three or so digits, with its unit.

    >>> milliseconds(0.04567), milliseconds(2.34), milliseconds(432.1), milliseconds(61500.0)
    ('0.046 ms', '2.3 ms', '432 ms', '61.5 s')
    """
    if value is None:
        return NOTHING
    return f"{digits(value / 1000)} s" if abs(value) >= 9999.5 else f"{digits(value)} ms"


def of_expected(reached: int, expected: int) -> str:
    """How many were reached, of how many: some of them may not have been expected at all.

    >>> of_expected(3, 4), of_expected(4, 4), of_expected(4, 3)
    ('3 of 4', '4 of 4', '4 (3 expected)')
    """
    if reached <= expected:
        return f"{reached:,} of {expected:,}"
    return f"{reached:,} ({expected:,} expected)"


def digits(value: float | None) -> str:
    """A number in three or so digits.

    >>> digits(0.04567), digits(0.5), digits(2.34), digits(99.96), digits(12345.6), digits(None)
    ('0.046', '0.5', '2.3', '100', '12,346', '-')
    """
    if value is None:
        return NOTHING
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 0.995:
        return f"{value:.1f}"
    text = f"{value:.3f}" if size < 0.0995 else f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if value else "0"


def size(value: float | None) -> str:
    """Bytes as people say them.

    >>> size(512), size(2048), size(3_500_000), size(None)
    ('512 B', '2.0 KiB', '3.3 MiB', '-')
    """
    if value is None:
        return NOTHING
    for unit in ("B", "KiB", "MiB"):
        if abs(value) < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{digits(value)} {unit}"
        value /= 1024
    return f"{digits(value)} GiB"


def span(seconds: float) -> str:
    """A stretch of time in one unit.

    >>> span(0.25), span(31.75), span(255.75), span(16383.75), span(400000)
    ('0.25 s', '32 s', '4.3 min', '4.6 h', '4.6 days')
    """
    if seconds < 1:
        return f"{digits(seconds)} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    for unit, size_of, most in (("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < most:
            return f"{digits(seconds / size_of)} {unit}"
    return f"{digits(seconds / 86400)} days"
