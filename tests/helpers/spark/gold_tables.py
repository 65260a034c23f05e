"""Gold tables made by hand: a toy network whose every figure is counted in plain Python.

    folder = make_gold(tmp_path / "tables", Run(nodes=20, topics=("weather", "news")))

Messages spread over a random mesh, links have their own delays, some copies are lost and some of
those are brought by gossip a second later. No Spark: the report can be tried without Java.
"""

from __future__ import annotations

import heapq
import json
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rumormill.core.percentiles import percentile
from rumormill.pipeline.lake import FORMAT
from rumormill.pipeline.tables.schema import GOLD

Rows = list[dict[str, Any]]
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BEGAN = datetime.fromisoformat("2026-03-01T14:00:00+00:00")
ARROW = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
SHARES = [0.001 * step for step in range(0, 1000, 5)] + [0.999, 1.0]


HOSTILE = (
    "</script><script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "' onmouseover='document.title=1",
    "<!--",
    "]]>",
    "a\u202eb\x00c\x1b[31m",
    "\u2028${document.title='owned'}",
    "x" * 1000,
)
"""Names that try to be something else: on a page, in a script, in a terminal."""


@dataclass(frozen=True)
class Run:
    """What happened: equal values, equal tables."""

    nodes: int = 10
    topics: Sequence[str] = ("weather",)
    minutes: int = 5
    messages: int = 12
    """A minute and topic."""
    degree: int = 4
    delay_ms: float = 8.0
    loss: float = 0.0
    """The share of copies that never arrive."""
    split_minute: int | None = None
    """In this minute the mesh of the first topic is in two pieces."""
    blind_clocks: int = 0
    """So many nodes whose clock cannot be compared."""
    network: str = "gossipsub"
    seed: int = 1
    names: Sequence[str] | None = None


@dataclass
class Spread:
    """What the messages of one topic and minute did."""

    published: int = 0
    expected: int = 0
    latencies: list[float] = field(default_factory=list)
    hops: list[int] = field(default_factory=list)
    duplicates: int = 0
    recoveries: int = 0

    def add(self, other: Spread) -> None:
        self.published += other.published
        self.expected += other.expected
        self.latencies += other.latencies
        self.hops += other.hops
        self.duplicates += other.duplicates
        self.recoveries += other.recoveries


def peer_names(count: int, seed: int) -> list[str]:
    """Ids that look like those of libp2p."""
    letters = random.Random(f"names {seed}")
    return ["12D3KooW" + "".join(letters.choices(BASE58, k=44)) for _ in range(count)]


