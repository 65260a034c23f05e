"""Gossip: telling peers outside the mesh what we have, and asking for what we lack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.direct import DirectPeers
from rumormill.libp2p.gossipsub.features import GOSSIP
from rumormill.libp2p.gossipsub.gossip.message_cache import MessageCache
from rumormill.libp2p.gossipsub.gossip.promises import Promises
from rumormill.libp2p.gossipsub.heartbeat import HeartbeatPart
from rumormill.libp2p.gossipsub.mesh.fanout import Fanout
from rumormill.libp2p.gossipsub.mesh.mesh import Mesh
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.gossipsub.standing import Standing
from rumormill.libp2p.pubsub.inbound.prices import ANSWERED_BYTE
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.pubsub.topics.message_id import usable
from rumormill.libp2p.wire.gossip import IHAVE, IWANT, IHave, IWant
from rumormill.libp2p.wire.message import WireMessage


class Gossip(HeartbeatPart):
    """IHAVE and IWANT, both ways, under a budget per peer and heartbeat."""

    keeps_messages: ClassVar[bool] = True

    def __init__(
        self,
        *,
        pubsub: PubsubServices,
        parameters: GossipsubParameters,
        candidates: Candidates,
        direct: DirectPeers,
        standing: Standing,
        promises: Promises,
        mesh: Mesh,
        fanout: Fanout,
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._candidates = candidates
        self._direct = direct
        self._standing = standing
        self._promises = promises
        self._mesh = mesh
        self._fanout = fanout
        self.cache = MessageCache(
            parameters.mcache_len, parameters.mcache_gossip, parameters.mcache_bytes
        )
        self._ihave_heard: dict[Peer, int] = {}
        self._ids_asked: dict[Peer, int] = {}
        self._asked: dict[bytes, Peer] = {}
        """Who was asked for what since the last heartbeat: asking two peers brings two copies."""
        self._unkept: dict[bytes, Peer] = {}
        """Who was asked before that and did not send it: now it is the turn of another, or else
        one who tells of everything first and sends nothing would keep it from us."""
        self.instead: Callable[[Peer, str], bool] | None = None
        """Tells a peer of a topic what we have in another form; False if it is to get IHAVE."""
        pubsub.on_control(IHAVE, self.handle_ihave)
        pubsub.on_control(IWANT, self.handle_iwant)

    def accepted(
        self, message: WireMessage, source: Peer | None, holders: Mapping[Peer, None], now: float
    ) -> None:
        """Keep the message for those who will ask for it."""
        self.cache.put(message)

    def sizes(self) -> dict[str, int]:
        """How many messages are kept, how many ids are asked for, and of how many peers we count
        what they have said and were asked for since the last heartbeat.
        """
        return {
            "cached": len(self.cache),
            "asked_ids": len(self._asked) + len(self._unkept),
            "gossip_budgets": len(self._ihave_heard.keys() | self._ids_asked.keys()),
        }

    # ---- telling

    def heartbeat(self, now: float) -> None:
        """Tell what we have; then there are new budgets, and a new window."""
        if self.cache.gossiped or self.instead is not None:
            self._tell_all()
        self._ihave_heard.clear()
        self._ids_asked.clear()
        knows = self._pubsub.knows
        self._unkept = {each: peer for each, peer in self._asked.items() if not knows(each)}
        self._asked = {}
        self.cache.shift()
        if self.cache.evicted:
            self._pubsub.emit(
                trace.DROPPED, what="cached_message", reason="mcache_full",
                count=self.cache.evicted,
            )  # fmt: skip
            self.cache.evicted = 0

    def _tell_all(self) -> None:
        apart = self._apart()
        for topic in self._mesh.topics():
            self._tell(topic, self._mesh.peers(topic), apart)
        for topic in self._fanout.topics():
            self._tell(topic, self._fanout.peers(topic), apart)

    def _apart(self) -> frozenset[Peer]:
        """Whom gossip is not for, whatever the topic: looked at once, as there are many topics."""
        of, least = self._standing.of, self._standing.thresholds.gossip
        able = self._candidates.able(GOSSIP)
        apart = [peer for peer in self._candidates.peers if peer not in able or of(peer) < least]
        return frozenset((*apart, *self._direct.peers))

    def _tell(self, topic: str, members: dict[Peer, None], apart: frozenset[Peer]) -> None:
        """Tell some of those that are no members of the mesh or fanout what we have."""
        least = self._parameters.degrees.of(topic).D_lazy
        message_ids = self.cache.gossip_ids(topic)
        instead = self.instead
        if not least or (not message_ids and instead is None):
            return
        listeners = self._pubsub.subscribers(topic)
        outside = len(listeners) - len(listeners.keys() & apart)
        outside -= sum(peer in listeners and peer not in apart for peer in members)
        count = max(least, int(self._parameters.gossip_factor * outside))
        barred = apart.union(members)
        chosen = self._candidates.draw(topic, count, lambda peer: peer not in barred)
        if instead is not None:
            chosen = [peer for peer in chosen if not instead(peer, topic)]
        if not message_ids:
            return
        most, outbox = self._parameters.max_ihave_ids, self._pubsub.outbox
        if len(message_ids) <= most:
            outbox.control_to_all(chosen, IHave(topic, tuple(message_ids)))
            return
        for peer in chosen:  # different ones to each, by chance
            some = self._pubsub.random.sample(message_ids, most)
            outbox.control(peer, IHave(topic, tuple(some)))

    def remove_peer(self, peer: Peer, now: float) -> None:
        """The peer is gone."""
        self._ihave_heard.pop(peer, None)
        self._ids_asked.pop(peer, None)

    # ---- being told

    def _is_believed(self, peer: Peer, kind: str) -> bool:
        """Whether the peer's gossip is listened to; if not, it is traced."""
        if not self._candidates.can(peer, GOSSIP):
            reason = f"{kind}_from_floodsub_peer"
        elif (
            self._standing.of(peer) < self._standing.thresholds.gossip and peer not in self._direct
        ):
            reason = f"{kind}_low_score"
        else:
            return True
        self._pubsub.emit(trace.IGNORED, peer=peer, reason=reason)
        return False

    def handle_ihave(self, peer: Peer, ihave: tuple[IHave, ...], now: float) -> None:
        """Ask the peer for what it has and we lack, on topics that we listen to."""
        if not self._is_believed(peer, "ihave"):
            return
        # Counted by RPC, as everyone does: one may tell of many topics at once.
        heard = self._ihave_heard[peer] = self._ihave_heard.get(peer, 0) + 1
        if heard > self._parameters.max_ihave_messages:
            self._ignore(peer, ihave[0].topic, "too_many_ihave")
            return
        wanted: dict[bytes, None] = {}
        for each in ihave:
            if not self._pubsub.joined(each.topic):
                self._ignore(peer, each.topic, "ihave_unknown_topic")
            elif not self._pubsub.admits(peer, each.topic):
                self._ignore(peer, each.topic, "ihave_peer_not_allowed")
            else:
                wanted.update(dict.fromkeys(each.message_ids))
        wanted = {each: None for each in wanted if self._lacks(each, peer)}
        usable_ids = list(filter(usable, wanted))
        if len(usable_ids) < len(wanted):
            self._ignore(peer, ihave[0].topic, "bad_message_id")
        if usable_ids:
            self._ask(peer, usable_ids, now)

    def _lacks(self, message_id: bytes, peer: Peer) -> bool:
        return (
            message_id not in self._asked
            and self._unkept.get(message_id) != peer
            and not self._pubsub.knows(message_id)
        )

    def _ignore(self, peer: Peer, topic: str, reason: str) -> None:
        self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason=reason)

    def _ask(self, peer: Peer, wanted: list[bytes], now: float) -> None:
        asked = self._ids_asked.get(peer, 0)
        room = self._parameters.max_ihave_ids - asked
        if len(wanted) > room:
            self._pubsub.emit(
                trace.DROPPED, peer=peer, what="iwant", reason="too_many_ids",
                count=len(wanted) - room,
            )  # fmt: skip
            # Which of them is chance, so that a liar cannot choose what we never ask for.
            wanted = self._pubsub.random.sample(wanted, max(0, room))
        if wanted:
            self._ids_asked[peer] = asked + len(wanted)
            self._asked.update(dict.fromkeys(wanted, peer))
            self._pubsub.outbox.control(peer, IWant(tuple(wanted)))
            self._promises.add(peer, wanted, now)
            for message_id in wanted:
                self._pubsub.emit(trace.ASKED, message_id=message_id, peer=peer)

    def handle_iwant(self, peer: Peer, iwant: tuple[IWant, ...], now: float) -> None:
        """Send the peer what it asks for and we have, each message only so often."""
        if not self._is_believed(peer, "iwant"):
            return
        unknown: list[bytes] = []
        answered = 0
        for message_id in dict.fromkeys(each for part in iwant for each in part.message_ids):
            message = self.cache.get(message_id)
            if message is None:
                unknown.append(message_id)
            elif not any(self._pubsub.admits(peer, topic) for topic in message.topics):
                self._pubsub.emit(
                    trace.IGNORED, message.topics[0], message_id, peer,
                    reason="iwant_peer_not_allowed",
                )  # fmt: skip
            elif self.cache.count_send(message_id, peer) > self._parameters.max_iwant_sends:
                self._pubsub.emit(
                    trace.IGNORED, message.topics[0], message_id, peer, reason="iwant_too_often"
                )
            else:
                answered += len(message.raw)
                self._pubsub.outbox.message(peer, message)
        if unknown:
            # As one, with the first of them: a peer may ask for five thousand at once.
            reason, count = "iwant_not_cached", len(unknown)
            self._pubsub.emit(trace.IGNORED, None, unknown[0], peer, reason=reason, count=count)
        if answered:
            self._pubsub.charge(peer, "answers", answered * ANSWERED_BYTE)
