"""Measurements in short slices, in which the contestants take turns: what else the machine does
changes within seconds, and disturbs all alike only if they are measured close to each other.
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

Sample = dict[str, Any]
"""The ``count`` of what was sent, how many of it were ``done``, ``seconds``, percentiles, and the
CPU time of each hop, in us for one."""

SLICES = 4


async def in_turns(
    names: Sequence[str], measure: Callable[[str], Awaitable[Sample]], slices: int = SLICES
) -> dict[str, Sample]:
    """Measure each of them in so many slices; whoever is first in one is last in the next."""
    found: dict[str, list[Sample]] = {name: [] for name in names}
    for number in range(slices):
        for name in names[:: 1 if number % 2 == 0 else -1]:
            found[name].append(await measure(name))
    return {name: merged(samples) for name, samples in found.items()}


def count_for(warm: Sample, seconds: float, window: int, most: int) -> int:
    """How many one slice has, so that all of them take the seconds."""
    return int(min(max(warm["per_second"] * seconds / SLICES, 2 * window), most))


def sample_of(
    count: int, done: int, seconds: float, percentiles: dict[str, float], hops: dict[str, float]
) -> Sample:
    """One slice; ``hops`` are CPU seconds."""
    return {
        "count": count,
        "done": done,
        "seconds": seconds,
        "per_second": done / seconds,
        **percentiles,
        "hops_us": {hop: cpu / count * 1e6 for hop, cpu in hops.items()},
        "cpu_us": sum(hops.values()) / count * 1e6,
    }


def merged(samples: Sequence[Sample]) -> Sample:
    """Several slices as one; of the percentiles the median.

    >>> fast = sample_of(100, 100, 1.0, {"p50": 1.0}, {"us": 0.01})
    >>> slow = sample_of(100, 100, 3.0, {"p50": 3.0}, {"us": 0.03})
    >>> both = merged([fast, slow])
    >>> both["per_second"], both["p50"], both["cpu_us"]
    (50.0, 2.0, 200.0)
    """
    count = sum(each["count"] for each in samples)
    hops = samples[0]["hops_us"]
    return sample_of(
        count,
        sum(each["done"] for each in samples),
        sum(each["seconds"] for each in samples),
        {
            name: statistics.median(each[name] for each in samples)
            for name in samples[0]
            if name.startswith("p") and name != "per_second"
        },
        {hop: sum(each["hops_us"][hop] * each["count"] for each in samples) / 1e6 for hop in hops},
    )
