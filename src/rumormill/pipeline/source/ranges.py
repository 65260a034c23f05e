"""How the records of several spools are shared out: among triggers, and among tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from pyspark.sql.datasource import InputPartition

FEW_ROWS: Final = 10_000
"""Ranges of one task together, unless it is one that is larger."""


@dataclass(frozen=True)
class Range:
    """Offsets from ``start`` up to, not including, ``end`` of one spool: a record at each."""

    source: str
    spool: str
    """The id that the spool at ``source`` must have; another one there is an error."""
    partition: int
    start: int
    end: int
    floors: Mapping[str, int] = field(default_factory=dict)
    ceilings: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Task(InputPartition):
    """What one task reads."""

    ranges: list[Range] = field(default_factory=list)


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


def share_out(ranges: Sequence[Range], least: int, rows: int) -> list[Task]:
    """Tasks of at most ``rows`` rows, and at least ``least`` of them if there are so many rows.

    As with Kafka's ``minPartitions``, larger ranges are cut into more pieces. Small ones are read
    together: a task costs more than a few rows of a spool do.
    """
    total = sum(each.end - each.start for each in ranges)
    if total == 0:
        return []
    largest = min(rows, max(1, total // least))
    few = min(largest, FEW_ROWS)
    tasks: list[Task] = []
    room = 0
    for piece in (piece for each in ranges for piece in _cut(each, largest)):
        size = piece.end - piece.start
        if size > room:
            tasks.append(Task())
            room = few
        tasks[-1].ranges.append(piece)
        room -= size
    return tasks


def _cut(whole: Range, largest: int) -> list[Range]:
    rows = whole.end - whole.start
    if rows == 0:
        return []
    pieces = -(-rows // largest)
    # Equal pieces: a small one at the end would leave a core without work.
    edges = [whole.start + rows * number // pieces for number in range(pieces + 1)]
    return [replace(whole, start=start, end=end) for start, end in pairwise(edges)]
