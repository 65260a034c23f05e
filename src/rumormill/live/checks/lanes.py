"""Lanes: checks that wait, so that nobody's keep another's waiting.

Each peer has a lane, and lanes take turns. Checks that take long (a signature by a key that is dear
to verify) wait in lanes of their own: they come when no cheap one waits, and a few of them now and
then while others do.
"""

from __future__ import annotations

from collections import OrderedDict, deque

from rumormill.core.machine import Check, Peer

DEAR = 100.0
"""Microseconds from which on a check has to wait for those that take less."""

MOST_CHECKS = 256
"""Checks that are done together at most."""

MOST_COST = 5_000.0
"""Microseconds of checks that are done together, before the loop gets its turn again."""

MOST_DEAR_COST = 2_000.0
"""The same of dear ones: others wait for them."""


class Lanes:
    """Checks that wait, in a lane for each peer."""

    __slots__ = ("_cheap", "_dear", "_last_was_cheap")

    def __init__(self) -> None:
        self._cheap: OrderedDict[Peer | None, deque[Check]] = OrderedDict()
        self._dear: OrderedDict[Peer | None, deque[Check]] = OrderedDict()
        self._last_was_cheap = False

    def __bool__(self) -> bool:
        return bool(self._cheap or self._dear)

    def __len__(self) -> int:
        return sum(map(len, (*self._cheap.values(), *self._dear.values())))

    def add(self, check: Check) -> None:
        """Let a check wait behind those of the same peer."""
        _, _, peer, cost = check
        lanes = self._cheap if cost <= DEAR else self._dear
        lane = lanes.get(peer)
        if lane is None:
            lanes[peer] = deque((check,))
        else:
            lane.append(check)

    def take(self) -> list[Check]:
        """The checks to be done next, all cheap or all dear."""
        dear = bool(self._dear) and (self._last_was_cheap or not self._cheap)
        self._last_was_cheap = not dear
        if dear:
            return _in_turn(self._dear, MOST_DEAR_COST)
        if len(self._cheap) == 1:  # as nearly always
            return _of_one(self._cheap)
        return _in_turn(self._cheap, MOST_COST)

    def clear(self) -> None:
        """Forget all of them."""
        self._cheap.clear()
        self._dear.clear()


def _of_one(lanes: OrderedDict[Peer | None, deque[Check]]) -> list[Check]:
    """What the only lane has, as much as is done together."""
    lane = next(iter(lanes.values()))
    most = MOST_CHECKS if not lane[0].cost else min(MOST_CHECKS, int(MOST_COST / lane[0].cost))
    if len(lane) <= most:
        lanes.clear()
        return list(lane)
    return [lane.popleft() for _ in range(most)]


def _in_turn(lanes: OrderedDict[Peer | None, deque[Check]], most_cost: float) -> list[Check]:
    """One of each lane in turn, until they cost enough; one at least."""
    taken: list[Check] = []
    cost = 0.0
    while lanes and cost < most_cost and len(taken) < MOST_CHECKS:
        peer, lane = lanes.popitem(last=False)
        check = lane.popleft()
        if lane:
            lanes[peer] = lane
        taken.append(check)
        cost += check.cost
    return taken
