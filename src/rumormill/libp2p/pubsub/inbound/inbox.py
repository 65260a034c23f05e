"""What peers say: from the bytes of their streams to messages, subscriptions and control."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from rumormill.core import trace
from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer, Received
from rumormill.core.trace import type_of_field
from rumormill.core.transport import RestPeer
from rumormill.libp2p.pubsub.inbound import prices
from rumormill.libp2p.pubsub.inbound.intake import Intake
from rumormill.libp2p.pubsub.part import hears
from rumormill.libp2p.pubsub.peers import PeerState
from rumormill.libp2p.pubsub.router import Admission, Router
from rumormill.libp2p.wire.control import Budget, Control, ControlKinds, Entry
from rumormill.libp2p.wire.rpc import (
    Rpc,
    Subscription,
    decode_rpc,
    decode_subscriptions,
    lone_message,
)

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


SLICE = 2_000.0
"""Microseconds of work, by their prices, that are done for a peer before others get their turn; but
one RPC at least."""

MOST_FRAMES = 256
"""RPCs that are read before others get their turn, as long as there is nothing but a message in
each."""


class Inbox:
    """Reads the RPCs of all peers and hands out what is in them."""

    def __init__(
        self,
        pubsub: Pubsub,
        intake: Intake,
        kinds: ControlKinds,
        handlers: Mapping[type, Callable[[Peer, Any, float], None]],
        extensions: Mapping[int, Callable[[Peer, bytes, float], None]],
    ) -> None:
        router, parameters = pubsub.router, pubsub.parameters
        self._pubsub = pubsub
        self._intake = intake
        self._kinds = kinds
        self._handlers = handlers
        self._extensions = extensions
        self._listeners = pubsub.listeners
        self._gate = router.gate if hears(router, "gate", Router) else None
        self._limits = parameters.rpc_limits
        self._trace_packets = parameters.trace_packets

    def receive(self, received: Received, now: float) -> None:
        """A piece of a peer's stream came, cut anywhere; or it is its turn again."""
        peer = received.peer
        state = self._pubsub.peers.get(peer)
        if state is None:
            return  # the rest of what a dropped peer had sent
        try:
            self._read(peer, state, received.packet, now)
        except RemoteProtocolError as error:
            self._pubsub.punish(peer, error)
            return
        if state.reader.unread and peer in self._pubsub.peers:
            self._pubsub.effects.append(RestPeer(peer, 0.0))

    def read_to_end(self, peer: Peer, state: PeerState, now: float) -> None:
        """The peer is gone: read what it sent before, unless it has used up its allowance."""
        reader, peers = state.reader, self._pubsub.peers
        try:
            while reader.unread and peer in peers and not self._pubsub.toll.owes(state):
                self._read(peer, state, b"", now)
        except RemoteProtocolError as error:
            self._pubsub.punish(peer, error)
        if reader.unread and peer in peers:
            size = reader.unread
            self._pubsub.emit(
                trace.DROPPED, peer=peer, what="packet", reason="peer_left", size=size
            )

    def _read(self, peer: Peer, state: PeerState, packet: bytes, now: float) -> None:
        """Read what came, in order, until a slice is used up: what is behind stays unread."""
        gate, peers, reader, slice = self._gate, self._pubsub.peers, state.reader, SLICE
        buffer, places = reader.cut(packet, MOST_FRAMES)
        if state.fresh and places and lone_message(buffer, *places[0]):
            state.fresh = False  # here, so that messages, which are most, need not see to it
        for start, end in places:
            if gate is not None and (admission := gate(peer, now)) != "all":
                slice -= self._on_gated(peer, state, buffer[start:end], admission, now)
            else:
                inside = 0 if self._trace_packets else lone_message(buffer, start, end)
                if inside:  # as most are: worth saving the RPC around it, and a copy of it
                    self._intake.receive_raw(peer, state, buffer[inside:end], now)
                    if peer in peers:
                        continue
                    return  # it was one rejected message too many
                slice -= self._on_frame(peer, state, buffer[start:end], now)
            if peer not in peers:
                return
            if slice < 0.0:
                if end < len(buffer):
                    reader.put_back(buffer, end)
                return

    def _on_gated(
        self, peer: Peer, state: PeerState, frame: bytes, admission: Admission, now: float
    ) -> float:
        """The router wants nothing of this RPC, or little."""
        if admission == "control":
            return self._on_frame(peer, state, frame, now, skip_messages=True)
        self._pubsub.emit(trace.IGNORED, peer=peer, reason="gate_closed")
        if admission == "nothing":
            state.fresh = False
            return prices.RPC
        words, others = decode_subscriptions(frame, self._limits)
        cost = prices.RPC + others * prices.SKIPPED_FIELD
        self._pubsub.toll.charge(peer, state, "control", cost)
        if words:
            self._on_subscriptions(peer, state, words, now)
        return cost + len(words) * prices.SUBSCRIPTION

    def _on_frame(
        self, peer: Peer, state: PeerState, frame: bytes, now: float, skip_messages: bool = False
    ) -> float:
        """Read an RPC; returns what that costs us, paid for or not."""
        budget = Budget(self._limits)
        rpc = decode_rpc(frame, self._limits, self._kinds, skip_messages, budget, self._extensions)
        if self._trace_packets:
            self._trace_packet(peer, len(frame), rpc)
        if rpc.skipped:
            self._pubsub.emit(
                trace.IGNORED, peer=peer, reason="gate_control_only", count=rpc.skipped
            )
        cost = self._charge(peer, state, rpc, budget)
        self._on_rpc(peer, state, rpc, now)
        state.fresh = False
        read = len(rpc.messages) * prices.READ_MESSAGE
        return cost + read + len(rpc.subscriptions) * prices.SUBSCRIPTION

    def _charge(self, peer: Peer, state: PeerState, rpc: Rpc, budget: Budget) -> float:
        """Let the peer pay for all of the RPC but its messages, each of which pays for itself.

        What it says of topics it pays for later, as that depends on what is news.
        """
        charge = self._pubsub.toll.charge
        entries = prices.RPC + (budget.entries + len(rpc.extensions)) * prices.ENTRY
        charge(peer, state, "control", entries)
        ids = budget.ids * prices.MESSAGE_ID
        if ids:
            charge(peer, state, "message_ids", ids)
        skipped = rpc.skipped * prices.UNWANTED_MESSAGE
        if skipped:
            charge(peer, state, "messages", skipped)
        other = len(rpc.other) + (len(rpc.control.other) if rpc.control else 0)
        unknown = other * prices.UNKNOWN_BYTE
        if unknown:
            charge(peer, state, "unknown_fields", unknown)
        return entries + ids + skipped + unknown

    def _on_rpc(self, peer: Peer, state: PeerState, rpc: Rpc, now: float) -> None:
        if rpc.subscriptions:
            self._on_subscriptions(peer, state, rpc.subscriptions, now)
        for message in rpc.messages:
            self._intake.receive(peer, state, message, now)
            if peer not in self._pubsub.peers:
                return
        if rpc.control is not None:
            self._on_control(peer, rpc.control, now)
        for number, inside in rpc.extensions:
            if peer in self._pubsub.peers:
                self._extensions[number](peer, inside, now)
        if rpc.other and peer in self._pubsub.peers:
            for tell in self._listeners.other_fields:
                tell(peer, rpc.other, now)

    def _on_control(self, peer: Peer, control: Control, now: float) -> None:
        """Hand out the entries, kind by kind in the order of registration."""
        entries = control.entries
        if len(entries) == 1:
            self._handlers[type(entries[0])](peer, entries, now)
            return
        by_kind: dict[type, list[Entry]] = {}
        for entry in entries:
            by_kind.setdefault(type(entry), []).append(entry)
        for kind, handler in self._handlers.items():
            if kind in by_kind and peer in self._pubsub.peers:
                handler(peer, tuple(by_kind[kind]), now)

    def _on_subscriptions(
        self, peer: Peer, state: PeerState, words: tuple[Subscription, ...], now: float
    ) -> None:
        """Of what an RPC says of a topic the last word counts: the others are not worth an effect.

        A topic that the peer begins to listen to costs it nothing: there can be only so many of
        them, and each must be left before it can be news again.
        """
        news = left = 0
        for subscription in {each.topic: each for each in words}.values():
            if not subscription.subscribe:
                left += self._on_unsubscribed(peer, subscription.topic, now)
            else:
                news += self._on_subscribed(peer, state, subscription, now)
        cost = left * prices.LEFT_TOPIC + (len(words) - news) * prices.SUBSCRIPTION
        self._pubsub.toll.charge(peer, state, "subscriptions", cost)

    def _on_unsubscribed(self, peer: Peer, topic: str, now: float) -> bool:
        """Whether that is news."""
        if not self._pubsub.table.remove(peer, topic):
            return self._pubsub.admittance.barred.remove(peer, topic)
        self._pubsub.emit(trace.PEER_UNSUBSCRIBED, topic, peer=peer)
        for tell in self._listeners.peer_unsubscribed:
            tell(peer, topic, now)
        return True

    def _on_subscribed(
        self, peer: Peer, state: PeerState, subscription: Subscription, now: float
    ) -> bool:
        """Whether that is news."""
        topic = subscription.topic
        if not self._pubsub.allows(topic):
            self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason="topic_not_allowed")
            return False
        admittance = self._pubsub.admittance
        if admittance.allows is not None and not admittance.admits(peer, topic):
            if not admittance.bar(peer, topic):
                self._refuse_subscription(peer, state, topic)
            return False
        added = self._pubsub.table.add(peer, topic)
        if added is None:
            self._refuse_subscription(peer, state, topic)
            return False
        for tell_fields in self._listeners.subscription_fields:
            tell_fields(peer, topic, subscription.other, now)
        if added:
            self._pubsub.emit(trace.PEER_SUBSCRIBED, topic, peer=peer)
            for tell in self._listeners.peer_subscribed:
                tell(peer, topic, now)
        return added

    def _refuse_subscription(self, peer: Peer, state: PeerState, topic: str) -> None:
        """Too many topics: not kept; and who goes on like that is dropped."""
        self._pubsub.emit(trace.IGNORED, topic, peer=peer, reason="too_many_topics")
        state.refused_subscriptions += 1
        if state.refused_subscriptions > self._pubsub.parameters.max_topics_per_peer:
            raise RemoteProtocolError("too_many_topics", "more topics than we keep, twice over")

    def _trace_packet(self, peer: Peer, size: int, rpc: Rpc) -> None:
        control = rpc.control or Control()
        counts = {kind.name: len(control.of(kind.entry)) for kind in self._kinds}
        fields: dict[str, type_of_field] = {
            "size": size,
            "subscriptions": len(rpc.subscriptions),
            "messages": len(rpc.messages) + rpc.skipped,
            **counts,
        }
        self._pubsub.emit(trace.PACKET_RECEIVED, None, None, peer, **fields)
