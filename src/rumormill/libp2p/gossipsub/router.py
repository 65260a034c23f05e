"""The gossipsub router: puts its parts together, asks them whom to send to, runs the heartbeat."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.machine import Peer, PeerJoined
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.defence.gater import Gater
from rumormill.libp2p.gossipsub.defence.slow_peers import SlowPeers
from rumormill.libp2p.gossipsub.direct import AddDirectPeer, DirectPeers, RemoveDirectPeer
from rumormill.libp2p.gossipsub.exchange.peer_exchange import PeerExchange
from rumormill.libp2p.gossipsub.extensions.extensions import Extension, Extensions
from rumormill.libp2p.gossipsub.extensions.probe_extension import ProbeExtension
from rumormill.libp2p.gossipsub.features import (
    FEATURES,
    MESHSUB_1_0,
    MESHSUB_1_1,
    MESHSUB_1_2,
    MESHSUB_1_3,
    FeatureTable,
)
from rumormill.libp2p.gossipsub.gossip.dont_want import DontWant, DontWantOwn
from rumormill.libp2p.gossipsub.gossip.gossip import Gossip
from rumormill.libp2p.gossipsub.gossip.promises import Promises
from rumormill.libp2p.gossipsub.heartbeat import Heartbeat
from rumormill.libp2p.gossipsub.mesh.fanout import Fanout
from rumormill.libp2p.gossipsub.mesh.grafting import Grafting
from rumormill.libp2p.gossipsub.mesh.mesh import Mesh
from rumormill.libp2p.gossipsub.mesh.upkeep import Upkeep
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.partial.exchange import PartialMessages
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE, Score, ScoreParameters
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.gossipsub.targets import Targets
from rumormill.libp2p.pubsub.floodsub import FLOODSUB
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.router import Admission, PubsubServices, Router
from rumormill.libp2p.wire.message import WireMessage

PROTOCOL_NAME = re.compile(r"/[!-~]{1,200}")
"""What a protocol of the user's own may be called."""


