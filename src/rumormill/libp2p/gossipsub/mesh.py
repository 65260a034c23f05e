"""The mesh: for each topic that we listen to, the peers that get every message from us."""

from __future__ import annotations

import math

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.backoff import Backoffs
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.fanout import Fanout
from rumormill.libp2p.gossipsub.features import MESH
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.peer_exchange import PeerExchange
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.gossip import GRAFT, PRUNE, Graft, Prune


class Mesh(HeartbeatPart):
    """Keeps each topic's mesh between ``D_low`` and ``D_high`` peers."""

    def __init__(
        self,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        candidates: Candidates,
        fanout: Fanout,
        exchange: PeerExchange,
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._candidates = candidates
        self._fanout = fanout
        self._exchange = exchange
        self._peers: dict[str, dict[Peer, None]] = {}
        self.backoffs = Backoffs(slack=2 * parameters.heartbeat_interval)
        pubsub.on_control(GRAFT, self.handle_grafts)
        pubsub.on_control(PRUNE, self.handle_prunes)

    def topics(self) -> tuple[str, ...]:
        """The topics that have a mesh: those we listen to."""
        return tuple(self._peers)

    def peers(self, topic: str) -> dict[Peer, None]:
        """The topic's mesh; empty if we do not listen. Not to be changed."""
        return self._peers.get(topic, _NOBODY)

    # ---- joining and leaving

    def sizes(self) -> dict[str, int]:
        """How many pairs of topic and peer there are, together and apart."""
        return {"mesh": sum(map(len, self._peers.values())), "backoffs": len(self.backoffs)}

    def join(self, topic: str, now: float) -> None:
        """JOIN: the fanout becomes the mesh, filled up to ``D``."""
        self._peers[topic] = {}
        for peer in self._fanout.take(topic)[: self._parameters.D]:
            if not self.backoffs.too_early(topic, peer, now):
                self._graft(topic, peer, "join")
        self._fill(topic, "join", now)

    def leave(self, topic: str, quietly: bool, now: float) -> None:
        """LEAVE: give the mesh up, and PRUNE its peers.

        A node that shuts down does not: they would keep it out when it is back in a moment.
        """
        for peer in self._peers.pop(topic, {}):
            self._pubsub.emit(trace.PRUNED, topic, peer=peer, by="us", reason="leave")
            if not quietly:
                self._prune(topic, peer, self._parameters.unsubscribe_backoff, now)

    def remove_peer(self, peer: Peer, now: float) -> None:
        """The peer is gone: out of every mesh, without a word to it."""
        for topic, peers in self._peers.items():
            if peer in peers:
                self._remove(topic, peer, "peer", "left")

    def renew_peer(self, peer: Peer) -> None:
        """Say GRAFT again in every mesh that the peer is in."""
        for topic, peers in self._peers.items():
            if peer in peers:
                self._pubsub.outbox.control(peer, Graft(topic))

    def peer_subscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer began to listen: take it in at once if there is room."""
        if (
            self._parameters.graft_on_subscribe
            and topic in self._peers
            and len(self._peers[topic]) < self._parameters.D
            and self._candidates.can(peer, MESH)
            and not self.backoffs.too_early(topic, peer, now)
        ):
            self._graft(topic, peer, "subscribed")

    def peer_unsubscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer no longer listens."""
        if peer in self.peers(topic):
            self._remove(topic, peer, "peer", "unsubscribed")

    # ---- what peers say

    def handle_grafts(self, peer: Peer, grafts: tuple[Graft, ...], now: float) -> None:
        """The peer took us into its meshes; take it into ours, or say no."""
        topics = dict.fromkeys(graft.topic for graft in grafts)
        unknown = [topic for topic in topics if topic not in self._peers]
        if unknown:
            # As one, with the first of them: a peer may name five thousand at once.
            reason, count = "graft_unknown_topic", len(unknown)
            self._pubsub.emit(trace.IGNORED, unknown[0], peer=peer, reason=reason, count=count)
            if self._parameters.answer_unknown_graft:
                for topic in unknown:
                    self._pubsub.outbox.control(peer, Prune(topic))
        for topic in topics:
            if topic in self._peers:
                self._handle_graft(peer, topic, now)

    def _handle_graft(self, peer: Peer, topic: str, now: float) -> None:
        peers = self._peers[topic]
        if not self._candidates.can(peer, MESH):
            self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason="graft_from_floodsub_peer")
        elif self.backoffs.active(topic, peer, now):
            self._pubsub.emit(trace.REJECTED, topic, peer=peer, reason="graft_in_backoff")
            self._prune(topic, peer, self._parameters.prune_backoff, now, exchange=False)
        elif peer not in peers:
            self._pubsub.assume_subscribed(peer, topic)
            peers[peer] = None
            self._pubsub.emit(trace.GRAFTED, topic, peer=peer, by="peer")

    def handle_prunes(self, peer: Peer, prunes: tuple[Prune, ...], now: float) -> None:
        """The peer took us out of meshes; take it out of ours, and leave it alone for a while."""
        for prune in prunes:
            self._handle_prune(peer, prune, now)

    def _handle_prune(self, peer: Peer, prune: Prune, now: float) -> None:
        if prune.peers:
            self._exchange.named_by(peer, prune.topic, prune.peers, now)
        if prune.topic not in self._peers:
            return
        backoff = prune.backoff or self._backoff_of(peer, prune.topic)
        self.backoffs.add(prune.topic, peer, backoff, now)
        if peer in self._peers[prune.topic]:
            self._remove(prune.topic, peer, "peer", "pruned")

    def _backoff_of(self, peer: Peer, topic: str) -> float:
        """How long a peer that pruned us without a number will itself keep away."""
        if peer in self._pubsub.subscribers(topic):
            return self._parameters.prune_backoff
        return self._parameters.unsubscribe_backoff  # it left the topic, and said so before

    # ---- the heartbeat

    def heartbeat(self, now: float) -> None:
        """Bring every mesh back to ``D`` peers that has too few or too many."""
        self.backoffs.expire(now)
        for topic, peers in self._peers.items():
            if len(peers) < self._parameters.D_low:
                self._fill(topic, "too_few", now)
            elif len(peers) > self._parameters.D_high:
                surplus = len(peers) - self._parameters.D
                for peer in self._pubsub.random.sample(list(peers), surplus):
                    self._remove(topic, peer, "us", "too_many")
                    self._prune(topic, peer, self._parameters.prune_backoff, now)

    def _fill(self, topic: str, reason: str, now: float) -> None:
        peers = self._peers[topic]
        allowed = [
            peer
            for peer in self._candidates.of(topic, MESH)
            if peer not in peers and not self.backoffs.too_early(topic, peer, now)
        ]
        wanted = max(0, min(self._parameters.D - len(peers), len(allowed)))
        for peer in self._pubsub.random.sample(allowed, wanted):
            self._graft(topic, peer, reason)

    def _graft(self, topic: str, peer: Peer, reason: str) -> None:
        self._peers[topic][peer] = None
        self._pubsub.outbox.control(peer, Graft(topic))
        self._pubsub.emit(trace.GRAFTED, topic, peer=peer, by="us", reason=reason)

    def _prune(
        self, topic: str, peer: Peer, backoff: float, now: float, *, exchange: bool = True
    ) -> None:
        """Tell a peer to stay away, and for how long, and do so ourselves; with ``exchange``, tell
        it who else is there.

        Without the number it would assume its own, a minute as a rule, and punish us for coming
        back earlier. go, rust and js heed it in every version; 1.0 itself does not know the field.
        """
        seconds = math.ceil(backoff)
        self.backoffs.add(topic, peer, seconds, now)
        peers = self._exchange.named_to(peer, topic) if exchange else ()
        self._pubsub.outbox.control(peer, Prune(topic, seconds, peers))

    def _remove(self, topic: str, peer: Peer, by: str, reason: str) -> None:
        del self._peers[topic][peer]
        self._pubsub.emit(trace.PRUNED, topic, peer=peer, by=by, reason=reason)


_NOBODY: dict[Peer, None] = {}
