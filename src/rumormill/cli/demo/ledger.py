"""The books of a demo: what was published, what each node reported, and what follows from it.

A message is *expected* of every node that was there when it was published, its publisher apart.
For the node that is killed, its life is cut into pieces by the time of publication:

    ....... expected .......|in doubt|............ away ............|....... expected .......
                            1 s     kill                    back in the mesh

*Away*: nobody could give it the message. *In doubt*: it may have got the message, but what it had
not told yet died with it. Neither is expected of it; both are counted and shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

DOUBT = 1.0
"""Seconds before a kill in which we cannot know what the killed node received."""


class Publication(NamedTuple):
    """A message that a worker says it published."""

    number: int
    publisher: int
    at: float


class Absence(NamedTuple):
    """When a node was killed, and when another node first had it in its mesh again."""

    killed_at: float
    back_at: float = math.inf


class Standing(Enum):
    """What a message is to a node."""

    OWN = "own"
    EXPECTED = "expected"
    IN_DOUBT = "in doubt"
    AWAY = "away"


class Traffic(NamedTuple):
    """Counters of one life of a node, as it last reported them."""

    delivered: int = 0
    duplicates: int = 0


class NodeRow(NamedTuple):
    """One line of the table."""

    node: int
    published: int
    expected: int
    delivered: int
    missing: tuple[int, ...]
    latencies: tuple[float, ...]
    """Of the expected messages that arrived, in seconds, sorted."""
    duplicates_per_delivery: float | None
    degree: int
    """Peers in its mesh at the end; in floodsub, everybody it is connected to."""
    away: int
    recovered: int
    """Of those published while it was away: gossip brought them later."""
    in_doubt: int


class Ledger:
    """Takes what the workers report, and draws the balance."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.degrees = [0] * nodes
        self.absences: dict[int, Absence] = {}
        self._publications: dict[int, Publication] = {}
        self._deliveries: list[dict[int, float]] = [{} for _ in range(nodes)]
        self._traffic: dict[tuple[int, int], Traffic] = {}
        self._lives = [0] * nodes

    # ---- what is reported

    def published(self, number: int, publisher: int, at: float) -> None:
        """A worker published a message."""
        self._publications[number] = Publication(number, publisher, at)

    def delivered(self, node: int, number: int, latency: float) -> None:
        """A worker got a message; the first time counts."""
        self._deliveries[node].setdefault(number, latency)

    def deliveries_of(self, node: int) -> int:
        """How many different messages the node has told us of."""
        return len(self._deliveries[node])

    def counted(self, node: int, traffic: Traffic) -> None:
        """A worker's counters since its process began."""
        self._traffic[node, self._lives[node]] = traffic

    def killed(self, node: int, at: float) -> None:
        """A node was killed; its counters begin again with its next life."""
        self.absences[node] = Absence(at)
        self._lives[node] += 1

    def returned(self, node: int, at: float) -> None:
        """A killed node is in the mesh again."""
        self.absences[node] = self.absences[node]._replace(back_at=at)

    # ---- what follows

    @property
    def count(self) -> int:
        """Messages published."""
        return len(self._publications)

    def standing(self, node: int, publication: Publication) -> Standing:
        """What a message is to a node."""
        if publication.publisher == node:
            return Standing.OWN
        absence = self.absences.get(node)
        if absence is None or publication.at < absence.killed_at - DOUBT:
            return Standing.EXPECTED
        if publication.at < absence.killed_at:
            return Standing.IN_DOUBT
        return Standing.AWAY if publication.at < absence.back_at else Standing.EXPECTED

    def missing(self, node: int) -> list[int]:
        """Messages that the node should have and has not."""
        return [number for number in self._numbers(node, Standing.EXPECTED)
                if number not in self._deliveries[node]]  # fmt: skip

    def outstanding(self) -> int:
        """Deliveries that are still missing, over all nodes."""
        return sum(len(self.missing(node)) for node in range(self.nodes))

    def row(self, node: int) -> NodeRow:
        """The balance of one node."""
        deliveries = self._deliveries[node]
        expected = self._numbers(node, Standing.EXPECTED)
        away = self._numbers(node, Standing.AWAY)
        latencies = sorted(deliveries[number] for number in expected if number in deliveries)
        traffic = self._traffic_of(node)
        return NodeRow(
            node=node,
            published=len(self._numbers(node, Standing.OWN)),
            expected=len(expected),
            delivered=len(latencies),
            missing=tuple(self.missing(node)),
            latencies=tuple(latencies),
            duplicates_per_delivery=_per(traffic.duplicates, traffic.delivered),
            degree=self.degrees[node],
            away=len(away),
            recovered=sum(number in deliveries for number in away),
            in_doubt=len(self._numbers(node, Standing.IN_DOUBT)),
        )

    def rows(self) -> list[NodeRow]:
        """The balance of every node."""
        return [self.row(node) for node in range(self.nodes)]

    def duplicates_per_delivery(self) -> float | None:
        """Over all nodes and lives."""
        duplicates = sum(traffic.duplicates for traffic in self._traffic.values())
        return _per(duplicates, sum(traffic.delivered for traffic in self._traffic.values()))

    def _numbers(self, node: int, standing: Standing) -> list[int]:
        publications = self._publications.values()
        return [each.number for each in publications if self.standing(node, each) is standing]

    def _traffic_of(self, node: int) -> Traffic:
        lives = [traffic for (owner, _), traffic in self._traffic.items() if owner == node]
        delivered = sum(life.delivered for life in lives)
        return Traffic(delivered, sum(life.duplicates for life in lives))


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest of the sorted ``values`` that at least ``share`` of them do not exceed.

    >>> percentile([1, 2, 3, 4], 0.5), percentile([1, 2, 3, 4], 0.99), percentile([], 0.5)
    (2, 4, None)
    """
    if not values:
        return None
    return values[max(0, math.ceil(share * len(values)) - 1)]


def ratio(delivered: int, expected: int) -> float | None:
    """Delivered of expected; None where nothing was expected.

    >>> ratio(3, 4), ratio(0, 0)
    (0.75, None)
    """
    return _per(delivered, expected)


def _per(count: int, whole: int) -> float | None:
    return count / whole if whole else None