def random_mesh(nodes: Sequence[str], degree: int, chance: random.Random) -> dict[str, list[str]]:
    """A ring, so that it is connected, and random links on top."""
    links: dict[str, set[str]] = {node: set() for node in nodes}
    ring = list(nodes)
    chance.shuffle(ring)
    pairs = list(zip(ring, ring[1:] + ring[:1], strict=True)) if len(ring) > 1 else []
    for _ in range(max(0, degree - 2) * len(ring) // 2):
        pairs.append((chance.choice(ring), chance.choice(ring)))
    for one, other in pairs:
        if one != other:
            links[one].add(other)
            links[other].add(one)
    return {node: sorted(peers) for node, peers in links.items()}


class Toy:
    """Plays a run and keeps the books."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.chance = random.Random(run.seed)
        self.names = list(run.names or peer_names(run.nodes, run.seed))
        self.minutes: dict[tuple[str, int], Spread] = {}
        self.links: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
        self.published: Counter[str] = Counter()
        self.delivered: Counter[str] = Counter()
        self.duplicates: Counter[str] = Counter()
        self.hop_latencies: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        self.meshes: dict[str, dict[str, list[str]]] = {}
        for topic in run.topics:
            self.meshes[topic] = random_mesh(self.names, run.degree, self.chance)
            for minute in range(run.minutes):
                self.minutes[topic, minute] = self._minute(topic, minute)

    def _minute(self, topic: str, minute: int) -> Spread:
        spread = Spread()
        split = minute == self.run.split_minute and topic == self.run.topics[0]
        for _ in range(self.run.messages):
            self._message(topic, self.chance.choice(self.names), spread, split)
        return spread

    def _message(self, topic: str, publisher: str, spread: Spread, split: bool) -> None:
        half = set(self.names[: len(self.names) // 2])
        spread.published += 1
        spread.expected += len(self.names) - 1
        self.published[publisher] += 1
        reached = {publisher}
        waiting = [(0.0, 0, publisher, "")]
        while waiting:
            at, hop, node, peer = heapq.heappop(waiting)
            if peer:
                first = node not in reached
                if node != publisher:
                    self._count(topic, spread, node, peer, at, hop, first)
                if not first:
                    continue
                reached.add(node)
            for other in self.meshes[topic][node]:
                cut = split and (node in half) != (other in half)
                if other != peer and not cut and self.chance.random() >= self.run.loss:
                    delay = self.run.delay_ms * (0.4 + self.chance.expovariate(1.6))
                    heapq.heappush(waiting, (at + delay, hop + 1, other, node))
        for node in self.names if not split else ():
            if node not in reached and self.chance.random() < 0.8:
                spread.recoveries += 1
                at = 1000 * self.chance.uniform(0.3, 1.0)
                self._count(topic, spread, node, self.meshes[topic][node][0], at, 4, True)

    def _count(
        self, topic: str, spread: Spread, node: str, peer: str, at: float, hop: int, first: bool
    ) -> None:
        self.links[node, peer][0 if first else 1] += 1
        if first:
            self.delivered[node] += 1
            spread.latencies.append(at)
            spread.hops.append(hop)
            self.hop_latencies[topic, hop].append(at)
        else:
            self.duplicates[node] += 1
            spread.duplicates += 1


def rank(values: Sequence[float], share: float) -> float | None:
    """The percentile, of values in any order."""
    return percentile(sorted(values), share)


def gold_rows(run: Run) -> dict[str, Rows]:
    """Every gold table of a run, as rows."""
    toy = Toy(run)
    first = {peer: 0 for peer in toy.names}
    repeated = {peer: 0 for peer in toy.names}
    for (_, peer), (firsts, repeats) in toy.links.items():
        first[peer] += firsts
        repeated[peer] += repeats
    everything = sum(first.values())
    net = {"network": run.network}
    return {
        "topics": [
            {**net, "topic": topic, **figures(whole(toy, topic))} for topic in run.topics
        ],
        "topic_minutes": [
            {**net, "topic": topic, "minute": minute_time(minute), **figures(spread)}
            for (topic, minute), spread in toy.minutes.items()
        ],
        "peers": [
            {
                **net, "node": name, "published": toy.published[name],
                "expected": (wanted := sum(toy.published.values()) - toy.published[name]),
                "missing": wanted - toy.delivered[name],
                "delivered": toy.delivered[name], "duplicates": toy.duplicates[name],
                "first_sent": first[name], "repeat_sent": repeated[name],
                "rejected_by_others": 0, "rejected_here": 0, "ignored_here": 0,
                "dropped_here": 0,
                "contribution": first[name] / everything if everything else None,
            }
            for name in toy.names
        ],
        "mesh_minutes": [
            {**net, **mesh_row(toy, topic, minute)}
            for topic in run.topics for minute in range(run.minutes)
        ],
        "latency_cdf": [
            {**net, "topic": topic, "latency_ms": rank(latencies, share), "share": share}
            for topic in run.topics if (latencies := whole(toy, topic).latencies)
            for share in SHARES
        ],
        "hops": [
            {**net, "topic": topic, "hop": hop, "deliveries": len(latencies),
             "latency_p50": rank(latencies, 0.5)}
            for (topic, hop), latencies in sorted(toy.hop_latencies.items())
        ],
        "links": [
            {**net, "node": node, "peer": peer, "first": firsts, "repeated": repeats}
            for (node, peer), (firsts, repeats) in sorted(toy.links.items())
        ],
        "events": event_rows(toy),
        "skew": [
            {**net, "node": name, "offset_ms": None if blind else toy.chance.gauss(0, 3),
             "links": 0 if blind else run.degree, "estimated": not blind,
             "uncertainty_ms": None if blind else 0.4, "applied": not blind}
            for at, name in enumerate(toy.names) for blind in [at < run.blind_clocks]
        ],
        "alerts": alert_rows(run),
        "problems": [],
    }  # fmt: skip


def whole(toy: Toy, topic: str) -> Spread:
    """All minutes of a topic."""
    total = Spread()
    for (other, _), spread in toy.minutes.items():
        if other == topic:
            total.add(spread)
    return total


def figures(spread: Spread) -> dict[str, Any]:
    """The columns that a topic and a minute share."""
    delivered = len(spread.latencies)
    return {
        "published": spread.published,
        "expected": spread.expected,
        "delivered": delivered,
        "unexpected": 0,
        "ratio": delivered / spread.expected if spread.expected else None,
        "latency_p50": rank(spread.latencies, 0.5),
        "latency_p90": rank(spread.latencies, 0.9),
        "latency_p99": rank(spread.latencies, 0.99),
        "latency_max": rank(spread.latencies, 1.0),
        "duplicates": spread.duplicates,
        "duplicates_per_delivery": spread.duplicates / delivered if delivered else None,
        "hops_mean": sum(spread.hops) / delivered if delivered else None,
        "hops_max": max(spread.hops, default=None),
        "bytes_per_delivery": 1180.0 if delivered else None,
        "recoveries": spread.recoveries,
    }


def mesh_row(toy: Toy, topic: str, minute: int) -> dict[str, Any]:
    degrees = [len(peers) for peers in toy.meshes[topic].values()]
    split = minute == toy.run.split_minute and topic == toy.run.topics[0]
    changes = toy.chance.randrange(0, 4) if minute else sum(degrees)
    return {
        "topic": topic,
        "minute": minute_time(minute),
        "nodes": len(toy.names),
        "degree_mean": sum(degrees) / len(degrees),
        "degree_min": min(degrees),
        "degree_max": max(degrees),
        "components": 2 if split else 1,
        "largest": len(toy.names) // (2 if split else 1),
        "grafts": changes,
        "prunes": toy.chance.randrange(0, 4) if minute else 0,
    }


def event_rows(toy: Toy) -> Rows:
    counts = {
        "published": sum(toy.published.values()),
        "delivered": sum(toy.delivered.values()) + sum(toy.published.values()),
        "duplicate": sum(toy.duplicates.values()),
        "subscribed": len(toy.names) * len(toy.run.topics),
        "peer_joined": 2 * len(toy.names),
        "grafted": sum(len(peers) for mesh in toy.meshes.values() for peers in mesh.values()),
        "packet_sent": 3 * sum(toy.delivered.values()),
    }
    return [{"network": toy.run.network, "event": kind, "count": n} for kind, n in counts.items()]


def alert_rows(run: Run) -> Rows:
    if run.split_minute is None:
        return []
    return [
        {
            "network": run.network, "topic": run.topics[0], "kind": "partition", "node": None,
            "minute": minute_time(run.split_minute),
            "detail": "the mesh was in 2 pieces, of 5 and 5 nodes",
        }
    ]  # fmt: skip


def minute_time(minute: int) -> datetime:
    return BEGAN + timedelta(minutes=minute)


def arrow_schema(table: str) -> Any:
    """The columns of a gold table, as Arrow has them."""
    return pa.schema([(column.name, ARROW[column.dataType.typeName()]) for column in GOLD[table]])


def write_gold(folder: Path, tables: Mapping[str, Rows]) -> Path:
    """Write the tables as the pipeline does; a table that is not given is not written."""
    for name, rows in tables.items():
        place = folder / "gold" / name
        place.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pylist(rows, schema=arrow_schema(name))
        pq.write_table(table, place / "part-00000.parquet")
    about = {"format": FORMAT, "created": int(BEGAN.timestamp())}
    (folder / "tables.json").write_text(json.dumps(about))
    return folder


def make_gold(folder: Path, run: Run | None = None) -> Path:
    """The tables of a run, under ``folder``."""
    return write_gold(folder, gold_rows(run or Run()))
