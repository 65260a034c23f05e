"""The peer score of gossipsub 1.1: what a peer's conduct is worth to us, and to nobody else.

One duty, one file: :mod:`score` (hears what happens), :mod:`peer_book` and :mod:`retained` (who is
known), :mod:`peer_record` and :mod:`topic_record` (what is counted, and what it is worth),
:mod:`topics` (which of them matter), :mod:`deliveries` (who brought messages, which were bad),
:mod:`neighbours` (shared addresses), :mod:`decay`, :mod:`telling` (trace events), :mod:`snapshot`
(what others see); :mod:`parameters`, :mod:`topic_parameters`, :mod:`tables` and :mod:`setting`
(what users write), :mod:`advice` (what they might write).
"""

from rumormill.libp2p.gossipsub.score.advice import Advice
from rumormill.libp2p.gossipsub.score.decay import decay_within
from rumormill.libp2p.gossipsub.score.parameters import (
    DEFAULT_SCORE,
    Behaviour,
    Colocation,
    ScoreParameters,
    SlowPeers,
)
from rumormill.libp2p.gossipsub.score.score import Score
from rumormill.libp2p.gossipsub.score.snapshot import PeerScore, TopicScore
from rumormill.libp2p.gossipsub.score.topic_parameters import (
    FirstDeliveries,
    InvalidMessages,
    MeshDeliveries,
    MeshFailures,
    TimeInMesh,
    TopicScoreParameters,
)
from rumormill.libp2p.gossipsub.standing import Thresholds

__all__ = [
    "DEFAULT_SCORE", "Advice", "Behaviour", "Colocation", "FirstDeliveries", "InvalidMessages",
    "MeshDeliveries", "MeshFailures", "PeerScore", "Score", "ScoreParameters", "SlowPeers",
    "Thresholds", "TimeInMesh", "TopicScore", "TopicScoreParameters", "decay_within",
]  # fmt: skip
