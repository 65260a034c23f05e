"""How far the clocks of the nodes are apart, as far as the trace tells.

A copy that A sent and B received gives one sample of the way from A to B: B's time of receipt
less A's time of having the message, which is the delay plus what B's clock is ahead of A's. The
smallest of many samples is nearly the bare delay. With both ways known, as in a request and its
answer, the difference of the two smallest is twice the difference of the clocks, up to their sum:
that much could be an asymmetry of the link instead. Over all links the clocks are solved for by
least squares.

A time is corrected only where a clock is off by more than that sum (over the best way to the clock
that the others are compared with), so a trace of one clock stays as it is.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import node_key
from rumormill.pipeline.tables.keys import key_of
from rumormill.pipeline.tables.propagation import WAY
from rumormill.pipeline.tables.schema import SILVER

FINEST_US: Final = 100.0
"""Round trips below this weigh alike: what makes them differ is the tracing, not the link."""


@dataclass(frozen=True)
class Way:
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


def clocks(ways: Sequence[Way], nodes: Sequence[str]) -> dict[str, Clock]:
    """The clocks of one network."""
    least = {(way.source, way.target): way.least_us for way in ways}
    links: dict[str, dict[str, tuple[float, float]]] = {node: {} for node in nodes}
    for (source, target), there in least.items():
        back = least.get((target, source))
        # A round trip of less than nothing means that a clock was set in between.
        if source < target and back is not None and there + back >= 0:
            links.setdefault(source, {})[target] = ((there - back) / 2, float(there + back))
            links.setdefault(target, {})[source] = ((back - there) / 2, float(there + back))
    found: dict[str, Clock] = {}
    for node in links:
        if node not in found:
            found.update(_component(node, links))
    return found


_Links = Mapping[str, Mapping[str, tuple[float, float]]]
"""For each node and neighbour: how far the neighbour is ahead, and the round trip."""


def _component(start: str, links: _Links) -> dict[str, Clock]:
    members = sorted(_distances(start, links))
    if len(members) == 1:
        return {start: Clock(0.0, None, 0)}
    offsets = _least_squares(members, links)
    # The clock in the middle is the reference: most of the others agree with it.
    offsets -= np.sort(offsets)[(len(offsets) - 1) // 2]
    reference = members[int(np.argmin(np.abs(offsets)))]
    distances = _distances(reference, links)
    return {
        node: Clock(float(offset), distances[node], len(links[node]))
        for node, offset in zip(members, offsets, strict=True)
    }


def _least_squares(members: Sequence[str], links: _Links) -> npt.NDArray[np.float64]:
    place = {node: number for number, node in enumerate(members)}
    size = len(members)
    matrix, right = np.zeros((size, size)), np.zeros(size)
    for node in members:
        for other, (ahead, round_trip) in links[node].items():
            weight = 1.0 / max(round_trip, FINEST_US) ** 2
            matrix[place[node], place[node]] += weight
            matrix[place[node], place[other]] -= weight
            right[place[node]] -= weight * ahead
    # Only differences are known: the first clock is held, the others follow.
    solution = np.zeros(size)
    scale = matrix.max()
    solution[1:] = np.linalg.lstsq(matrix[1:, 1:] / scale, right[1:] / scale, rcond=None)[0]
    return solution


def _distances(start: str, links: _Links) -> dict[str, float]:
    """The smallest sum of round trips to each node that can be reached (Dijkstra)."""
    found: dict[str, float] = {}
    queue = [(0.0, start)]
    while queue:
        distance, node = heapq.heappop(queue)
        if node in found:
            continue
        found[node] = distance
        for other, (_, round_trip) in links[node].items():
            if other not in found:
                heapq.heappush(queue, (distance + round_trip, other))
    return found


def skew(copies: DataFrame, names: DataFrame, nodes: DataFrame) -> DataFrame:
    """The clocks of all nodes, one row each. Runs a query: the links are solved for at once.

    ``copies``: see ``copies.py``; ``names``: those of its nodes; ``nodes``: of which to tell, with
    ``network`` and ``node``.
    """
    members: dict[str, list[str]] = {}
    for row in nodes.select("network", "node").distinct().collect():
        members.setdefault(row.network, []).append(row.node)
    found: dict[str, list[Way]] = {}
    for row in _ways(copies, names).collect():
        found.setdefault(row.network, []).append(Way(row.source, row.target, row.least_us))
    rows = [
        (
            network,
            node,
            clock.offset_us / 1000 if clock.estimated else None,
            None if clock.uncertainty_us is None else clock.uncertainty_us / 1000,
            clock.links,
            clock.estimated,
            clock.applied,
        )
        for network, known in sorted(members.items())
        for node, clock in sorted(clocks(found.get(network, []), known).items())
    ]
    return copies.sparkSession.createDataFrame(rows, SILVER["skew"])


def _ways(copies: DataFrame, names: DataFrame) -> DataFrame:
    least = (
        copies.where(F.col("kind") == WAY)
        .groupBy("node_key", "peer_key")
        .agg(F.min("time").alias("least_us"))
    )
    targets = names.select("network", F.col("name").alias("target"), F.col("key").alias("node_key"))
    sources = names.select(F.col("name").alias("source"), F.col("key").alias("peer_key"))
    return least.join(F.broadcast(targets), "node_key").join(F.broadcast(sources), "peer_key")


def ahead(skew: DataFrame) -> dict[int, int]:
    """By how many microseconds clocks are ahead that are to be corrected, by the nodes' numbers.

    Runs a small query.
    """
    wrong = skew.where("applied").select("network", "node", "offset_ms").collect()
    return {key_of(row.network, row.node): round(row.offset_ms * 1000) for row in wrong}


def corrected(history: DataFrame, ahead: Mapping[int, int]) -> DataFrame:
    """Events as if all nodes had one clock."""
    if not ahead:
        return history
    wrong = history.sparkSession.createDataFrame(list(ahead.items()), "node_key long, ahead long")
    time = F.timestamp_micros(F.unix_micros("time") - F.coalesce("ahead", F.lit(0)))
    keyed = history.withColumn("node_key", node_key("node"))
    joined = keyed.join(F.broadcast(wrong), "node_key", "left")
    return joined.withColumn("time", time).drop("ahead", "node_key")
