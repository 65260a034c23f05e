"""Scores of peers: what the others think of each of them, in the end and over time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

import pyarrow as pa

from rumormill.report.rows import ScoreRow, StandingRow

MOST_LINES: Final = 6
"""Peers whose score is read minute by minute: those that fell lowest."""

PAIR: Final = ("network", "node", "peer")
COLUMNS: Final = ("minute", *PAIR, "score", "lowest", "highest", "level")

LEVELS: Final = ("trusted", "no_mesh", "no_gossip", "no_publish", "graylisted")
"""How a peer can be treated, from well to badly."""

Name = tuple[str, str]
"""A network and a peer in it."""


@dataclass(frozen=True)
class Standing:
    """What all others think of one peer."""

    score: float
    """The lowest of their last words."""
    lowest: float
    highest: float
    levels: Mapping[str, int]
    """How many of them treat it how, by their last words."""
    times: Sequence[datetime] = ()
    scores: Sequence[float | None] = field(default=())
    """Over time: the lowest of what each of them thought then."""


def ends_of(table: pa.Table) -> pa.Table:
    """Of each node and peer the last score and level, and how far the score went."""
    ordered = table.sort_by([("minute", "ascending")])
    found = ordered.group_by(PAIR, use_threads=False).aggregate(
        [("score", "last"), ("level", "last"), ("lowest", "min"), ("highest", "max")]
    )
    return found.rename_columns([name.rsplit("_", 1)[0] for name in found.column_names])


def of_the_lowest(table: pa.Table) -> pa.Table:
    """The rows about the peers that fell lowest, in the order of time."""
    fell = table.group_by(["network", "peer"]).aggregate([("lowest", "min")])
    keys = [("lowest_min", "ascending"), ("network", "ascending"), ("peer", "ascending")]
    chosen = fell.sort_by(keys).slice(0, MOST_LINES)
    theirs = table.join(chosen, ["network", "peer"], join_type="left semi")
    return theirs.sort_by([("minute", "ascending"), ("node", "ascending")])


def standings(
    ends: Iterable[StandingRow], told: Iterable[ScoreRow], end: datetime | None, seconds: int
) -> dict[Name, Standing]:
    """By network and peer, the lowest first; over time in steps of so many seconds."""
    by_peer: defaultdict[Name, list[StandingRow]] = defaultdict(list)
    for row in ends:
        by_peer[row.network, row.peer].append(row)
    lines = _lines(list(told), end, seconds)
    found = {name: _standing(rows, *lines.get(name, ((), ()))) for name, rows in by_peer.items()}
    return dict(sorted(found.items(), key=lambda pair: (pair[1].lowest, pair[0])))


def _standing(
    rows: Sequence[StandingRow], times: Sequence[datetime], scores: Sequence[float | None]
) -> Standing:
    levels = Counter(row.level or "unknown" for row in rows)
    order = [*LEVELS, *sorted(levels.keys() - set(LEVELS))]
    return Standing(
        min(row.score for row in rows),
        min(row.lowest for row in rows),
        max(row.highest for row in rows),
        {level: levels[level] for level in order if levels[level]},
        times,
        scores,
    )


def _lines(
    told: Sequence[ScoreRow], end: datetime | None, seconds: int
) -> dict[Name, tuple[list[datetime], list[float | None]]]:
    if not told:
        return {}
    step = timedelta(seconds=seconds)
    first = told[0].minute
    last = max(told[-1].minute, end or first)
    times = [first + step * place for place in range(int((last - first) / step) + 1)]
    by_peer: defaultdict[Name, defaultdict[int, list[ScoreRow]]]
    by_peer = defaultdict(lambda: defaultdict(list))
    for row in told:
        by_peer[row.network, row.peer][int((row.minute - first) / step)].append(row)
    return {
        name: (times, list(_lowest([rows[place] for place in range(len(times))])))
        for name, rows in by_peer.items()
    }


def _lowest(steps: Iterable[Sequence[ScoreRow]]) -> Iterator[float | None]:
    """The lowest that anybody thought in each step: a node's word holds until it says otherwise."""
    now: dict[str, float] = {}
    for rows in steps:
        now.update({row.node: row.score for row in rows})
        yield min([*(row.lowest for row in rows), *now.values()], default=None)
