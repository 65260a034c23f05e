"""How the records of several spools are shared out: among triggers, and among tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from pyspark.sql.datasource import InputPartition


@dataclass
class Range(InputPartition):
    """What one task reads: offsets from ``start`` up to, not including, ``end`` of one spool."""

    source: str
    spool: str
    """The id that the spool at ``source`` must have; another one there is an error."""
    partition: int
    start: int
    end: int
    floors: Mapping[str, int] = field(default_factory=dict)
    ceilings: Mapping[str, int] = field(default_factory=dict)


def deal(backlogs: Sequence[int], limit: int, turn: int = 0) -> list[int]:
    """Share ``limit`` rows out: equal shares, and what one does not need goes to the others.

    A small spool never waits for a large one. Rows that do not divide evenly begin with spool
    number ``turn``, so that even with fewer rows than spools each gets its turn.

    >>> deal([10, 1000, 1000], 100)
    [10, 45, 45]
    >>> deal([5, 5], 1, turn=0), deal([5, 5], 1, turn=1)
    ([1, 0], [0, 1])
    """
    count = len(backlogs)
    level, left = 0, limit
    for done, backlog in enumerate(sorted(backlogs)):
        rest = count - done  # spools that want at least this much
        rise = min(backlog - level, left // rest)
        level += rise
        left -= rise * rest
        if level < backlog:
            break
    shares = [min(backlog, level) for backlog in backlogs]
    for step in range(count):
        place = (turn + step) % count
        more = min(left, 1, backlogs[place] - shares[place])
        shares[place] += more
        left -= more
    return shares


def split(ranges: Sequence[Range], least: int, rows: int) -> list[Range]:
    """Cut ranges into pieces of at most ``rows`` rows, and of them at least ``least`` pieces.

    As with Kafka's ``minPartitions``, larger ranges are cut into more pieces.
    """
    total = sum(each.end - each.start for each in ranges)
    if total == 0:
        return []
    largest = min(rows, max(1, total // least))
    return [piece for each in ranges if each.start < each.end for piece in _cut(each, largest)]


def _cut(whole: Range, largest: int) -> list[Range]:
    rows = whole.end - whole.start
    pieces = -(-rows // largest)
    # Equal pieces: a small one at the end would leave a core without work.
    edges = [whole.start + rows * number // pieces for number in range(pieces + 1)]
    return [
        Range(whole.source, whole.spool, whole.partition, start, end, whole.floors, whole.ceilings)
        for start, end in pairwise(edges)
    ]
