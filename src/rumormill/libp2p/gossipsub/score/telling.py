"""Which changes of a score are worth a trace event, and what it says."""

from __future__ import annotations

from rumormill.core.trace import type_of_field
from rumormill.libp2p.gossipsub.score.parameters import ScoreParameters
from rumormill.libp2p.gossipsub.score.peer_record import PeerRecord
from rumormill.libp2p.gossipsub.score.topic_record import TopicPoints
from rumormill.libp2p.gossipsub.standing import Thresholds

NOTICEABLE = 1.0
"""Points that a score must have moved to be told of, unless it crossed a threshold."""
NOTICEABLE_SHARE = 0.1
"""And of a large one this share: what decays from -1000 is not told of every second."""


def level(score: float, thresholds: Thresholds) -> str:
    """How a peer with this score is treated.

    >>> level(-11.0, Thresholds())
    'no_gossip'
    """
    if score < thresholds.graylist:
        return "graylisted"
    if score < thresholds.publish:
        return "no_publish"
    if score < thresholds.gossip:
        return "no_gossip"
    return "no_mesh" if score < 0 else "trusted"


def worth_telling(record: PeerRecord, thresholds: Thresholds) -> bool:
    """Whether the score moved noticeably since it was told, or the peer is treated differently."""
    score, told = record.total, record.told
    if score == told and not record.reasons:
        return False
    if record.reasons or abs(score - told) >= max(NOTICEABLE, NOTICEABLE_SHARE * abs(told)):
        return True
    return level(score, thresholds) != level(told, thresholds)


def change(record: PeerRecord, parameters: ScoreParameters) -> dict[str, type_of_field]:
    """The fields of the event: the score, what it was, how the peer is treated now, its parts."""
    points = [each.points() for each in record.topics.values()]
    topics = TopicPoints(*map(sum, zip(*points, strict=True))) if points else TopicPoints()
    fields: dict[str, type_of_field] = {
        "score": round(record.total, 3),
        "before": round(record.told, 3),
        "level": level(record.total, parameters.thresholds),
        "time_in_mesh": round(topics.time_in_mesh, 3),
        "first_deliveries": round(topics.first_deliveries, 3),
        "mesh_deliveries": round(topics.mesh_deliveries, 3),
        "mesh_failures": round(topics.mesh_failures, 3),
        "invalid_messages": round(topics.invalid_messages, 3),
        "application": round(record.application_points(parameters), 3),
        "colocation": round(record.colocation_points(parameters), 3),
        "behaviour": round(record.behaviour_points(parameters), 3),
        "slow": round(record.slow_points(parameters), 3),
    }
    if record.reasons:
        fields["reasons"] = ", ".join(f"{why} {count}" for why, count in record.reasons.items())
    return fields
