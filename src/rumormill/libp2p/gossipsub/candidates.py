"""Which peers a gossipsub router may have in a mesh, a fanout or its gossip.

A floodsub peer understands no control messages: it gets every message of its topics, and is never
in a mesh.
"""

from __future__ import annotations

from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.floodsub import FLOODSUB
from rumormill.libp2p.pubsub.router import PubsubServices


class Candidates:
    """Sorts the connected peers by what they speak."""

    def __init__(self, pubsub: PubsubServices) -> None:
        self._pubsub = pubsub
        self._meshable: dict[Peer, None] = {}
        self._floodsub: dict[Peer, None] = {}

    def add(self, peer: Peer, protocol: str) -> None:
        """A peer is there."""
        (self._floodsub if protocol == FLOODSUB else self._meshable)[peer] = None

    def remove(self, peer: Peer) -> None:
        """A peer is gone."""
        self._meshable.pop(peer, None)
        self._floodsub.pop(peer, None)

    def meshable(self, peer: Peer) -> bool:
        """Whether the peer speaks gossipsub."""
        return peer in self._meshable

    def of(self, topic: str) -> list[Peer]:
        """gossipsub peers that listen to the topic."""
        return [peer for peer in self._pubsub.subscribers(topic) if peer in self._meshable]

    def floodsub_of(self, topic: str) -> list[Peer]:
        """floodsub peers that listen to the topic."""
        if not self._floodsub:
            return []
        return [peer for peer in self._pubsub.subscribers(topic) if peer in self._floodsub]

    def sample(self, topic: str, without: dict[Peer, None], most: int) -> list[Peer]:
        """Up to ``most`` gossipsub peers of the topic at random, none of them in ``without``."""
        peers = [peer for peer in self.of(topic) if peer not in without]
        return self._pubsub.random.sample(peers, min(most, len(peers)))
