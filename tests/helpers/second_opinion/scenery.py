"""The nodes of a random network: when each ran, whom it saw, what it was subscribed to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from tests.helpers.second_opinion.oracle import TRACE, Row
from tests.helpers.second_opinion.shape import Shape

BEGIN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
COARSE_US = 250_000
SECOND = 1_000_000


@dataclass(frozen=True)
class Run:
    """From when to when a node ran, by the one true clock, in microseconds."""

    node: str
    number: int
    since: int
    until: int
    end: str
    """``open`` (it goes on), ``word`` (it tells), ``crash`` (a simulation tells) or ``silent``."""

    def has(self, time: int) -> bool:
        """Whether it ran then."""
        return self.since <= time < self.until


@dataclass
class Scenery:
    """A network: what is there before any message is published. ``rows`` is the trace so far."""

    random: Random
    shape: Shape
    network: str
    promise: str | None
    nodes: list[str]
    topics: list[str]
    runs: list[Run] = field(default_factory=list)
    ahead: dict[str, int] = field(default_factory=dict)
    members: dict[tuple[str, str], list[tuple[int, int]]] = field(default_factory=dict)
    """By topic and node: the stretches in which it was subscribed."""
    rows: list[Row] = field(default_factory=list)

    @property
    def horizon(self) -> int:
        """The end of the trace."""
        return self.shape.minutes * 60 * SECOND

    def tell(self, time: float, node: str, event: str, **columns: Any) -> None:
        """An event, at a time of the one true clock; what is no column goes into ``fields``."""
        step = COARSE_US if self.shape.coarse else 2
        micros = round(time) // step * step + self.ahead.get(node, 0)
        row: Row = dict.fromkeys(TRACE.names)
        fields = {name: value for name, value in columns.items() if name not in row}
        row.update({name: value for name, value in columns.items() if name in row})
        row.update(
            time=BEGIN + timedelta(microseconds=micros),
            network=self.network,
            node=node,
            event=event,
            fields=json.dumps(fields) if fields else None,
        )
        self.rows.append(row)

    def chance(self, share: float) -> bool:
        """True in so large a share of all cases."""
        return self.random.random() < share

    def running(self, node: str, time: int) -> bool:
        """Whether the node ran at that time."""
        return any(run.has(time) for run in self.runs if run.node == node)

    def subscribed(self, topic: str, time: int) -> list[str]:
        """The nodes that were then."""
        return [
            node
            for node in self.nodes
            if any(a <= time < b for a, b in self.members.get((topic, node), []))
        ]

    def build(self) -> None:
        """Everything but messages."""
        if self.shape.wrong_clocks:
            for node in self.random.sample(self.nodes, max(1, len(self.nodes) // 3)):
                self.ahead[node] = 2 * self.random.randint(-2 * SECOND, 2 * SECOND)
        for node in self.nodes:
            self.runs += _runs_of(node, self)
        for run in self.runs:
            _tell_run(run, self)
        _tell_sightings(self)
        if self.shape.meshes:
            _tell_mesh(self)


def _runs_of(node: str, scenery: Scenery) -> Iterator[Run]:
    random, horizon = scenery.random, scenery.horizon
    since = random.randint(0, 5 * SECOND)
    for number in range(3):
        last = not scenery.shape.restarts or number == 2 or scenery.chance(0.4)
        if last and scenery.chance(0.6):
            yield Run(node, number, since, horizon, "open")
            return
        until = random.randint(since, horizon)
        end = random.choice(("word", "crash", "silent", "silent"))
        yield Run(node, number, since, until, end if scenery.shape.restarts else "word")
        since = until + random.choice((random.randint(2, SECOND), random.randint(SECOND, horizon)))
        if last or since >= horizon:
            return


def _tell_run(run: Run, scenery: Scenery) -> None:
    random = scenery.random
    if scenery.promise is not None and not (run.number == 0 and scenery.chance(0.1)):
        scenery.tell(
            run.since,
            run.node,
            "network_opened",
            agent=f"rumormill/{run.number}.{len(run.node)}",
            every_message=scenery.promise != "newest",
            all_subscribers=scenery.promise != "one",
            ordered=False,
            acknowledged=False,
        )
    for topic in scenery.topics:
        if scenery.chance(0.8):
            _tell_subscriptions(run, topic, scenery)
    if run.end == "crash":
        scenery.tell(run.until, run.node, "node_crashed")
    if run.until - run.since > 2 * SECOND:
        scenery.tell(random.randint(run.since, run.until), run.node, "connection_opened")


def _tell_subscriptions(run: Run, topic: str, scenery: Scenery) -> None:
    random = scenery.random
    since = run.since + random.randint(2, SECOND)
    while since < run.until:
        scenery.tell(since, run.node, "subscribed", topic=topic)
        told = scenery.chance(0.3)
        until = random.randint(since, run.until) if told else run.until
        if scenery.chance(0.2) and until > since + 2:
            again = random.randint(since + 2, until - 1)
            scenery.tell(again, run.node, "subscribed", topic=topic)
        scenery.members.setdefault((topic, run.node), []).append((since, until))
        for witness in scenery.nodes:
            heard = since + random.randint(2, random.choice((SECOND // 10, 20 * SECOND)))
            if witness != run.node and scenery.running(witness, heard) and scenery.chance(0.7):
                direct = {"direct": True} if scenery.shape.direct and scenery.chance(0.8) else {}
                scenery.tell(
                    heard, witness, "peer_subscribed", topic=topic, peer=run.node, **direct
                )
        if told or run.end == "word":
            scenery.tell(until, run.node, "unsubscribed", topic=topic)
        if not told:
            return
        since = until + random.choice((0, random.randint(2, 60 * SECOND)))


def _tell_sightings(scenery: Scenery) -> None:
    random = scenery.random
    for one in scenery.runs:
        for other in scenery.runs:
            met = max(one.since, other.since) + random.randint(2, SECOND)
            parted = min(one.until, other.until)
            if one.node == other.node or met >= parted or scenery.chance(0.3):
                continue
            scenery.tell(met, one.node, "peer_joined", peer=other.node)
            if scenery.chance(0.5):
                agent = f"agent-{other.node}-{other.number}"
                scenery.tell(met + 2, one.node, "peer_identified", peer=other.node, agent=agent)
            seen = parted + random.randint(-2 * SECOND, 8 * SECOND)
            ended = other.until < one.until and other.end != "open"
            if (ended or scenery.chance(0.1)) and one.has(seen) and scenery.chance(0.8):
                scenery.tell(seen, one.node, "peer_left", peer=other.node)


def _tell_mesh(scenery: Scenery) -> None:
    random, nodes = scenery.random, scenery.nodes
    for (topic, node), stretches in list(scenery.members.items()):
        for since, until in stretches:
            for peer in random.sample(nodes, min(3, len(nodes))):
                if peer == node:
                    continue
                # The same for every graft and prune of a pair: some happen at one time.
                by = ({"by": "us"}, {"by": "peer"}, {})[
                    (nodes.index(node) + 2 * nodes.index(peer)) % 3
                ]
                reason = (None, "leave", "score")[nodes.index(peer) % 3]
                time = random.randint(since, until)
                while time < until:
                    scenery.tell(time, node, "grafted", topic=topic, peer=peer, **by)
                    time += random.randint(2, 120 * SECOND)
                    if time < until and scenery.chance(0.7):
                        scenery.tell(time, node, "pruned", topic=topic, peer=peer, reason=reason)
                        time += random.choice((0, random.randint(2, 60 * SECOND)))
