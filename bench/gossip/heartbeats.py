"""What a heartbeat costs a node with a thousand peers and a hundred topics.

A heartbeat is all that is done when it is due: score, mesh, gossip, and the packets that are made
of it. The messages that it tells of are published before it, and are not measured.
"""

from __future__ import annotations

import statistics
import time
from typing import Any, NamedTuple

from bench.gossip.crowd import Crowd
from rumormill.core.machine import Send

Row = dict[str, Any]


class Case(NamedTuple):
    """Who listens to what, and how much is said."""

    name: str
    topics_of_each: int
    """How many of our topics each peer listens to."""
    messages: int
    """Of each topic, from one heartbeat to the next."""


class Size(NamedTuple):
    """How many there are."""

    peers: int
    topics: int


def cases(size: Size) -> tuple[Case, ...]:
    """Nothing to tell; to tell where peers listen to some topics; where all listen to all."""
    some = max(1, size.topics // 10)
    return (
        Case(f"quiet, {some} topics a peer", some, 0),
        Case(f"gossip, {some} topics a peer", some, 1),
        Case("gossip, all topics a peer", size.topics, 1),
    )


def measure(size: Size, case: Case, beats: int) -> Row:
    """The cost of one heartbeat of many, the first ones left out."""
    crowd = Crowd(size.peers, size.topics, case.topics_of_each)
    costs: list[float] = []
    told: list[int] = []
    # Until as many windows of messages are told of as ever are, and the meshes stand.
    warm_up = crowd.router.parameters.mcache_gossip + 1
    for number in range(warm_up + beats):
        _say(crowd, case, number)
        crowd.next_beat()
        begin = time.thread_time_ns()
        effects = crowd.flush()
        cost = time.thread_time_ns() - begin
        if number >= warm_up:
            costs.append(cost / 1e6)
            told.append(sum(isinstance(effect, Send) for effect in effects))
    return {
        "name": case.name,
        "peers": size.peers,
        "topics": size.topics,
        "messages": case.messages,
        "packets": statistics.median(told),
        "ms": {"best": min(costs), "median": statistics.median(costs)},
    }


def _say(crowd: Crowd, case: Case, number: int) -> None:
    for topic in crowd.topics:
        for index in range(case.messages):
            crowd.publish(topic, b"%d %d %s" % (number, index, topic.encode()))
    crowd.flush()
