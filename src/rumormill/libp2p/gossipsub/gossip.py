"""Gossip: telling peers outside the mesh what we have, and asking for what we lack."""

from __future__ import annotations

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub.candidates import Candidates
from rumormill.libp2p.gossipsub.message_cache import MessageCache
from rumormill.libp2p.gossipsub.parameters import GossipsubParameters
from rumormill.libp2p.pubsub.message_id import usable
from rumormill.libp2p.pubsub.router import PubsubServices
from rumormill.libp2p.wire.rpc import IHave, IWant


class Gossip:
    """IHAVE and IWANT, both ways, under a budget per peer and heartbeat."""

    def __init__(
        self, pubsub: PubsubServices, parameters: GossipsubParameters, candidates: Candidates
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._candidates = candidates
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

    def emit(self, topic: str, members: dict[Peer, None]) -> None:
        """Tell ``D_lazy`` peers that are no members of the mesh or fanout what we have."""
        message_ids = self.cache.gossip_ids(topic)
        if not message_ids:
            return
        most = self._parameters.max_ihave_ids
        for peer in self._candidates.sample(topic, members, self._parameters.D_lazy):
            # Each peer gets the ids in another order: if not all fit, different ones.
            ids = self._pubsub.random.sample(message_ids, min(most, len(message_ids)))
            self._pubsub.outbox.ihave(peer, topic, ids)

    def heartbeat(self) -> None:
        """A heartbeat has passed: new budgets, a new window."""
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

    def remove_peer(self, peer: Peer) -> None:
        """The peer is gone."""
        self._ihave_heard.pop(peer, None)
        self._ids_asked.pop(peer, None)

    def handle_ihave(self, peer: Peer, ihave: tuple[IHave, ...]) -> None:
        """Ask the peer for what it has and we lack, on topics that we listen to."""
        # Counted by RPC, as everyone does: one may tell of many topics at once.
        heard = self._ihave_heard[peer] = self._ihave_heard.get(peer, 0) + 1
        if heard > self._parameters.max_ihave_messages:
            self._ignore(peer, ihave[0].topic, "too_many_ihave")
            return
        wanted: dict[bytes, None] = {}
        for each in ihave:
            if self._pubsub.joined(each.topic):
                wanted.update(dict.fromkeys(each.message_ids))
            else:
                self._ignore(peer, each.topic, "ihave_unknown_topic")
        wanted = {each: None for each in wanted if self._lacks(each, peer)}
        usable_ids = list(filter(usable, wanted))
        if len(usable_ids) < len(wanted):
            self._ignore(peer, ihave[0].topic, "bad_message_id")
        if usable_ids:
            self._ask(peer, usable_ids)

    def _lacks(self, message_id: bytes, peer: Peer) -> bool:
        return (
            message_id not in self._asked
            and self._unkept.get(message_id) != peer
            and not self._pubsub.knows(message_id)
        )

    def _ignore(self, peer: Peer, topic: str, reason: str) -> None:
        self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason=reason)

    def _ask(self, peer: Peer, wanted: list[bytes]) -> None:
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
            self._pubsub.outbox.iwant(peer, wanted)
            for message_id in wanted:
                self._pubsub.emit(trace.ASKED, message_id=message_id, peer=peer)

    def handle_iwant(self, peer: Peer, iwant: tuple[IWant, ...]) -> None:
        """Send the peer what it asks for and we have, each message only so often."""
        for message_id in dict.fromkeys(each for part in iwant for each in part.message_ids):
            message = self.cache.get(message_id)
            if message is None:
                self._pubsub.emit(
                    trace.IGNORED, message_id=message_id, peer=peer, reason="iwant_not_cached"
                )
            elif self.cache.count_send(message_id, peer) > self._parameters.max_iwant_sends:
                self._pubsub.emit(
                    trace.IGNORED, message.topics[0], message_id, peer, reason="iwant_too_often"
                )
            else:
                self._pubsub.outbox.message(peer, message)
