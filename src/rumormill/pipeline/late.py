"""Late events: counted by network and minute, since silver lacks them until all is refined anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from rumormill.pipeline.bronze import FileFacts
from rumormill.pipeline.refined import time_of

Late = dict[str, dict[str, int]]
"""Network, minute, count."""

MINUTES: Final = 1000
"""Minutes counted one by one for each network; the oldest beyond are counted together."""

EARLIER: Final = "earlier"

ADVICE: Final = "came after their minute was closed; 'rumormill pipeline run --once' takes them in"


def count_late(files: Iterable[FileFacts], frontier_us: int, known: Late) -> Late:
    """Add the events in new files that are older than the frontier to those known."""
    late = {network: dict(minutes) for network, minutes in known.items()}
    for facts in files:
        if facts.first_us >= frontier_us:
            continue
        for network, minute, count in _late_in(facts, frontier_us):
            minutes = late.setdefault(network, {})
            minutes[minute] = minutes.get(minute, 0) + count
    return {network: _bounded(minutes) for network, minutes in late.items()}


def late_rows(late: Late) -> list[dict[str, Any]]:
    """As rows of ``gold/problems``."""
    return [
        {
            "network": network,
            "topic": None,
            "kind": "late",
            "count": count,
            "detail": f"events of {minute} {ADVICE}",
        }
        for network, minutes in late.items()
        for minute, count in minutes.items()
    ]


def _late_in(facts: FileFacts, frontier_us: int) -> list[tuple[str, str, int]]:
    table = pq.read_table(
        facts.path,
        columns=["time", "network"],
        filters=[("time", "<", time_of(frontier_us))],
        partitioning=None,
    )
    minute = pc.floor_temporal(table["time"], unit="minute")
    counts = pa.table({"network": table["network"], "minute": minute}).group_by(
        ["network", "minute"]
    )
    return [
        (row["network"], row["minute"].strftime("%Y-%m-%dT%H:%MZ"), row["network_count"])
        for row in counts.aggregate([("network", "count")]).to_pylist()
    ]


def _bounded(minutes: Mapping[str, int]) -> dict[str, int]:
    """At most so many minutes, the newest.

    >>> _bounded({"b": 2, "a": 1})
    {'a': 1, 'b': 2}
    """
    ordered = sorted(minute for minute in minutes if minute != EARLIER)
    old, new = ordered[:-MINUTES], ordered[-MINUTES:]
    bounded = {minute: minutes[minute] for minute in new}
    if old or EARLIER in minutes:
        together = sum(minutes[minute] for minute in old) + minutes.get(EARLIER, 0)
        bounded = {EARLIER: together, **bounded}
    return bounded
