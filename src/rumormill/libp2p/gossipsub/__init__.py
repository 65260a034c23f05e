"""gossipsub: a mesh per topic for whole messages, gossip about the rest.

One duty, one file; by rooms: :mod:`mesh` (who gets every message, and the fanout), :mod:`gossip`
(IHAVE, IWANT, IDONTWANT), :mod:`exchange` (whom to ask instead of us), :mod:`extensions` (of 1.3)
and :mod:`partial`, :mod:`score` (how conduct is counted), :mod:`defence` (slow peers, the gater).
Beside them: :mod:`router`, which puts the parts together, :mod:`targets` (who gets a message),
:mod:`direct` (peers that get everything), :mod:`standing` (what a peer's conduct is worth),
:mod:`candidates` and :mod:`features` (who can do what), :mod:`heartbeat` and :mod:`parameters`.
"""

from rumormill.libp2p.gossipsub.direct import AddDirectPeer, RemoveDirectPeer
from rumormill.libp2p.gossipsub.extensions.extensions import Extension
from rumormill.libp2p.gossipsub.features import (
    DONT_WANT,
    EXCHANGE,
    EXTENSIONS,
    FEATURES,
    GOSSIP,
    MESH,
    MESHSUB_1_0,
    MESHSUB_1_1,
    MESHSUB_1_2,
    MESHSUB_1_3,
    Feature,
    FeatureTable,
)
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.mesh.degrees import TopicMesh
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.router import GossipsubRouter
from rumormill.libp2p.gossipsub.standing import Standing, Thresholds

__all__ = [
    "DONT_WANT", "EXCHANGE", "EXTENSIONS", "FEATURES", "GOSSIP", "MESH", "MESHSUB_1_0",
    "MESHSUB_1_1", "MESHSUB_1_2", "MESHSUB_1_3", "AddDirectPeer", "Extension", "Feature",
    "FeatureTable", "GossipsubParameters", "GossipsubRouter", "HeartbeatPart", "RemoveDirectPeer",
    "Standing", "Thresholds", "TopicMesh",
]  # fmt: skip
