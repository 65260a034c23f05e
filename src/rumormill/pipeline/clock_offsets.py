"""How far the clocks of nodes are apart, as far as copies of messages tell; without Spark.

A copy that A sent and B received gives one sample of the way from A to B: B's time of receipt less
A's time of having the message, which is the delay plus what B's clock is ahead of A's. The smallest
of many samples is nearly the bare delay. With both ways known, as in a request and its answer, half
of their difference is the difference of the clocks, up to half of their sum (the round trip): that
much could be an uneven link instead.

Clocks that no link joins are compared along the way with the smallest sum of round trips. That sum
is the doubt: a clock is corrected only where it is off by more, so a trace of one clock stays as
it is.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Way(NamedTuple):
    """The smallest difference of times seen from one node to another, in microseconds."""

    source: str
    target: str
    least_us: int


@dataclass(frozen=True)
class Clock:
    """What is known of a node's clock; ``offset_us`` is how far it is ahead of the reference."""

    offset_us: float
    uncertainty_us: float | None
    links: int

    @property
    def estimated(self) -> bool:
        """Whether the trace allowed to compare it with another."""
        return self.links > 0

    @property
    def applied(self) -> bool:
        """Whether it is off by more than could be mere delay."""
        return self.uncertainty_us is not None and abs(self.offset_us) > self.uncertainty_us


_Links = Sequence[Sequence[tuple[int, float, float]]]
"""Of each node its neighbours: which, how far each one's clock is ahead, and the round trip."""


def clocks(ways: Iterable[tuple[str, str, int]], nodes: Iterable[str]) -> dict[str, Clock]:
    """The clocks of one network: of ``nodes``, and of all that are linked both ways.

    Of two ways between the same nodes the smaller counts. The reference of each connected part is
    the clock in its middle: most of the others agree with it.

    >>> found = clocks([("a", "b", 1_040_000), ("b", "a", -960_000)], ["a", "b", "c"])
    >>> found["b"], found["b"].applied, found["c"].estimated
    (Clock(offset_us=1000000.0, uncertainty_us=80000.0, links=1), True, False)
    """
    names, links = _linked(ways, nodes)
    found = {name: Clock(0.0, None, 0) for name in names}
    seen = [False] * len(names)
    for start in range(len(names)):
        if seen[start] or not links[start]:
            continue
        offsets = {node: offset for node, (offset, _) in _compared(start, links).items()}
        middle = sorted(offsets, key=lambda node: (offsets[node], names[node]))
        reference = middle[(len(middle) - 1) // 2]
        for node, (offset, doubt) in _compared(reference, links).items():
            seen[node] = True
            found[names[node]] = Clock(offset, doubt, len(links[node]))
    return found


def _linked(
    ways: Iterable[tuple[str, str, int]], nodes: Iterable[str]
) -> tuple[list[str], list[list[tuple[int, float, float]]]]:
    """The names in order, and the links that carried copies both ways."""
    least: dict[tuple[str, str], int] = {}
    for source, target, least_us in ways:
        before = least.get((source, target))
        if before is None or least_us < before:
            least[source, target] = least_us
    pairs: list[tuple[str, str, int, int]] = []
    for (source, target), there in least.items():
        back = least.get((target, source)) if source < target else None
        # A round trip of less than nothing means that a clock was set in between.
        if back is not None and there + back >= 0:
            pairs.append((source, target, there, back))
    names = sorted({*nodes, *(pair[0] for pair in pairs), *(pair[1] for pair in pairs)})
    place = {name: number for number, name in enumerate(names)}
    links: list[list[tuple[int, float, float]]] = [[] for _ in names]
    for source, target, there, back in pairs:
        near, far, ahead = place[source], place[target], (there - back) / 2
        links[near].append((far, ahead, float(there + back)))
        links[far].append((near, -ahead, float(there + back)))
    return names, links


def _compared(start: int, links: _Links) -> dict[int, tuple[float, float]]:
    """Of all that can be reached: how far ahead, and the smallest sum of round trips (Dijkstra).

    Of paths with equal sums the one with the fewest links counts, then the one whose last node but
    one has the lesser name: so it does not depend on the order of anything.
    """
    found: dict[int, tuple[float, float]] = {}
    queue = [(0.0, 0, start, start, 0.0)]
    while queue:
        doubt, length, _, node, offset = heapq.heappop(queue)
        if node in found:
            continue
        found[node] = (offset, doubt)
        for other, ahead, round_trip in links[node]:
            if other not in found:
                entry = (doubt + round_trip, length + 1, node, other, offset + ahead)
                heapq.heappush(queue, entry)
    return found
