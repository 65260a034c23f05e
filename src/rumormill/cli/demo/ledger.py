"""The books of an act: what was published, what came to whom, and what follows from it.

What is expected of a node is decided as in the tables of the pipeline (``docs/tables.md``): what
was published after others knew of it and before its end; of one that was killed, before the last
second of its life, as what was on its way then died with it:

    ....... expected .......| 1 s |.......... away ..........|....... expected .......
                                kill                        back
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rumormill.core.percentiles import percentile

DOUBT = 1.0
"""Seconds before a silent end in which nothing is expected; ``GRACE_SECONDS`` of the tables."""


class Row(NamedTuple):
    """What became of one node."""

    node: int
    published: int = 0
    expected: int = 0
    missing: int = 0
    newest: bool | None = None
    """Of a subscriber: whether the last message that it got is the last that was published."""


class Figures(NamedTuple):
    """An act in figures, by whoever counted."""

    rows: tuple[Row, ...]
    late: int
    """Deliveries of what was not expected: published while the node was not there, or ending."""
    p50: float | None
    p99: float | None
    """Milliseconds that the expected deliveries took."""

    @property
    def published(self) -> int:
        """Messages."""
        return sum(row.published for row in self.rows)

    @property
    def expected(self) -> int:
        """Deliveries that should have happened."""
        return sum(row.expected for row in self.rows)

    @property
    def missing(self) -> int:
        """Those that did not."""
        return sum(row.missing for row in self.rows)

    @property
    def behind(self) -> list[int]:
        """Subscribers that do not have the newest message."""
        return [row.node for row in self.rows if row.newest is False]


class Ledger:
    """Takes what the commands print, and draws the balance."""

    def __init__(self, nodes: int, subscribers: Sequence[int]) -> None:
        self._nodes = range(nodes)
        self._published: dict[str, tuple[int, float]] = {}
        """By id: the publisher, and when."""
        self._arrived: dict[int, dict[str, float]] = {node: {} for node in subscribers}
        self._last: dict[int, str | None] = dict.fromkeys(subscribers)
        self._lives: dict[int, list[tuple[float, float]]] = {
            node: [(-math.inf, math.inf)] for node in subscribers
        }
        """Between which times what is published is expected of a subscriber."""

    # ---- what is told

    def published(self, node: int, event: Mapping[str, Any]) -> None:
        """A line ``published`` of ``pub``."""
        self._published[event["id"]] = (node, event["published_at"])

    def arrived(self, node: int, event: Mapping[str, Any]) -> None:
        """A line ``message`` of ``sub``; the first time counts."""
        self._arrived[node].setdefault(event["id"], event["received_at"])
        self._last[node] = event["id"]

    def killed(self, node: int, at: float) -> None:
        """It has nothing any more, and nothing is expected of it."""
        self._lives[node][-1] = (-math.inf, at - DOUBT)
        self._last[node] = None

    def returned(self, node: int, at: float) -> None:
        """The others know of it again."""
        self._lives[node].append((at, math.inf))

    # ---- what follows

    @property
    def count(self) -> int:
        """Messages published."""
        return len(self._published)

    def has_any(self, node: int) -> bool:
        """Whether a message came to it, in this life."""
        return self._last[node] is not None

    def figures(self) -> Figures:
        """The balance."""
        newest = max(self._published, key=lambda id: self._published[id][1], default=None)
        rows, latencies, late = [], [], 0
        for node in self._nodes:
            arrived, expected = self._arrived.get(node, {}), self._expected(node)
            came = [arrived[id] - self._published[id][1] for id in expected if id in arrived]
            latencies += [1000 * seconds for seconds in came]
            late += len(arrived.keys() & self._published.keys()) - len(came)
            rows.append(
                Row(
                    node,
                    published=sum(publisher == node for publisher, _ in self._published.values()),
                    expected=len(expected),
                    missing=len(expected) - len(came),
                    newest=self._last[node] == newest if node in self._last else None,
                )
            )
        latencies.sort()
        return Figures(tuple(rows), late, percentile(latencies, 0.5), percentile(latencies, 0.99))

    def _expected(self, node: int) -> list[str]:
        lives = self._lives.get(node, ())
        return [
            id
            for id, (_, at) in self._published.items()
            if any(since <= at < until for since, until in lives)
        ]
