"""Fanout: whom to send to on topics that we publish on without listening."""

from __future__ import annotations

from collections.abc import Iterable

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.features import MESH
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters


class Fanout(HeartbeatPart):
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

    def would_choose(self, topic: str) -> Iterable[Peer]:
        """The peers for a message that we might publish, or some that could be chosen for it."""
        return self._peers.get(topic) or self._candidates.of(topic, MESH)[: self._parameters.D]

    def sizes(self) -> dict[str, int]:
        """How many topics and peers there are."""
        return {"fanout": sum(1 + len(peers) for peers in self._peers.values())}

    def choose(self, topic: str, now: float) -> dict[Peer, None]:
        """The peers for a message that we publish now; chosen if there are none yet."""
        peers = self._peers.get(topic)
        if not peers:
            chosen = self._candidates.sample(topic, MESH, {}, self._parameters.D)
            if not chosen:
                return _NOBODY
            peers = self._peers[topic] = dict.fromkeys(chosen)
        self._published[topic] = now
        return peers

    def take(self, topic: str) -> list[Peer]:
        """Give the topic's peers away: we begin to listen, and they come into the mesh."""
        self._published.pop(topic, None)
        return list(self._peers.pop(topic, {}))

    def remove_peer(self, peer: Peer, now: float) -> None:
        """The peer is gone."""
        for peers in self._peers.values():
            peers.pop(peer, None)

    def peer_unsubscribed(self, peer: Peer, topic: str, now: float) -> None:
        """The peer no longer listens."""
        self._peers.get(topic, {}).pop(peer, None)

    def heartbeat(self, now: float) -> None:
        """Forget topics that we no longer publish on; fill the others up to ``D``."""
        for topic in list(self._peers):
            if now - self._published[topic] > self._parameters.fanout_ttl:
                self.take(topic)
                continue
            peers = self._peers[topic]
            missing = self._parameters.D - len(peers)
            if missing > 0:
                more = self._candidates.sample(topic, MESH, peers, missing)
                peers.update(dict.fromkeys(more))


_NOBODY: dict[Peer, None] = {}
