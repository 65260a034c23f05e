"""Gossipsub networks in virtual time, calm or under attack, as the tables that alerts look at."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rumormill.core.trace import TraceEvent
from rumormill.simulate import Link, topology
from tests.helpers.libp2p.pubsub_network import TOPIC, PubsubNetwork, names
from tests.helpers.spark.hand_made import Row, at, minute_of

COPIES = ("delivered", "duplicate")
CONTROL = ("messages", "ihave", "iwant", "idontwant", "graft", "prune")
Trace = list[TraceEvent]


def calm(
    count: int,
    *,
    messages: int = 120,
    publishers: int | None = None,
    degree: int = 10,
    seconds: float = 130.0,
    size: int = 50,
    seed: int = 1,
    during: Callable[[PubsubNetwork, int], None] | None = None,
) -> Trace:
    """Everybody is subscribed, and some publish, evenly over the time."""
    nodes = names(count)
    chance = random.Random(seed)
    few = count <= degree + 1
    pairs = topology.full(nodes) if few else topology.random_regular(nodes, degree, chance)
    network = PubsubNetwork(nodes, pairs, seed=seed, link=Link(latency=0.03, jitter=0.03))
    network.subscribe()
    network.run(5.0)
    speakers = nodes[:publishers] if publishers else nodes
    for number in range(messages):
        if during is not None:
            during(network, number)
        network.publish(speakers[number % len(speakers)], data=b"%d " % number + bytes(size))
        network.run((seconds - 5.0) / messages)
    return [event for event in network.simulation.trace if event.node in set(nodes)]


def withhold(trace: Iterable[TraceEvent], withheld: Callable[[TraceEvent], bool]) -> Trace:
    """The same network if some copies had never come: the next ones are the first, then."""
    had: set[tuple[bytes | None, str]] = set()
    found: Trace = []
    for event in trace:
        if event.event not in COPIES or event.peer is None:
            found.append(event)
        elif not withheld(event):
            place = (event.message_id, event.node)
            found.append(event._replace(event="duplicate" if place in had else "delivered"))
            had.add(place)
    return found


def silver(trace: Sequence[TraceEvent], network: str = "net") -> dict[str, list[Row]]:
    """Tables as alerts want them: nobody leaves here, and each message is published once."""
    return {
        "counters": [{**row, "network": network} for row in _counters(trace)],
        "runs": [{**row, "network": network} for row in _runs(trace)],
        "subscriptions": [
            {"network": network, "topic": event.topic, "node": event.node, "since": at(event.time)}
            for event in trace
            if event.event == "subscribed"
        ],
        "mesh": [{**row, "network": network} for row in _mesh(trace)],
        **{
            name: [{**row, "network": network} for row in rows]
            for name, rows in _messages(trace).items()
        },
    }


def _counters(trace: Sequence[TraceEvent]) -> list[Row]:
    sums: dict[Any, Counter[str]] = defaultdict(Counter)
    times: dict[Any, list[float]] = defaultdict(list)
    for event in trace:
        key = (minute_of(at(event.time)), event.node, event.peer, event.event)
        fields = event.fields
        times[key].append(event.time)
        sums[key]["count"] += int(fields.get("count") or 1)
        sums[key]["bytes"] += int(fields.get("size") or 0)
        if event.event == "dropped":
            sums[key]["lost"] += int(fields.get("count") or 1)
        if event.event == "packet_sent":
            sums[key].update({name: int(fields.get(name) or 0) for name in CONTROL})
    return [
        {
            **dict(zip(("minute", "node", "peer", "event"), key, strict=True)),
            **counts,
            "first_at": at(min(times[key])),
            "last_at": at(max(times[key])),
        }
        for key, counts in sums.items()
    ]


def _runs(trace: Sequence[TraceEvent]) -> list[Row]:
    times: dict[str, list[float]] = defaultdict(list)
    for event in trace:
        times[event.node].append(event.time)
    return [
        {"node": node, "since": at(min(each)), "last_at": at(max(each))}
        for node, each in times.items()
    ]


def _mesh(trace: Sequence[TraceEvent]) -> list[Row]:
    open_links: dict[tuple[str, str], float] = {}
    rows: list[Row] = []

    def end(node: str, peer: str, until: float | None) -> None:
        since = open_links.pop((node, peer), None)
        if since is not None:
            ends = None if until is None else at(until)
            rows.append(
                {"topic": TOPIC, "node": node, "peer": peer, "since": at(since), "until": ends}
            )

    for event in trace:
        if event.peer is None:
            continue
        if event.event == "grafted":
            open_links.setdefault((event.node, event.peer), event.time)
        elif event.event in ("pruned", "peer_left"):
            end(event.node, event.peer, event.time)
    for node, peer in list(open_links):
        end(node, peer, None)
    return rows


def _messages(trace: Sequence[TraceEvent]) -> dict[str, list[Row]]:
    members = {event.node for event in trace if event.event == "subscribed"}
    published = {event.message_id: event for event in trace if event.event == "published"}
    copies: dict[tuple[bytes | None, str], list[TraceEvent]] = defaultdict(list)
    for event in trace:
        if event.event in COPIES and event.peer is not None:
            copies[event.message_id, event.node].append(event)
    deliveries: list[Row] = []
    for message, source in published.items():
        for node in members - {source.node}:
            got = copies[message, node]
            first = got[0] if got else None
            deliveries.append(
                {
                    "topic": TOPIC,
                    "message_id": message,
                    "publisher": source.node,
                    "published_at": at(source.time),
                    "node": node,
                    "expected": True,
                    "first": first is not None,
                    "peer": first.peer if first else None,
                    "time": at(first.time) if first else None,
                    "latency_ms": (first.time - source.time) * 1000 if first else None,
                    "duplicates": max(0, len(got) - 1),
                }
            )
    publications: list[Row] = [
        {"topic": TOPIC, "message_id": message, "publisher": event.node, "time": at(event.time)}
        for message, event in published.items()
    ]
    return {"publications": publications, "deliveries": deliveries}
