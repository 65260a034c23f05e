"""Clocks a second time, from the words in ``docs/tables.md``: what SQL cannot solve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

Ways = Mapping[tuple[str, str], int]
"""The least microseconds from one node to another, by the clocks as they are."""


@dataclass(frozen=True)
class Clock:
    """How far a clock is ahead of the reference; all in microseconds."""

    offset: float
    uncertainty: float
    links: int
    applied: bool


def clocks(ways: Ways) -> dict[str, Clock]:
    """Of every node that has a link."""
    links = _links(ways)
    found: dict[str, Clock] = {}
    for members in _parts(links):
        seen_from_the_first = _compared(members[0], members, links)
        in_order = sorted(members, key=lambda node: (seen_from_the_first[node].ahead, node))
        reference = in_order[(len(members) - 1) // 2]
        for node, path in _compared(reference, members, links).items():
            found[node] = Clock(
                path.ahead,
                path.round_trips,
                sum(node in link for link in links),
                abs(path.ahead) > path.round_trips,
            )
    return found


_Links = Mapping[tuple[str, str], tuple[float, float]]
"""For each pair: how far the second is ahead of the first, and the round trip."""


def _links(ways: Ways) -> dict[tuple[str, str], tuple[float, float]]:
    found = {}
    for one, other in combinations(sorted({node for way in ways for node in way}), 2):
        there, back = ways.get((one, other)), ways.get((other, one))
        if there is not None and back is not None and there + back >= 0:
            found[one, other] = ((there - back) / 2, float(there + back))
    return found


def _parts(links: Iterable[tuple[str, str]]) -> list[list[str]]:
    parts: list[set[str]] = []
    for link in links:
        touched = [part for part in parts if not part.isdisjoint(link)]
        parts = [part for part in parts if part not in touched]
        parts.append(set(link).union(*touched))
    return [sorted(part) for part in parts]


class _Path(NamedTuple):
    """How a clock is compared with the one that it begins at; the least of several counts."""

    round_trips: float
    links: int
    before: str
    """The last node but one."""
    ahead: float


def _compared(start: str, members: list[str], links: _Links) -> dict[str, _Path]:
    """By going over all links as often as there are nodes (Bellman and Ford)."""
    steps = [(one, other, ahead, trip) for (one, other), (ahead, trip) in links.items()]
    steps += [(other, one, -ahead, trip) for one, other, ahead, trip in steps]
    begin = {start: _Path(0.0, 0, "", 0.0)}
    found = begin
    for _ in members:
        longer = dict(begin)
        for one, other, ahead, trip in steps:
            if one in found:
                so_far = found[one]
                path = _Path(so_far.round_trips + trip, so_far.links + 1, one, so_far.ahead + ahead)
                longer[other] = min(longer.get(other, path), path)
        found = longer
    return found