class GossipsubRouter(Router):
    """gossipsub from 1.0 to 1.3, with floodsub peers as its guests.

    A further version is a router derived from this one: its ``protocols`` and ``features``, the
    parts that it adds to :meth:`parts`, and what it wants changed of :meth:`targets`.
    """

    protocols: ClassVar[tuple[str, ...]] = (
        MESHSUB_1_3, MESHSUB_1_2, MESHSUB_1_1, MESHSUB_1_0, FLOODSUB,
    )  # fmt: skip

    features: ClassVar[FeatureTable] = FEATURES
    """What speakers of each of the protocols can do."""

    standing: Standing
    """What each peer's conduct is worth: a :class:`Score`, unless there is to be none."""

    def __init__(
        self,
        parameters: GossipsubParameters | None = None,
        score: ScoreParameters | None = DEFAULT_SCORE,
    ) -> None:
        """Without ``score`` all peers are worth the same."""
        self.parameters = parameters or GossipsubParameters()
        self._score = score

    # ---- the parts

    def attach(self, pubsub: PubsubServices) -> None:
        """Make the parts, now that there is someone to send for them."""
        super().attach(pubsub)
        self._check_protocols()
        self._heartbeat: Heartbeat | None = None
        self.standing = self.make_standing(pubsub)
        self._graylist = self.standing.thresholds.graylist
        self._standing_of = self.standing.of
        self._make_parts(pubsub, self.parameters)
        pubsub.on_input(AddDirectPeer, self._add_direct_peer)
        pubsub.on_input(RemoveDirectPeer, self._remove_direct_peer)

    def _make_parts(self, pubsub: PubsubServices, parameters: GossipsubParameters) -> None:
        standing = self.standing
        candidates = self._candidates = Candidates(pubsub, self._feature_table())
        direct = self._direct = DirectPeers(pubsub, parameters, candidates)
        fanout = self._fanout = Fanout(
            parameters=parameters, candidates=candidates, direct=direct, standing=standing
        )
        exchange = self._exchange = PeerExchange(pubsub, parameters, candidates, standing)
        mesh = self._mesh = Mesh(
            pubsub=pubsub, parameters=parameters, candidates=candidates, direct=direct,
            standing=standing, fanout=fanout, exchange=exchange,
        )  # fmt: skip
        self._grafting = Grafting(
            pubsub=pubsub, parameters=parameters, candidates=candidates, direct=direct,
            standing=standing, mesh=mesh, exchange=exchange,
        )  # fmt: skip
        self._upkeep = Upkeep(
            pubsub=pubsub, parameters=parameters, candidates=candidates, standing=standing,
            mesh=mesh,
        )  # fmt: skip
        promises = self._promises = Promises(pubsub, parameters, standing)
        self._gossip = Gossip(
            pubsub=pubsub, parameters=parameters, candidates=candidates, direct=direct,
            standing=standing, promises=promises, mesh=mesh, fanout=fanout,
        )  # fmt: skip
        dont_want = DontWantOwn if parameters.dont_want_own else DontWant
        self._dont_want = dont_want(pubsub, parameters, candidates, mesh)
        self._slow_peers = SlowPeers(pubsub, standing)
        self._gater: Gater | None = None
        if parameters.gater:
            self._gater = Gater(
                pubsub=pubsub, parameters=parameters, promises=promises,
                heartbeat_interval=parameters.heartbeat_interval,
            )  # fmt: skip
        self._targets = Targets(
            pubsub=pubsub, parameters=parameters, candidates=candidates, direct=direct,
            standing=standing, mesh=mesh, fanout=fanout,
        )  # fmt: skip
        self._extensions = Extensions(pubsub, candidates, standing, self.extensions())

    def extensions(self) -> tuple[Extension, ...]:
        """The extensions of gossipsub 1.3 that we have. Asked for once, when attached."""
        found: list[Extension] = []
        if self.parameters.test_extension:
            found.append(ProbeExtension(self.pubsub))
        if self.parameters.partial_messages:
            found.append(self._partial_messages())
        return tuple(found)

    def _partial_messages(self) -> PartialMessages:
        partial = PartialMessages(
            self.pubsub, self.parameters, self.standing, self._targets.of_whole_messages
        )
        self._targets.spared = partial.options.spared
        self._dont_want.takes_parts = partial.options.takes
        self._gossip.instead = partial.gossip
        return partial

    def make_standing(self, pubsub: PubsubServices) -> Standing:
        """Who tells what peers' conduct is worth. Asked for once, when attached."""
        return Standing() if self._score is None else Score(pubsub, self._score)

    def parts(self) -> tuple[Part, ...]:
        """Who hears what happens, and in which order.

        The standing hears of a peer that leaves after its meshes have, which is part of its record.
        """
        parts: tuple[Part, ...] = (
            self._candidates, self._direct, self._exchange, self._promises, self._mesh,
            self._dont_want, self._upkeep, self._fanout, self._gossip, self._slow_peers,
        )  # fmt: skip
        gater = () if self._gater is None else (self._gater,)
        extensions = (self._extensions, *self._extensions.ours)
        return (*parts, *gater, *extensions, self.standing)

    def discipline(self) -> Part:
        """Bad messages are the score's business, if it makes peers pay for them on every topic."""
        return Part() if self.standing.judges_messages else super().discipline()

    # ---- the versions

    def _check_protocols(self) -> None:
        unknown = [each for each in self.protocols if each not in self.features]
        if unknown:
            raise LocalProtocolError(f"the table of features has no row for {unknown[0]!r}")
        names = self.parameters.protocol_names
        for name, protocol in names.items():
            if protocol not in self.protocols:
                known = ", ".join(self.protocols)
                raise ConfigError(f"protocol_names.{name}", f"{protocol!r} is none of {known}")
            if name in self.features or not PROTOCOL_NAME.fullmatch(name):
                raise ConfigError("protocol_names", f"{name!r} is no name of your own, as /house/1")
        for each in self.parameters.protocols or ():
            if each not in self.protocols and each not in names:
                known = ", ".join((*names, *self.protocols))
                raise ConfigError("protocols", f"{each!r} is none of {known}")
        if not self.offered():
            raise ConfigError("protocols", "there must be one at least")

    def offered(self) -> tuple[str, ...]:
        """The protocols that the user wants, best first: by default all, under names of the
        user's own if there are any.
        """
        names, wanted = tuple(self.parameters.protocol_names), self.parameters.protocols
        if wanted is None:
            return names or self.protocols
        return tuple(each for each in (*names, *self.protocols) if each in wanted)

    def _feature_table(self) -> FeatureTable:
        names = self.parameters.protocol_names
        return {**self.features, **{name: self.features[names[name]] for name in names}}

    # ---- whom to listen to

    def gate(self, peer: Peer, now: float) -> Admission:
        """Hardly anything is read of a graylisted peer, and little of one that the gater stops."""
        if self._standing_of(peer) < self._graylist and peer not in self._direct:
            return "subscriptions"
        gater = self._gater
        if gater is None or not gater.throttled or peer in self._direct:
            return "all"
        return gater.admission(peer, now)

    # ---- whom to send to

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        """The mesh and whoever gets everything; for our own see :class:`Targets`."""
        topics = message.topics
        if len(topics) == 1:
            return self._targets.of(topics[0], own, now)
        return [peer for topic in topics for peer in self._targets.of(topic, own, now)]

    def would_reach(self, topics: tuple[str, ...]) -> Iterable[Peer]:
        """The same, but if there is no fanout yet, none is chosen."""
        if len(topics) == 1:
            return self._targets.would_be(topics[0])
        return [peer for topic in topics for peer in self._targets.would_be(topic)]

    def wanted_peers(self, topic: str) -> int:
        """As many as its mesh should have."""
        return self.parameters.degrees.of(topic).D

    def lacks_mesh(self, topic: str) -> int:
        """How many its mesh has less than the least."""
        return max(0, self.parameters.degrees.of(topic).D_low - len(self._mesh.peers(topic)))

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """The topic's mesh."""
        return tuple(self._mesh.peers(topic))

    def relied_on(self, topic: str) -> tuple[Peer, ...]:
        """The topic's mesh, and direct peers that listen to it."""
        return (*self._mesh.peers(topic), *self._direct.listening(topic))

    def fanout(self, topic: str) -> tuple[Peer, ...]:
        """The topic's fanout."""
        return tuple(self._fanout.peers(topic))

    # ---- direct peers

    @property
    def direct_peers(self) -> tuple[Peer, ...]:
        """The direct peers, connected or not."""
        return self._direct.peers

    def _add_direct_peer(self, command: AddDirectPeer, now: float) -> None:
        peer = command.peer
        self._direct.add(peer, command.addresses)
        self._mesh.release(peer, "direct_peer", now)
        self._fanout.remove_peer(peer, now)
        self._beat().start(now)

    def _remove_direct_peer(self, command: RemoveDirectPeer, now: float) -> None:
        self._direct.remove(command.peer)

    # ---- the heartbeat

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """The first peer starts the heartbeat."""
        self._beat().start(now)

    def join(self, topic: str, now: float) -> None:
        """And so does the first topic."""
        self._beat().start(now)

    def next_wake(self) -> float | None:
        """The next heartbeat; if there are direct peers to dial, the first is wanted at once."""
        due = None if self._heartbeat is None else self._heartbeat.due
        return 0.0 if due is None and self._direct.addresses else due

    def wake(self, now: float) -> None:
        """Run the heartbeat if it is due."""
        beat = self._beat()
        beat.start(now)
        beat.run(now)

    def _beat(self) -> Heartbeat:
        # Made late, so that the parts of a derived router, which are made after ours, have it too.
        # The standing comes first: the others ask for it.
        if self._heartbeat is None:
            parts = dict.fromkeys((self.standing, *self.parts()))
            self._heartbeat = Heartbeat(self.parameters, parts)
        return self._heartbeat
