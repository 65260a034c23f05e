"""Gossipsub networks in virtual time, calm or under attack, and their traces as bronze has them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa

from rumormill.core.trace import TraceEvent
from rumormill.libp2p.gossipsub.score import ScoreParameters
from rumormill.libp2p.gossipsub.score.topic_parameters import TopicScoreParameters
from rumormill.simulate import Link, topology
from tests.helpers.libp2p.pubsub_network import TOPIC, PubsubNetwork, names
from tests.helpers.second_opinion.oracle import TRACE
from tests.helpers.spark.trace_lines import at

COPIES = ("delivered", "duplicate")
OF_AN_EVENT = ("node", "event", "topic", "message_id", "peer")
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
    scored: bool = False,
    during: Callable[[PubsubNetwork, int], None] | None = None,
) -> Trace:
    """Everybody is subscribed, and some publish, evenly over the time.

    ``scored``: nodes expect of their peers what is advised for this rate (P3).
    """
    nodes = names(count)
    chance = random.Random(seed)
    few = count <= degree + 1
    pairs = topology.full(nodes) if few else topology.random_regular(nodes, degree, chance)
    topic = TopicScoreParameters.for_rate(messages / seconds, steady=True).parameters
    network = PubsubNetwork(
        nodes, pairs, seed=seed, link=Link(latency=0.03, jitter=0.03),
        score=ScoreParameters(topics={TOPIC: topic}) if scored else None,
    )  # fmt: skip
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


def captured(traces: Mapping[str, Trace]) -> pa.Table:
    """Traces by the names of their networks, as rows of bronze."""
    columns: dict[str, list[Any]] = {name: [] for name in TRACE.names}
    for network, trace in traces.items():
        for event in trace:
            fields = dict(event.fields)
            row: dict[str, Any] = {name: fields.pop(name, None) for name in TRACE.names}
            row |= {"time": at(event.time).replace(tzinfo=None), "network": network}
            row |= {name: getattr(event, name) for name in OF_AN_EVENT}
            row["fields"] = json.dumps(fields) if fields else None
            for name, value in row.items():
                columns[name].append(value)
    return pa.table(columns, TRACE)
