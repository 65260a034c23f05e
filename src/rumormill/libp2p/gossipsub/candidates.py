"""Which peers a gossipsub router may have in a mesh, a fanout or its gossip.

What a peer can do depends on the version that it speaks. A floodsub peer understands no control
messages: it gets every message of its topics, and is never in a mesh.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.gossipsub.features import MESH, Feature, FeatureTable
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.router import PubsubServices


class Candidates(Part):
    """Sorts the connected peers by what they can do, and by who dialed whom."""

    def __init__(self, pubsub: PubsubServices, features: FeatureTable) -> None:
        self._pubsub = pubsub
        self._features = features
        self._able: dict[Feature, dict[Peer, None]] = {
            feature: {} for row in features.values() for feature in row
        }
        self.peers: dict[Peer, None] = {}
        """All that are there. Not to be changed from outside, like the next two."""
        self.without_mesh: dict[Peer, None] = {}
        """Peers that can be in no mesh."""
        self.outbound: dict[Peer, None] = {}
        """Peers that we dialed: nobody chose them but we."""

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """A peer is there."""
        peer = joined.peer
        self.peers[peer] = None
        features = self._features.get(joined.protocol, frozenset())
        for feature in features:
            self._able[feature][peer] = None
        if MESH not in features:
            self.without_mesh[peer] = None
        if joined.outbound:
            self.outbound[peer] = None

    def remove_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone."""
        for peers in (*self._able.values(), self.peers, self.without_mesh, self.outbound):
            peers.pop(peer, None)

    def can(self, peer: Peer, feature: Feature) -> bool:
        """Whether the peer is there and has the feature."""
        return peer in self._able.get(feature, ())

    def able(self, feature: Feature) -> Mapping[Peer, None]:
        """All peers with the feature."""
        return self._able.get(feature, _NOBODY)

    def of(self, topic: str, feature: Feature) -> list[Peer]:
        """Peers with the feature that listen to the topic."""
        able = self._able.get(feature, _NOBODY)
        return [peer for peer in self._pubsub.subscribers(topic) if peer in able]

    def flooded(self, topic: str) -> list[Peer]:
        """Peers that listen to the topic and can be in no mesh: they get every message."""
        return [peer for peer in self._pubsub.subscribers(topic) if peer in self.without_mesh]

    def draw(self, topic: str, most: int, allowed: Callable[[Peer], bool]) -> list[Peer]:
        """Up to ``most`` listeners of the topic at random, of those that are ``allowed``."""
        return self.draw_of(list(self._pubsub.subscribers(topic)), most, allowed)

    def draw_of(self, peers: list[Peer], most: int, allowed: Callable[[Peer], bool]) -> list[Peer]:
        """Up to ``most`` of ``peers`` at random, of those that are ``allowed``; spoils the list.

        One is looked at after the other until there are enough: of a thousand listeners, few are.
        """
        chosen: list[Peer] = []
        source, left = self._pubsub.random.random, len(peers)
        while left and len(chosen) < most:
            at = int(source() * left)
            left -= 1
            peer, peers[at] = peers[at], peers[left]
            if allowed(peer):
                chosen.append(peer)
        return chosen


_NOBODY: dict[Peer, None] = {}
