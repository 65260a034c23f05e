"""Which peers a gossipsub router may have in a mesh, a fanout or its gossip.

What a peer can do depends on the version that it speaks. A floodsub peer understands no control
messages: it gets every message of its topics, and is never in a mesh.
"""

from __future__ import annotations

from collections.abc import Container

from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.gossipsub.features import MESH, Feature, FeatureTable
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.router import PubsubServices


class Candidates(Part):
    """Sorts the connected peers by what they can do."""

    def __init__(self, pubsub: PubsubServices, features: FeatureTable) -> None:
        self._pubsub = pubsub
        self._features = features
        self._peers: dict[Feature, dict[Peer, None]] = {
            feature: {} for row in features.values() for feature in row
        }
        self.without_mesh: dict[Peer, None] = {}
        """Peers that can be in no mesh. Not to be changed from outside."""

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """A peer is there."""
        features = self._features.get(joined.protocol, frozenset())
        for feature in features:
            self._peers[feature][joined.peer] = None
        if MESH not in features:
            self.without_mesh[joined.peer] = None

    def remove_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone."""
        for peers in self._peers.values():
            peers.pop(peer, None)
        self.without_mesh.pop(peer, None)

    def can(self, peer: Peer, feature: Feature) -> bool:
        """Whether the peer is there and has the feature."""
        return peer in self._peers.get(feature, ())

    def of(self, topic: str, feature: Feature) -> list[Peer]:
        """Peers with the feature that listen to the topic."""
        able = self._peers.get(feature, ())
        return [peer for peer in self._pubsub.subscribers(topic) if peer in able]

    def flooded(self, topic: str) -> list[Peer]:
        """Peers that listen to the topic and can be in no mesh: they get every message."""
        return [peer for peer in self._pubsub.subscribers(topic) if peer in self.without_mesh]

    def sample(
        self, topic: str, feature: Feature, without: Container[Peer], most: int
    ) -> list[Peer]:
        """Up to ``most`` peers :meth:`of` the topic at random, none of them in ``without``."""
        peers = [peer for peer in self.of(topic, feature) if peer not in without]
        return self._pubsub.random.sample(peers, min(most, len(peers)))
