"""gossipsub: a mesh per topic for whole messages, gossip about the rest.

One duty, one file: :mod:`mesh` (who gets every message), :mod:`fanout` (topics we publish on
without listening), :mod:`gossip` (IHAVE and IWANT), :mod:`message_cache` (what gossip can answer
with), :mod:`backoff` (whom not to ask again yet), :mod:`candidates` and :mod:`features` (who can do
what), :mod:`heartbeat`, :mod:`parameters`, :mod:`extensions` (of 1.3) with
:mod:`probe_extension` and :mod:`partial`; :mod:`router` puts them together.
"""

from rumormill.libp2p.gossipsub.extensions import Extension
from rumormill.libp2p.gossipsub.features import (
    EXTENSIONS,
    FEATURES,
    GOSSIP,
    MESH,
    MESHSUB_1_0,
    MESHSUB_1_3,
    Feature,
    FeatureTable,
)
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.router import GossipsubRouter

__all__ = [
    "EXTENSIONS", "FEATURES", "GOSSIP", "MESH", "MESHSUB_1_0", "MESHSUB_1_3", "Extension",
    "Feature", "FeatureTable", "GossipsubParameters", "GossipsubRouter", "HeartbeatPart",
]  # fmt: skip
