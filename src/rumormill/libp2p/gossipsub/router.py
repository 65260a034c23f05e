"""The gossipsub router: puts mesh, fanout and gossip together, and runs the heartbeat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.fanout import Fanout
from rumormill.libp2p.gossipsub.gossip import Gossip
from rumormill.libp2p.gossipsub.mesh import Mesh
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.pubsub.floodsub import FLOODSUB
from rumormill.libp2p.pubsub.router import PubsubServices, Router
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.rpc import Control

MESHSUB_1_0 = "/meshsub/1.0.0"


class GossipsubRouter(Router):
    """gossipsub 1.0, with floodsub peers as its guests."""

    protocols: ClassVar[tuple[str, ...]] = (MESHSUB_1_0, FLOODSUB)

    def __init__(self, parameters: GossipsubParameters | None = None) -> None:
        self.parameters = parameters or GossipsubParameters()
        self._next_heartbeat: float | None = None

    def attach(self, pubsub: PubsubServices) -> None:
        """Make the parts, now that there is someone to send for them."""
        super().attach(pubsub)
        self._candidates = Candidates(pubsub)
        self._mesh = Mesh(pubsub, self.parameters, self._candidates)
        self._fanout = Fanout(self.parameters, self._candidates)
        self._gossip = Gossip(pubsub, self.parameters, self._candidates)

    # ---- whom to send to

    def targets(self, topics: tuple[str, ...], own: bool, now: float) -> Iterable[Peer]:
        """floodsub peers of the topic, and its mesh; on topics we are not in, the fanout.

        With an empty mesh our own message would be lost though peers listen: it goes to some of
        them all the same.
        """
        if len(topics) == 1:
            return self._targets(topics[0], own, now)
        return [peer for topic in topics for peer in self._targets(topic, own, now)]

    def _targets(self, topic: str, own: bool, now: float) -> Iterable[Peer]:
        peers: Iterable[Peer] = self._mesh.peers(topic)
        if own and not peers:
            if self.pubsub.joined(topic):
                peers = self._candidates.of(topic)[: self.parameters.D]
            else:
                peers = self._fanout.choose(topic, now)
        floodsub = self._candidates.floodsub_of(topic)
        return [*floodsub, *peers] if floodsub else peers

    def accepted(self, message: WireMessage, now: float) -> None:
        """Keep the message for those who will ask for it."""
        self._gossip.cache.put(message)

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """The topic's mesh."""
        return tuple(self._mesh.peers(topic))

    def sizes(self) -> dict[str, int]:
        """How many entries the tables of mesh, fanout and gossip have."""
        meshes = sum(len(self._mesh.peers(topic)) for topic in self._mesh.topics())
        fanouts = sum(1 + len(self._fanout.peers(topic)) for topic in self._fanout.topics())
        return {
            "mesh": meshes,
            "backoffs": len(self._mesh.backoffs),
            "fanout": fanouts,
            "cached": len(self._gossip.cache),
        }

    def fanout(self, topic: str) -> tuple[Peer, ...]:
        """The topic's fanout."""
        return tuple(self._fanout.peers(topic))

    # ---- peers and topics

    def add_peer(self, peer: Peer, protocol: str, outbound: bool, now: float) -> None:
        """A peer is there; the first one starts the heartbeat."""
        self._candidates.add(peer, protocol)
        self._start_heartbeat(now)

    def remove_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone: nothing of it stays but its backoff, which ends by itself."""
        self._candidates.remove(peer)
        self._mesh.remove_peer(peer)
        self._fanout.remove_peer(peer)
        self._gossip.remove_peer(peer)

    def renew_peer(self, peer: Peer) -> None:
        """GRAFT again: in its eyes we may be in none of its meshes."""
        self._mesh.renew_peer(peer)

    def peer_subscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer began to listen."""
        self._mesh.subscribed(topic, peer, now)

    def peer_unsubscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A peer no longer listens."""
        self._mesh.unsubscribed(topic, peer)
        self._fanout.unsubscribed(topic, peer)

    def join(self, topic: str, now: float) -> None:
        """JOIN: the fanout becomes the mesh, filled up to ``D``."""
        self._mesh.join(topic, self._fanout.take(topic), now)
        self._start_heartbeat(now)

    def leave(self, topic: str, now: float) -> None:
        """LEAVE: PRUNE to the whole mesh."""
        self._mesh.leave(topic, now)

    # ---- control

    def handle_control(self, peer: Peer, control: Control, now: float) -> None:
        """GRAFT, PRUNE, IHAVE and IWANT of a peer that speaks gossipsub."""
        for graft in control.graft:
            self._mesh.handle_graft(peer, graft.topic, now)
        for prune in control.prune:
            self._mesh.handle_prune(peer, prune, now)
        if not self._candidates.meshable(peer):
            return
        if control.ihave:
            self._gossip.handle_ihave(peer, control.ihave)
        if control.iwant:
            self._gossip.handle_iwant(peer, control.iwant)

    # ---- the heartbeat

    def _start_heartbeat(self, now: float) -> None:
        if self._next_heartbeat is None:
            self._next_heartbeat = now + self.parameters.heartbeat_delay

    def next_wake(self) -> float | None:
        """The next heartbeat."""
        return self._next_heartbeat

    def wake(self, now: float) -> None:
        """Run the heartbeat if it is due; one that was missed is not made up for."""
        due = self._next_heartbeat
        if due is None or now < due:
            return
        interval = self.parameters.heartbeat_interval
        self._next_heartbeat = due + interval if due + interval > now else now + interval
        self._mesh.maintain(now)
        self._fanout.maintain(now)
        for topic in self._mesh.topics():
            self._gossip.emit(topic, self._mesh.peers(topic))
        for topic in self._fanout.topics():
            self._gossip.emit(topic, self._fanout.peers(topic))
        self._gossip.heartbeat()
