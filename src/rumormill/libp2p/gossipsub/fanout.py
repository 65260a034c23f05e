"""Fanout: whom to send to on topics that we publish on without listening."""

from __future__ import annotations

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters


class Fanout:
    """Remembers, for a while, the peers that our messages on a topic went to."""

    def __init__(self, parameters: GossipsubParameters, candidates: Candidates) -> None:
        self._parameters = parameters
        self._candidates = candidates
        self._peers: dict[str, dict[Peer, None]] = {}
        self._published: dict[str, float] = {}

    def topics(self) -> tuple[str, ...]:
        """The topics that have a fanout."""
        return tuple(self._peers)

    def peers(self, topic: str) -> dict[Peer, None]:
        """The topic's fanout as it stands. Not to be changed."""
        return self._peers.get(topic, _NOBODY)

    def choose(self, topic: str, now: float) -> dict[Peer, None]:
        """The peers for a message that we publish now; chosen if there are none yet."""
        peers = self._peers.get(topic)
        if not peers:
            chosen = self._candidates.sample(topic, {}, self._parameters.D)
            if not chosen:
                return _NOBODY
            peers = self._peers[topic] = dict.fromkeys(chosen)
        self._published[topic] = now
        return peers

    def take(self, topic: str) -> list[Peer]:
        """Give the topic's peers away: we begin to listen, and they come into the mesh."""
        self._published.pop(topic, None)
        return list(self._peers.pop(topic, {}))

    def remove_peer(self, peer: Peer) -> None:
        """The peer is gone."""
        for peers in self._peers.values():
            peers.pop(peer, None)

    def unsubscribed(self, topic: str, peer: Peer) -> None:
        """The peer no longer listens."""
        self._peers.get(topic, {}).pop(peer, None)

    def maintain(self, now: float) -> None:
        """Forget topics that we no longer publish on; fill the others up to ``D``."""
        for topic in list(self._peers):
            if now - self._published[topic] > self._parameters.fanout_ttl:
                self.take(topic)
                continue
            peers = self._peers[topic]
            missing = self._parameters.D - len(peers)
            if missing > 0:
                peers.update(dict.fromkeys(self._candidates.sample(topic, peers, missing)))


_NOBODY: dict[Peer, None] = {}
