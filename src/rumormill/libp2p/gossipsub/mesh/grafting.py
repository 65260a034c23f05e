"""What peers say to our meshes: GRAFT, which is taken or refused, and PRUNE."""

from __future__ import annotations

import math

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.direct import DirectPeers
from rumormill.libp2p.gossipsub.exchange.peer_exchange import PeerExchange
from rumormill.libp2p.gossipsub.features import MESH
from rumormill.libp2p.gossipsub.mesh.mesh import Mesh
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.gossip import GRAFT, PRUNE, Graft, Prune


class Grafting:
    """Answers GRAFT, and heeds PRUNE."""

    def __init__(
        self,
        *,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        candidates: Candidates,
        direct: DirectPeers,
        standing: Standing,
        mesh: Mesh,
        exchange: PeerExchange,
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._degrees = parameters.degrees
        self._candidates = candidates
        self._direct = direct
        self._standing = standing
        self._mesh = mesh
        self._exchange = exchange
        pubsub.on_control(GRAFT, self.handle_grafts)
        pubsub.on_control(PRUNE, self.handle_prunes)

    # ---- GRAFT

    def handle_grafts(self, peer: Peer, grafts: tuple[Graft, ...], now: float) -> None:
        """The peer took us into its meshes; take it into ours, or say no."""
        topics = dict.fromkeys(graft.topic for graft in grafts)
        unknown = [topic for topic in topics if topic not in self._mesh]
        if unknown:
            self._ignore_unknown(peer, unknown)
        if not self._candidates.can(peer, MESH):
            for topic in topics:
                self._ignore(peer, topic, "graft_from_floodsub_peer")
            return
        for topic in topics:
            if topic in self._mesh and peer not in self._mesh.peers(topic):
                # Who asks for topics that we are not in may be looking for peers.
                self._handle_graft(peer, topic, now, exchange=not unknown)

    def _ignore_unknown(self, peer: Peer, unknown: list[str]) -> None:
        # As one, with the first of them: a peer may name five thousand at once.
        reason, count = "graft_unknown_topic", len(unknown)
        self._pubsub.emit(trace.IGNORED, unknown[0], peer=peer, reason=reason, count=count)
        if self._parameters.answer_unknown_graft:
            for topic in unknown:
                self._pubsub.outbox.control(peer, Prune(topic))

    def _ignore(self, peer: Peer, topic: str, reason: str) -> None:
        self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason=reason)

    def _handle_graft(self, peer: Peer, topic: str, now: float, *, exchange: bool) -> None:
        mesh = self._mesh
        if peer in self._direct:
            # It does not know that we are direct peers: a mistake in somebody's settings.
            self._ignore(peer, topic, "graft_from_direct_peer")
            mesh.say_prune(topic, peer, math.ceil(self._parameters.prune_backoff))
        elif not self._pubsub.admits(peer, topic):
            self._ignore(peer, topic, "graft_peer_not_allowed")
            self._refuse(peer, topic, now)
        elif mesh.backoffs.active(topic, peer, now):
            self._penalise(peer, topic, now)
            self._reject(peer, topic, "graft_in_backoff", now)
        elif self._standing.of(peer) < 0:
            self._reject(peer, topic, "graft_negative_score", now)
        elif (
            len(mesh.peers(topic)) >= self._degrees.of(topic).D_high
            and peer not in self._candidates.outbound
        ):
            # Else many that come to us could take the mesh over at once.
            self._ignore(peer, topic, "graft_mesh_full")
            self._refuse(peer, topic, now, exchange=exchange)
        else:
            mesh.admit(topic, peer, now)

    def _penalise(self, peer: Peer, topic: str, now: float) -> None:
        """GRAFT within a backoff: worse if it follows hard upon the PRUNE."""
        since = self._mesh.backoffs.until(topic, peer) - self._parameters.prune_backoff
        flood = now < since + self._parameters.graft_flood_threshold
        self._standing.penalise(peer, "graft_in_backoff", 2 if flood else 1)

    def _reject(self, peer: Peer, topic: str, reason: str, now: float) -> None:
        self._pubsub.emit(trace.REJECTED, topic, peer=peer, reason=reason)
        self._refuse(peer, topic, now)

    def _refuse(self, peer: Peer, topic: str, now: float, *, exchange: bool = False) -> None:
        """Say no, and from when on to ask again."""
        self._mesh.keep_out(topic, peer, self._parameters.prune_backoff, now, exchange=exchange)

    # ---- PRUNE

    def handle_prunes(self, peer: Peer, prunes: tuple[Prune, ...], now: float) -> None:
        """The peer took us out of meshes; take it out of ours, and leave it alone for a while."""
        for prune in prunes:
            if prune.peers:
                self._exchange.named_by(peer, prune.topic, prune.peers, now)
            if prune.topic in self._mesh:
                backoff = prune.backoff or self._backoff_of(peer, prune.topic)
                self._mesh.backoffs.add(prune.topic, peer, backoff, now)
                self._mesh.pruned(prune.topic, peer, now)

    def _backoff_of(self, peer: Peer, topic: str) -> float:
        """How long a peer that pruned us without a number will itself keep away."""
        if peer in self._pubsub.subscribers(topic):
            return self._parameters.prune_backoff
        return self._parameters.unsubscribe_backoff  # it left the topic, and said so before
