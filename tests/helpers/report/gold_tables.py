"""Tables made by hand: a toy network whose every figure is counted in plain Python.

    folder = make_lake(tmp_path / "tables", Run(nodes=20, topics=("weather", "news")))

Messages spread over a random mesh, links have their own delays, some copies are lost and some of
those are brought by gossip a second later. Silver is what happened, gold is counted from it. No
Spark: the report can be tried without Java.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from tests.helpers.report.counting import Row, gold_of
from tests.helpers.report.lake_on_disk import Rows, write_lake

BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BEGAN = datetime.fromisoformat("2026-03-01T14:00:00+00:00")
SIZE = 1180

HOSTILE = (
    "</script><script>document.title='owned'</script>",
    '"><img src=x onerror="document.title=\'owned\'">',
    "' onmouseover='document.title=1",
    "<!--",
    "]]>",
    "a\u202eb\x00c\x1b[31m",
    "\u2028${document.title='owned'}",
    "{{ 7 * 7 }}{% raw %}",
    "x" * 1000,
)
"""Names that try to be something else: on a page, in a script, in a template, in a terminal."""


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
    skips: float = 0.3
    """Where the newest value is promised: the share of values that are overtaken."""
    split_minute: int | None = None
    """In this minute the mesh of the first topic is in two pieces."""
    crash_minute: int | None = None
    """In this minute the last node ends without a word."""
    blind_clocks: int = 0
    """So many nodes whose clock cannot be compared."""
    network: str = "gossipsub"
    promise: str = "every"
    seed: int = 1
    names: Sequence[str] | None = None
    agents: Sequence[str] = ("rumormill/0.1.0",)


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
    """Plays a run and keeps what happened, as rows of silver."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.chance = random.Random(run.seed)
        self.names = list(run.names or peer_names(run.nodes, run.seed))
        self.publications: Rows = []
        self.deliveries: Rows = []
        self.repeats: list[tuple[str, str, datetime]] = []
        """Copies of what a node had: to whom, from whom, and in which minute."""
        self.meshes = {
            topic: random_mesh(self.names, run.degree, self.chance) for topic in run.topics
        }
        for topic in run.topics:
            for minute in range(run.minutes):
                for number in range(run.messages):
                    self._publish(topic, minute, number)

    def alive(self, minute: int) -> list[str]:
        """Who is there in this minute."""
        crashed = self.run.crash_minute is not None and minute >= self.run.crash_minute
        return self.names[:-1] if crashed else self.names

    def _publish(self, topic: str, minute: int, number: int) -> None:
        publisher = self.chance.choice(self.alive(minute))
        time = minute_time(minute) + timedelta(seconds=60 * number / self.run.messages)
        message = {
            "minute": minute_time(minute), "network": self.run.network, "topic": topic,
            "message_id": f"{topic}-{minute}-{number}".encode(), "publisher": publisher,
            "size": SIZE, "promise": self.run.promise,
        }  # fmt: skip
        self.publications.append({**message, "time": time})
        about = {**message, "published_at": time}
        spread = {"one": self._to_one, "newest": self._to_newest}.get(
            self.run.promise, self._to_all
        )
        self.deliveries += spread(about, self.alive(minute), minute)

    def _to_all(self, about: Row, alive: Sequence[str], minute: int) -> Rows:
        """Over the mesh, from peer to peer, and by gossip where the mesh failed."""
        topic, publisher = about["topic"], about["publisher"]
        split = minute == self.run.split_minute and topic == self.run.topics[0]
        half = set(self.names[: len(self.names) // 2])
        found: dict[str, Row] = {publisher: {}}
        waiting = [(0.0, 0, publisher, "")]
        while waiting:
            at, hop, node, peer = heapq.heappop(waiting)
            if peer and node in found:
                if node != publisher:
                    found[node]["duplicates"] += 1
                    self.repeats.append((node, peer, about["minute"]))
                continue
            if peer:
                found[node] = copy(about, node, peer, at, hop)
            for other in self.meshes[topic][node]:
                cut = split and (node in half) != (other in half)
                if other != peer and other in alive and not cut and not self._lost():
                    delay = self.run.delay_ms * (0.4 + self.chance.expovariate(1.6))
                    heapq.heappush(waiting, (at + delay, hop + 1, other, node))
        for node in alive:
            if node not in found:
                at = 1000 * self.chance.uniform(0.3, 1.0)
                asked = not split and self.chance.random() < 0.8
                peer = self.meshes[topic][node][0]
                row = copy(about, node, peer, at, 4) if asked else lacking(about, node)
                found[node] = {**row, "recovered": asked}
        return [row for row in found.values() if row]

    def _to_one(self, about: Row, alive: Sequence[str], minute: int) -> Rows:
        others = [node for node in alive if node != about["publisher"]]
        if not others:
            return []
        if self._lost():
            return [{**lacking(about, None)}]
        at = self.run.delay_ms * (0.4 + self.chance.expovariate(1.6))
        return [copy(about, self.chance.choice(others), about["publisher"], at, 1)]

    def _to_newest(self, about: Row, alive: Sequence[str], minute: int) -> Rows:
        """Some values are overtaken by the next one, which comes a little later."""
        rows: Rows = []
        for node in alive:
            if node == about["publisher"]:
                continue
            at = self.run.delay_ms * (0.4 + self.chance.expovariate(1.6))
            if self.chance.random() >= self.run.skips:
                row = copy(about, node, about["publisher"], at, 1)
                rows.append({**row, "stale_ms": row["latency_ms"]})
            elif self._lost():
                rows.append(lacking(about, node))
            else:
                later = 60_000 / self.run.messages + at
                newer = about["published_at"] + timedelta(milliseconds=later)
                rows.append({**lacking(about, node), "superseded_at": newer, "stale_ms": later})
        return rows

    def _lost(self) -> bool:
        return self.chance.random() < self.run.loss


def copy(about: Row, node: str, peer: str, at: float, hop: int) -> Row:
    """The first copy of a message at a node."""
    return {
        **about, "node": node, "peer": peer, "hop": hop, "first": True, "expected": True,
        "time": about["published_at"] + timedelta(milliseconds=at), "latency_ms": round(at, 3),
        "recovered": False, "duplicates": 0,
    }  # fmt: skip


def lacking(about: Row, node: str | None) -> Row:
    """A message that did not come to a node."""
    return {
        **about, "node": node, "peer": None, "hop": None, "first": False, "expected": True,
        "time": None, "latency_ms": None, "recovered": False, "duplicates": 0,
    }  # fmt: skip


def lake_rows(run: Run) -> dict[str, Rows]:
    """Every table of a run, as rows; tables of silver have their layer in front."""
    toy = Toy(run)
    return {
        "silver.publications": toy.publications,
        "silver.deliveries": toy.deliveries,
        **gold_of(toy.publications, toy.deliveries, toy.repeats),
        **told_by_nodes(toy),
    }


def told_by_nodes(toy: Toy) -> dict[str, Rows]:
    """The tables that are not about messages."""
    run, net = toy.run, {"network": toy.run.network}
    mesh = [mesh_row(toy, topic, minute) for topic in run.topics for minute in range(run.minutes)]
    crash = run.crash_minute
    ends = run.minutes if crash is None else crash
    newest = minute_time(run.minutes)
    return {
        "mesh_minutes": [{**net, **row} for row in mesh] if run.promise == "every" else [],
        "events": event_rows(toy),
        "causes": cause_rows(toy) if run.promise == "every" else [],
        "scores": score_rows(toy) if run.promise == "every" else [],
        "lifetimes": [
            {**net, "minute": at, "topic": topic, "kind": kind, "bin": place, "ended": count}
            for topic in run.topics if run.promise == "every"
            for kind, bins in (("mesh", {4: 3, 6: 9, 8: 14, 9: 4}), ("subscription", {9: 2}))
            for place, count in bins.items() for at in (None, minute_time(run.minutes - 1))
        ],
        "clocks": [
            {**net, "node": name, "offset_ms": None if blind else toy.chance.gauss(0, 3),
             "links": 0 if blind else run.degree, "estimated": not blind,
             "uncertainty_ms": None if blind else 0.4, "applied": not blind}
            for at, name in enumerate(toy.names) for blind in [at < run.blind_clocks]
        ],
        "alerts": alert_rows(run),
        "problems": [],
        "nodes": [
            {**net, "node": name, "agent": run.agents[at % len(run.agents)],
             "promise": run.promise, "runs": 1, "first_at": BEGAN,
             "last_at": minute_time(ends if crash is not None and at == len(toy.names) - 1
                                    else run.minutes),
             "present": name in toy.alive(run.minutes)}
            for at, name in enumerate(toy.names)
        ],
        "values": [
            {**net, "topic": topic, "node": name, "newest_at": newest,
             "value_at": newest - timedelta(seconds=30 if at == 0 else 0),
             "had_at": newest, "behind": at == 0 and run.loss > 0}
            for topic in run.topics if run.promise == "newest"
            for at, name in enumerate(toy.names)
        ],
    }  # fmt: skip


def mesh_row(toy: Toy, topic: str, minute: int) -> Row:
    alive = toy.alive(minute)
    degrees = [len(set(toy.meshes[topic][node]) & set(alive)) for node in alive]
    split = minute == toy.run.split_minute and topic == toy.run.topics[0]
    changes = toy.chance.randrange(0, 4) if minute else sum(degrees)
    return {
        "topic": topic,
        "minute": minute_time(minute),
        "nodes": len(alive),
        "degree_mean": sum(degrees) / len(degrees),
        "degree_min": min(degrees),
        "degree_max": max(degrees),
        "components": 2 if split else 1,
        "largest": len(alive) // (2 if split else 1),
        "grafts": changes,
        "prunes": toy.chance.randrange(0, 4) if minute else 0,
    }


def event_rows(toy: Toy) -> Rows:
    """Counts of events by minute and in all."""
    rows: Rows = []
    nodes = len(toy.names)
    for minute in range(toy.run.minutes):
        at = minute_time(minute)
        published = sum(row["minute"] == at for row in toy.publications)
        delivered = sum(row["minute"] == at and row["first"] for row in toy.deliveries)
        crashed = toy.run.crash_minute == minute
        kinds = {
            "published": published,
            "delivered": published + delivered,
            "duplicate": sum(it[2] == at for it in toy.repeats),
            "packet_sent": 3 * delivered,
            "network_opened": nodes if not minute else 0,
            "subscribed": nodes * len(toy.run.topics) if not minute else 0,
            "connection_opened": 4 * nodes if not minute else toy.chance.randrange(3),
            "connection_closed": 4 if crashed else toy.chance.randrange(2),
            "peer_joined": 4 * nodes if not minute else 0,
            "peer_left": 4 if crashed else 0,
        }
        rows += [
            {"minute": at, "network": toy.run.network, "event": kind, "count": count}
            for kind, count in kinds.items() if count
        ]  # fmt: skip
    kinds_of = dict.fromkeys(row["event"] for row in rows)
    return rows + [
        {"minute": None, "network": toy.run.network, "event": kind,
         "count": sum(row["count"] for row in rows if row["event"] == kind)}
        for kind in kinds_of
    ]  # fmt: skip


def cause_rows(toy: Toy) -> Rows:
    """Copies spared by topic, and promises that the last node broke, by minute and in all."""
    rows: Rows = []
    for minute in range(toy.run.minutes):
        at = {"minute": minute_time(minute), "network": toy.run.network}
        rows += [
            {**at, "topic": topic, "event": "spared", "reason": "not_queued", "count": 10 + place}
            for place, topic in enumerate(toy.run.topics)
        ]
        broken = {"topic": None, "event": "rejected", "reason": "broken_promise", "count": 2}
        rows.append({**at, **broken})
    every = {(row["topic"], row["event"], row["reason"]): 0 for row in rows}
    for row in rows:
        every[row["topic"], row["event"], row["reason"]] += row["count"]
    return rows + [
        {"minute": None, "network": toy.run.network, "topic": topic, "event": event,
         "reason": reason, "count": count}
        for (topic, event, reason), count in every.items()
    ]  # fmt: skip


def score_rows(toy: Toy) -> Rows:
    """Everybody earns a point a minute, but the last node, which breaks promises from minute 1."""
    rows: Rows = []
    for minute in range(toy.run.minutes):
        for node in toy.names:
            for peer in toy.meshes[toy.run.topics[0]][node]:
                bad = peer == toy.names[-1] and minute > 0
                score = 40.0 - 30.0 * minute if bad else 1.0 + minute
                level = "graylisted" if score < -70 else "no_mesh" if score < 0 else "trusted"
                rows.append(
                    {"minute": minute_time(minute), "network": toy.run.network, "node": node,
                     "peer": peer, "told": 1, "score": score, "lowest": score - 1.5,
                     "highest": score, "level": level, "behaviour": -50.0 if bad else 0.0}
                )  # fmt: skip
    return rows


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


def merged(*runs: Run) -> dict[str, Rows]:
    """Several networks in the same tables."""
    tables: dict[str, Rows] = {}
    for run in runs:
        for name, rows in lake_rows(run).items():
            tables.setdefault(name, []).extend(rows)
    return tables


def story() -> dict[str, Rows]:
    """A rich run: a mesh with a crash and a split, newest values, messages to one, an own table."""
    tables = merged(
        Run(topics=("weather", "news"), loss=0.08, split_minute=2, crash_minute=3, minutes=6,
            blind_clocks=1, agents=("rumormill/0.1.0", "go-libp2p/0.41", "rumormill/0.1.0")),
        Run(network="bep50", topics=("prices",), promise="newest", loss=0.02, minutes=6,
            names=[f"node-{at}" for at in range(6)], delay_ms=240, seed=2),
        Run(network="bcos", topics=("jobs",), promise="one", minutes=6, seed=3,
            names=[f"sdk-{at}" for at in range(4)], agents=("rumormill/0.1.0", "fisco-bcos/3.6")),
    )  # fmt: skip
    tables["large_messages"] = [
        {"minute": at, "network": "gossipsub", "topic": "weather", "large": large}
        for at, large in ((None, 7), (minute_time(0), 3), (minute_time(4), 4))
    ]
    return tables


def make_lake(folder: Path, run: Run | None = None) -> Path:
    """The tables of a run, under ``folder``."""
    return write_lake(folder, lake_rows(run or Run()))


def totals(rows: Rows) -> Rows:
    """The rows about all time."""
    return [row for row in rows if row["minute"] is None]
