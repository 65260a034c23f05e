"""Fanout: whom to send to on topics that we publish on without listening."""

from __future__ import annotations

from collections.abc import Iterable

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.direct import DirectPeers
from rumormill.libp2p.gossipsub.features import MESH
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.standing import Standing


class Fanout(HeartbeatPart):
    """Remembers, for a while, the peers that our messages on a topic went to."""

    def __init__(
        self,
        *,
        parameters: GossipsubParameters,
        candidates: Candidates,
        direct: DirectPeers,
        standing: Standing,
    ) -> None:
        self._ttl = parameters.fanout_ttl
        self._degrees = parameters.degrees
        self._candidates = candidates
        self._direct = direct
        self._standing = standing
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
        return self._peers.get(topic) or self.worthy(topic)

    def worthy(self, topic: str) -> list[Peer]:
        """The first ``D`` listeners of the topic that may be chosen."""
        peers = [peer for peer in self._candidates.of(topic, MESH) if self._is_worthy(peer)]
        return peers[: self._degrees.of(topic).D]

    def _is_worthy(self, peer: Peer) -> bool:
        """Whether the peer may be chosen; direct peers get everything anyway."""
        return (
            self._candidates.can(peer, MESH)
            and peer not in self._direct
            and self._standing.of(peer) >= self._standing.thresholds.publish
        )

    def sizes(self) -> dict[str, int]:
        """How many topics and peers there are."""
        return {"fanout": sum(1 + len(peers) for peers in self._peers.values())}

    def choose(self, topic: str, now: float) -> dict[Peer, None]:
        """The peers for a message that we publish now; chosen if there are none yet."""
        peers = self._peers.get(topic)
        if not peers:
            chosen = self._candidates.draw(topic, self._degrees.of(topic).D, self._is_worthy)
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
            if now - self._published[topic] > self._ttl:
                self.take(topic)
                continue
            self._mend(topic, self._peers[topic])

    def _mend(self, topic: str, peers: dict[Peer, None]) -> None:
        """Those that are no longer worth it go, others come in."""
        for peer in [each for each in peers if not self._is_worthy(each)]:
            del peers[peer]
        missing = self._degrees.of(topic).D - len(peers)
        more = self._candidates.draw(
            topic, missing, lambda peer: peer not in peers and self._is_worthy(peer)
        )
        peers.update(dict.fromkeys(more))


_NOBODY: dict[Peer, None] = {}
