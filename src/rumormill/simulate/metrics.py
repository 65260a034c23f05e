"""A few numbers from a trace, for tests and small experiments.

All of them take trace events in the order in which they happened, of every node together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rumormill.core import trace as kinds
from rumormill.core.percentiles import percentile
from rumormill.core.trace import TraceEvent
from rumormill.simulate.record import NODE_CRASHED

_Key = tuple[str | None, bytes | None]


def latencies(trace: Iterable[TraceEvent]) -> list[float]:
    """Seconds from each publication to each of its deliveries on other nodes."""
    published: dict[_Key, TraceEvent] = {}
    found: list[float] = []
    for event in trace:
        key = (event.topic, event.message_id)
        if event.event == kinds.PUBLISHED:
            published.setdefault(key, event)
        elif event.event == kinds.DELIVERED:
            origin = published.get(key)
            if origin is not None and origin.node != event.node:
                found.append(event.time - origin.time)
    return found


def percentiles(
    values: Sequence[float], ranks: Sequence[float] = (50, 90, 99, 100)
) -> dict[float, float]:
    """For each rank, in percent, its value by the rule of :mod:`rumormill.core.percentiles`.

    >>> percentiles([0.1, 0.2, 0.3, 0.4], ranks=(50, 100))
    {50: 0.2, 100: 0.4}
    """
    ordered = sorted(values)
    found = {rank: percentile(ordered, rank / 100) for rank in ranks}
    return {rank: value for rank, value in found.items() if value is not None}


def delivery_ratio(trace: Iterable[TraceEvent], receivers: int | None = None) -> float:
    """The share of deliveries that took place of those that should have.

    Each message should reach ``receivers`` nodes; without a number, each node that was subscribed
    to its topic when it was published and did not crash later on. The publisher does not count.
    1.0 if nothing was published.
    """
    audit = _Audit()
    for event in trace:
        audit.take(event)
    return audit.ratio(receivers)


class _Audit:
    """Who should have got which message, and who did."""

    def __init__(self) -> None:
        self._subscribers: dict[str | None, dict[str, None]] = {}
        self._wanted: dict[_Key, dict[str, None]] = {}
        self._got: dict[_Key, dict[str, None]] = {}

    def take(self, event: TraceEvent) -> None:
        key = (event.topic, event.message_id)
        if event.event == kinds.DELIVERED and key in self._got:
            self._got[key][event.node] = None
        elif event.event == kinds.PUBLISHED and key not in self._wanted:
            self._wanted[key] = dict(self._subscribers.get(event.topic, {}))
            self._wanted[key].pop(event.node, None)
            self._got[key] = {event.node: None}  # whether it delivers to itself or not
        elif event.event == kinds.SUBSCRIBED:
            self._subscribers.setdefault(event.topic, {})[event.node] = None
        elif event.event == kinds.UNSUBSCRIBED:
            self._subscribers.get(event.topic, {}).pop(event.node, None)
        elif event.event == NODE_CRASHED:
            for expected in (*self._subscribers.values(), *self._wanted.values()):
                expected.pop(event.node, None)

    def ratio(self, receivers: int | None) -> float:
        if receivers is not None:
            got = sum(len(nodes) - 1 for nodes in self._got.values())
            return _ratio(got, receivers * len(self._got))
        wanted = [(key, name) for key, names in self._wanted.items() for name in names]
        return _ratio(sum(name in self._got[key] for key, name in wanted), len(wanted))


def duplicates_per_delivery(trace: Iterable[TraceEvent]) -> float:
    """How many further copies came in for each message that a node got from another."""
    duplicates = deliveries = 0
    publishers: dict[_Key, str] = {}
    for event in trace:
        key = (event.topic, event.message_id)
        if event.event == kinds.PUBLISHED:
            publishers.setdefault(key, event.node)
        elif event.event == kinds.DUPLICATE:
            duplicates += 1
        elif event.event == kinds.DELIVERED and publishers.get(key) != event.node:
            deliveries += 1
    return duplicates / deliveries if deliveries else 0.0


def mesh(
    trace: Iterable[TraceEvent], topic: str, until: float = math.inf
) -> dict[str, dict[str, None]]:
    """Who has whom in its mesh of ``topic``, at the end of the trace or at ``until``.

    A node is in it, maybe with nobody, as long as it is subscribed.
    """
    found: dict[str, dict[str, None]] = {}
    for event in trace:
        if event.time > until:
            break
        if event.event == NODE_CRASHED:
            found.pop(event.node, None)
        elif event.event == kinds.PEER_LEFT:
            found.get(event.node, {}).pop(event.peer or "", None)
        elif event.topic != topic:
            continue
        elif event.event == kinds.SUBSCRIBED:
            found.setdefault(event.node, {})
        elif event.event == kinds.UNSUBSCRIBED:
            found.pop(event.node, None)
        elif event.event == kinds.GRAFTED:
            found.setdefault(event.node, {})[event.peer or ""] = None
        elif event.event == kinds.PRUNED:
            found.get(event.node, {}).pop(event.peer or "", None)
    return found


def mesh_degrees(
    trace: Iterable[TraceEvent], topic: str, until: float = math.inf
) -> dict[str, int]:
    """How many peers each subscribed node has in its mesh of ``topic``."""
    return {node: len(peers) for node, peers in mesh(trace, topic, until).items()}


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
