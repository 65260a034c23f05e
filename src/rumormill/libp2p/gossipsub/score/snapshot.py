"""Scores as others see them: each with all that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.score.parameters import ScoreParameters
from rumormill.libp2p.gossipsub.score.peer_record import PeerRecord
from rumormill.libp2p.gossipsub.score.topic_record import TopicRecord


@dataclass(frozen=True, slots=True)
class TopicScore:
    """What a peer's conduct on one topic is worth: points, with the topic's weight in them."""

    total: float
    time_in_mesh: float
    """P1."""
    first_deliveries: float
    """P2."""
    mesh_deliveries: float
    """P3."""
    mesh_failures: float
    """P3b."""
    invalid_messages: float
    """P4."""
    in_mesh: bool


@dataclass(frozen=True, slots=True)
class PeerScore:
    """A peer's score, and what it is made of: ``topics_total`` and the four below it."""

    peer: Peer
    total: float
    topics: Mapping[str, TopicScore]
    topics_total: float
    """Of all topics, after ``topic_score_cap``."""
    application: float
    """P5."""
    colocation: float
    """P6."""
    behaviour: float
    """P7."""
    slow: float
    connected: bool
    """False for one that left, and whose score is kept."""


def topic_score(record: TopicRecord) -> TopicScore:
    """What the record of a topic says."""
    points = record.points()
    return TopicScore(sum(points), *points, record.in_mesh)


def peer_score(record: PeerRecord, parameters: ScoreParameters, connected: bool) -> PeerScore:
    """What the record of a peer says."""
    topics = {topic: topic_score(each) for topic, each in record.topics.items()}
    topics_total = sum(each.total for each in topics.values())
    if parameters.topic_score_cap:
        topics_total = min(topics_total, parameters.topic_score_cap)
    others = (
        record.application_points(parameters),
        record.colocation_points(parameters),
        record.behaviour_points(parameters),
        record.slow_points(parameters),
    )
    total = topics_total + sum(others)
    return PeerScore(record.peer, total, topics, topics_total, *others, connected)
