"""The gossipsub router: puts its parts together, asks them whom to send to, runs the heartbeat."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import ClassVar

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.extensions import Extension, Extensions
from rumormill.libp2p.gossipsub.fanout import Fanout
from rumormill.libp2p.gossipsub.features import (
    FEATURES,
    MESH,
    MESHSUB_1_0,
    MESHSUB_1_3,
    FeatureTable,
)
from rumormill.libp2p.gossipsub.gossip import Gossip
from rumormill.libp2p.gossipsub.heartbeat import Heartbeat
from rumormill.libp2p.gossipsub.mesh import Mesh
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.partial.exchange import PartialMessages
from rumormill.libp2p.gossipsub.probe_extension import ProbeExtension
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.floodsub import FLOODSUB
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.router import PubsubServices, Router
from rumormill.libp2p.wire.message import WireMessage


class GossipsubRouter(Router):
    """gossipsub, with floodsub peers as its guests.

    A further version is a router derived from this one: its ``protocols`` and ``features``, the
    parts that it adds to :meth:`parts`, and what it wants changed of :meth:`targets`.
    """

    protocols: ClassVar[tuple[str, ...]] = (MESHSUB_1_3, MESHSUB_1_0, FLOODSUB)

    features: ClassVar[FeatureTable] = FEATURES
    """What speakers of each of the protocols can do."""

    def __init__(self, parameters: GossipsubParameters | None = None) -> None:
        self.parameters = parameters or GossipsubParameters()

    def attach(self, pubsub: PubsubServices) -> None:
        """Make the parts, now that there is someone to send for them."""
        super().attach(pubsub)
        unknown = [each for each in self.protocols if each not in self.features]
        if unknown:
            raise LocalProtocolError(f"the table of features has no row for {unknown[0]!r}")
        self._candidates = Candidates(pubsub, self.features)
        self._fanout = Fanout(self.parameters, self._candidates)
        self._mesh = Mesh(pubsub, self.parameters, self._candidates, self._fanout)
        self._gossip = Gossip(pubsub, self.parameters, self._candidates, self._mesh, self._fanout)
        self._standing = Standing()
        self._spared: Mapping[str, Container[Peer]] = {}
        """By topic, peers that get parts of messages and so no whole ones."""
        self._partial: PartialMessages | None = None
        extensions = self.extensions()
        self._extensions = Extensions(pubsub, self._candidates, self._standing, extensions)
        self._heartbeat: Heartbeat | None = None

    def extensions(self) -> tuple[Extension, ...]:
        """The extensions of gossipsub 1.3 that we have; asked for once, by :meth:`attach`."""
        found: list[Extension] = []
        if self.parameters.test_extension:
            found.append(ProbeExtension(self.pubsub))
        if self.parameters.partial_messages:
            partial = PartialMessages(
                self.pubsub, self.parameters, self._standing, self._for_whole_messages
            )
            self._partial = partial
            self._spared = partial.options.spared
            self._gossip.instead = partial.gossip
            found.append(partial)
        return tuple(found)

    def parts(self) -> tuple[Part, ...]:
        """Who hears what happens, and in which order; at the heartbeat too."""
        extensions = (self._extensions, *self._extensions.ours)
        return (self._candidates, self._mesh, self._fanout, self._gossip, *extensions)

    # ---- whom to send to

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        """floodsub peers of the topic, and its mesh; on topics we are not in, the fanout.

        With an empty mesh our own message would be lost though peers listen: it goes to some of
        them all the same.
        """
        topics = message.topics
        if len(topics) == 1:
            return self._targets(topics[0], own, now)
        return [peer for topic in topics for peer in self._targets(topic, own, now)]

    def _targets(self, topic: str, own: bool, now: float) -> Iterable[Peer]:
        peers: Iterable[Peer] = self._mesh.peers(topic)
        if own and not peers:
            peers = self._for_whole_messages(topic, now)
        if topic in self._spared:
            spared = self._spared[topic]
            peers = [peer for peer in peers if peer not in spared]
        if self._candidates.without_mesh:
            return [*self._candidates.flooded(topic), *peers]
        return peers

    def _for_whole_messages(self, topic: str, now: float) -> Iterable[Peer]:
        """Who would get a whole message of ours, if nobody wanted parts."""
        peers = self._mesh.peers(topic)
        if peers:
            return peers
        if self.pubsub.joined(topic):
            return self._instead_of_mesh(topic)
        return self._fanout.choose(topic, now)

    def would_reach(self, topics: tuple[str, ...]) -> Iterable[Peer]:
        """The same, but if there is no fanout yet, none is chosen."""
        if len(topics) == 1:
            return self._would_reach(topics[0])
        return [peer for topic in topics for peer in self._would_reach(topic)]

    def _would_reach(self, topic: str) -> Iterable[Peer]:
        peers: Iterable[Peer] = self._mesh.peers(topic)
        if not peers:
            if self.pubsub.joined(topic):
                peers = self._instead_of_mesh(topic)
            else:
                peers = self._fanout.would_choose(topic)
        if topic in self._spared:
            spared = self._spared[topic]
            peers = [peer for peer in peers if peer not in spared]
        if self._candidates.without_mesh:
            return [*self._candidates.flooded(topic), *peers]
        return peers

    def _instead_of_mesh(self, topic: str) -> list[Peer]:
        return self._candidates.of(topic, MESH)[: self.parameters.D]

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """The topic's mesh."""
        return tuple(self._mesh.peers(topic))

    def fanout(self, topic: str) -> tuple[Peer, ...]:
        """The topic's fanout."""
        return tuple(self._fanout.peers(topic))

    # ---- the heartbeat

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """The first peer starts the heartbeat."""
        self._beat().start(now)

    def join(self, topic: str, now: float) -> None:
        """And so does the first topic."""
        self._beat().start(now)

    def next_wake(self) -> float | None:
        """The next heartbeat."""
        return None if self._heartbeat is None else self._heartbeat.due

    def wake(self, now: float) -> None:
        """Run the heartbeat if it is due."""
        self._beat().run(now)

    def _beat(self) -> Heartbeat:
        # Made late, so that the parts of a derived router, which are made after ours, have it too.
        if self._heartbeat is None:
            self._heartbeat = Heartbeat(self.parameters, self.parts())
        return self._heartbeat
