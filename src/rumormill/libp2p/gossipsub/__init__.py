"""gossipsub: a mesh per topic for whole messages, gossip about the rest.

One duty, one file: :mod:`mesh` (who gets every message), :mod:`fanout` (topics we publish on
without listening), :mod:`gossip` (IHAVE and IWANT), :mod:`message_cache` (what gossip can answer
with), :mod:`backoff` (whom not to ask again yet), :mod:`peer_exchange` (whom to ask instead),
:mod:`standing` (what conduct is worth), :mod:`candidates` and :mod:`features` (who can do
what), :mod:`heartbeat`, :mod:`parameters`; :mod:`router` puts them together.
"""

from rumormill.libp2p.gossipsub.features import (
    EXCHANGE,
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

__all__ = [
    "EXCHANGE", "FEATURES", "GOSSIP", "MESH", "MESHSUB_1_0", "MESHSUB_1_1", "MESHSUB_1_2",
    "MESHSUB_1_3", "Feature", "FeatureTable", "GossipsubParameters", "GossipsubRouter",
    "HeartbeatPart",
]  # fmt: skip
