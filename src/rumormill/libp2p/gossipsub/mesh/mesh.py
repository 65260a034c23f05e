"""The mesh: for each topic that we listen to, the peers that get every message from us.

Here is who is in it, and how a peer comes in and goes out. What peers say to it is in
:mod:`grafting`, what the heartbeat does to it in :mod:`upkeep`.
"""

from __future__ import annotations

import math

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.direct import DirectPeers
from rumormill.libp2p.gossipsub.exchange.peer_exchange import PeerExchange
from rumormill.libp2p.gossipsub.features import MESH
from rumormill.libp2p.gossipsub.mesh.backoff import Backoffs
from rumormill.libp2p.gossipsub.mesh.fanout import Fanout
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.gossip import Graft, Prune


class Mesh(Part):
    """Knows each topic's mesh, and changes it."""

    def __init__(
        self,
        *,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        candidates: Candidates,
        direct: DirectPeers,
        standing: Standing,
        fanout: Fanout,
        exchange: PeerExchange,
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._degrees = parameters.degrees
        self._candidates = candidates
        self._direct = direct
        self._standing = standing
        self._fanout = fanout
        self._exchange = exchange
        self._peers: dict[str, dict[Peer, None]] = {}
        self.backoffs = Backoffs(slack=2 * parameters.heartbeat_interval)

    def topics(self) -> tuple[str, ...]:
        """The topics that have a mesh: those we listen to."""
        return tuple(self._peers)

    def peers(self, topic: str) -> dict[Peer, None]:
        """The topic's mesh; empty if we do not listen. Not to be changed."""
        return self._peers.get(topic, _NOBODY)

    def __contains__(self, topic: str) -> bool:
        return topic in self._peers

    def sizes(self) -> dict[str, int]:
        """How many pairs of topic and peer there are, together and apart."""
        return {"mesh": sum(map(len, self._peers.values())), "backoffs": len(self.backoffs)}

    # ---- what happens to topics and peers

    def join(self, topic: str, now: float) -> None:
        """JOIN: the fanout becomes the mesh, filled up to ``D``."""
        self._peers[topic] = {}
        degree = self._degrees.of(topic).D
        for peer in self._fanout.take(topic)[:degree]:
            if self.may_graft(topic, peer, now):
                self.graft(topic, peer, "join", now)
        self.fill(topic, degree, "join", now)

    def leave(self, topic: str, quietly: bool, now: float) -> None:
        """LEAVE: give the mesh up, and PRUNE its peers.

        A node that shuts down does not: they would keep it out when it is back in a moment.
        """
        for peer in list(self._peers.get(topic, ())):
            self._remove(topic, peer, "us", "leave", now)
            if not quietly:
                backoff = self._parameters.unsubscribe_backoff
                self.keep_out(topic, peer, backoff, now, exchange=True)
        self._peers.pop(topic, None)

    def remove_peer(self, peer: Peer, now: float) -> None:
        """The peer is gone: out of every mesh, without a word to it."""
        for topic, peers in self._peers.items():
            if peer in peers:
                self._remove(topic, peer, "peer", "left", now)

    def release(self, peer: Peer, reason: str, now: float) -> None:
        """Take the peer out of every mesh, and tell it."""
        for topic, peers in self._peers.items():
            if peer in peers:
                self.prune(topic, peer, reason, now, exchange=False)

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
            and len(self._peers[topic]) < self._degrees.of(topic).D
            and self.may_graft(topic, peer, now)
        ):
            self.graft(topic, peer, "subscribed", now)

    def peer_unsubscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer no longer listens."""
        if peer in self.peers(topic):
            self._remove(topic, peer, "peer", "unsubscribed", now)

    def peer_barred(self, peer: Peer, topic: str, now: float) -> None:
        """A peer may no longer take part."""
        if peer in self.peers(topic):
            self.prune(topic, peer, "peer_not_allowed", now, exchange=False)

    # ---- coming in

    def may_graft(self, topic: str, peer: Peer, now: float) -> bool:
        """Whether a peer outside the mesh may be taken in, as far as we know."""
        return (
            peer not in self._peers[topic]
            and self._candidates.can(peer, MESH)
            and peer not in self._direct
            and self._standing.of(peer) >= 0
            and not self.backoffs.too_early(topic, peer, now)
        )

    def fill(self, topic: str, degree: int, reason: str, now: float) -> None:
        """Take in peers of the topic, by chance, until there are ``degree``."""
        missing = degree - len(self._peers[topic])
        for peer in self._candidates.draw(
            topic, missing, lambda peer: self.may_graft(topic, peer, now)
        ):
            self.graft(topic, peer, reason, now)

    def graft(self, topic: str, peer: Peer, reason: str, now: float) -> None:
        """Take a peer in, and tell it."""
        self._peers[topic][peer] = None
        self._pubsub.outbox.control(peer, Graft(topic))
        self._pubsub.emit(trace.GRAFTED, topic, peer=peer, by="us", reason=reason)
        self._standing.grafted(peer, topic, now)

    def admit(self, topic: str, peer: Peer, now: float) -> None:
        """Take a peer in that has asked for it."""
        self._pubsub.assume_subscribed(peer, topic)
        self._peers[topic][peer] = None
        self._pubsub.emit(trace.GRAFTED, topic, peer=peer, by="peer")
        self._standing.grafted(peer, topic, now)

    # ---- going out

    def prune(
        self, topic: str, peer: Peer, reason: str, now: float, *, exchange: bool = True
    ) -> None:
        """Take a peer out, and tell it."""
        self._remove(topic, peer, "us", reason, now)
        self.keep_out(topic, peer, self._parameters.prune_backoff, now, exchange=exchange)

    def pruned(self, topic: str, peer: Peer, now: float) -> None:
        """A peer took us out of its mesh, so it is not in ours."""
        if peer in self._peers[topic]:
            self._remove(topic, peer, "peer", "pruned", now)

    def keep_out(
        self, topic: str, peer: Peer, backoff: float, now: float, *, exchange: bool = False
    ) -> None:
        """Tell a peer to stay away, and for how long, and do so ourselves."""
        seconds = math.ceil(backoff)
        self.backoffs.add(topic, peer, seconds, now)
        self.say_prune(topic, peer, seconds, exchange=exchange)

    def say_prune(self, topic: str, peer: Peer, seconds: int, *, exchange: bool = False) -> None:
        """PRUNE, with the number of seconds and perhaps with other peers of the topic.

        Without the number it would assume its own, a minute as a rule, and punish us for coming
        back earlier. go, rust and js heed it in every version; 1.0 itself does not know the field.
        """
        others = self._exchange.named_to(peer, topic) if exchange else ()
        self._pubsub.outbox.control(peer, Prune(topic, seconds, others))

    def _remove(self, topic: str, peer: Peer, by: str, reason: str, now: float) -> None:
        del self._peers[topic][peer]
        self._pubsub.emit(trace.PRUNED, topic, peer=peer, by=by, reason=reason)
        self._standing.pruned(peer, topic, now)


_NOBODY: dict[Peer, None] = {}
