"""Who gets a message: the mesh, floodsub and direct peers, and for our own some others too."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.direct import DirectPeers
from rumormill.libp2p.gossipsub.mesh.fanout import Fanout
from rumormill.libp2p.gossipsub.mesh.mesh import Mesh
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices


class Targets:
    """Chooses for one topic; asked for every message, so the common case is a plain look-up."""

    def __init__(
        self,
        *,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        candidates: Candidates,
        direct: DirectPeers,
        standing: Standing,
        mesh: Mesh,
        fanout: Fanout,
    ) -> None:
        self._pubsub = pubsub
        self._flood = parameters.flood_publish
        self._candidates = candidates
        self._direct = direct
        self._standing = standing
        self._mesh_of = mesh.peers
        self._fanout = fanout
        self.spared: Mapping[str, Container[Peer]] = {}
        """By topic, peers that get parts of messages and so no whole ones."""

    def of(self, topic: str, own: bool, now: float) -> Iterable[Peer]:
        """Whom to send a message of the topic: its mesh; on topics we are not in, the fanout.

        With an empty mesh our own message would be lost though peers listen: it goes to some of
        them all the same. With ``flood_publish`` it goes to all that are worth it.
        """
        if topic in self.spared:
            return self._without_spared(topic, self.of_whole_messages(topic, now, own=own))
        return self.of_whole_messages(topic, now, own=own)

    def of_whole_messages(self, topic: str, now: float, *, own: bool = True) -> Iterable[Peer]:
        """The same, if nobody wanted messages in parts."""
        if own and self._flood:
            return self._worthy(topic)
        peers: Iterable[Peer] = self._mesh_of(topic)
        if own and not peers:
            if self._pubsub.joined(topic):
                peers = self._fanout.worthy(topic)
            else:
                peers = self._fanout.choose(topic, now)
        if self._candidates.without_mesh or self._direct.addresses:
            return self._with_others(topic, peers)
        return peers

    def would_be(self, topic: str) -> Iterable[Peer]:
        """Whom a message of ours would go to, without choosing anybody."""
        if topic in self.spared:
            return self._without_spared(topic, self._would_be(topic))
        return self._would_be(topic)

    def _would_be(self, topic: str) -> Iterable[Peer]:
        if self._flood:
            return self._worthy(topic)
        peers: Iterable[Peer] = self._mesh_of(topic)
        if not peers:
            if self._pubsub.joined(topic):
                peers = self._fanout.worthy(topic)
            else:
                peers = self._fanout.would_choose(topic)
        return self._with_others(topic, peers)

    def _without_spared(self, topic: str, peers: Iterable[Peer]) -> list[Peer]:
        spared = self.spared[topic]
        return [peer for peer in peers if peer not in spared]

    def _with_others(self, topic: str, peers: Iterable[Peer]) -> list[Peer]:
        """Besides ``peers``, those that get every message of the topic, mesh or not."""
        least, of = self._standing.thresholds.publish, self._standing.of
        flooded = [
            peer
            for peer in self._candidates.flooded(topic)
            if of(peer) >= least and peer not in self._direct
        ]
        return [*self._direct.listening(topic), *flooded, *peers]

    def _worthy(self, topic: str) -> list[Peer]:
        """All that listen and have not misbehaved too badly."""
        least, of, direct = self._standing.thresholds.publish, self._standing.of, self._direct
        return [
            peer for peer in self._pubsub.subscribers(topic) if of(peer) >= least or peer in direct
        ]
