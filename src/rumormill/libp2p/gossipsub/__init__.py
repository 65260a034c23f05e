"""gossipsub: a mesh per topic for whole messages, gossip about the rest.

One duty, one file: :mod:`mesh` (who gets every message), :mod:`grafting` (what peers say to it),
:mod:`upkeep` (what the heartbeat does to it), :mod:`fanout` (topics we publish on without
listening), :mod:`direct` (peers that get everything), :mod:`targets` (who gets a message of all
these), :mod:`gossip` (IHAVE and IWANT), :mod:`promises` (who told of a message must send it),
:mod:`dont_want` (who has it already), :mod:`message_cache` (what gossip can answer with),
:mod:`backoff` (whom not to ask again yet), :mod:`peer_exchange` (whom to ask instead) and
:mod:`leads` (who is dialed of them), :mod:`standing` (what a peer's conduct is worth),
:mod:`score` (how it is counted), :mod:`slow_peers`, :mod:`gater` (whose messages are read when
there are too many), :mod:`candidates` and :mod:`features` (who can do what), :mod:`heartbeat`,
:mod:`parameters` and :mod:`degrees`, :mod:`extensions` (of 1.3) with :mod:`probe_extension` and
:mod:`partial`; :mod:`router` puts them together.
"""

from rumormill.libp2p.gossipsub.degrees import TopicMesh
from rumormill.libp2p.gossipsub.direct import AddDirectPeer, RemoveDirectPeer
from rumormill.libp2p.gossipsub.extensions import Extension
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
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.router import GossipsubRouter
from rumormill.libp2p.gossipsub.standing import Standing, Thresholds

__all__ = [
    "DONT_WANT", "EXCHANGE", "EXTENSIONS", "FEATURES", "GOSSIP", "MESH", "MESHSUB_1_0",
    "MESHSUB_1_1", "MESHSUB_1_2", "MESHSUB_1_3", "AddDirectPeer", "Extension", "Feature",
    "FeatureTable", "GossipsubParameters", "GossipsubRouter", "HeartbeatPart", "RemoveDirectPeer",
    "Standing", "Thresholds", "TopicMesh",
]  # fmt: skip
