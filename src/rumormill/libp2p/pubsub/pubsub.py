"""Pubsub: peers, topics and messages, without a connection, a clock or a thread.

Inputs: ``PeerJoined``, ``PeerLeft``, ``Received`` (a piece of the peer's stream, cut anywhere),
``StreamRestarted`` (theirs), ``StreamLost`` and ``StreamRenewed`` (ours), ``Writable``,
``Subscribe``, ``Unsubscribe``, ``Publish``, ``Checked``, ``CheckedMany``.

Effects: ``Send`` (whole frames, in :meth:`Pubsub.wake`), ``Deliver``, ``Check``, ``Drop``,
``Published``, ``RoomAgain``, ``HoldPeer`` and trace events.

How a message travels::

    Received -> frames -> RPC -> new id? -> Check ... Checked -> seen -> Deliver
                                                               -> router.targets -> queues
    wake: for every peer with something waiting: control, then messages, as one Send
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import (
    Checked,
    CheckedMany,
    Drop,
    Effect,
    Input,
    Peer,
    PeerJoined,
    PeerLeft,
    Publish,
    Received,
    Subscribe,
    Unsubscribe,
    Writable,
)
from rumormill.core.topic import check_topic
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.libp2p.effects import StreamLost, StreamRenewed, StreamRestarted
from rumormill.libp2p.pubsub.intake import Intake
from rumormill.libp2p.pubsub.outbox import Outbox
from rumormill.libp2p.pubsub.parameters import ENVELOPE, PubsubParameters
from rumormill.libp2p.pubsub.peers import PeerState
from rumormill.libp2p.pubsub.publisher import Publisher
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.pubsub.rules import RuleBook
from rumormill.libp2p.pubsub.subscriptions import SubscriptionFilter, SubscriptionTable
from rumormill.libp2p.stack.peer_id import PeerNames
from rumormill.libp2p.wire.frames import FrameReader
from rumormill.libp2p.wire.message import WireMessage, decode_message
from rumormill.libp2p.wire.rpc import (
    Control,
    Rpc,
    Subscription,
    decode_rpc,
    lone_message,
    message_frame,
)
from rumormill.libp2p.wire.signing import Author


class Pubsub:
    """The pubsub machine of one node; who gets a message is up to its router."""

    def __init__(
        self,
        *,
        node: Peer,
        author: Author,
        router: Router,
        random: random.Random,
        parameters: PubsubParameters | None = None,
        network: str = "libp2p",
        name_of: Callable[[bytes], Peer] | None = None,
        subscription_filter: SubscriptionFilter | None = None,
        first_sequence: int | None = None,
    ) -> None:
        """``name_of`` turns a ``from`` field into a peer's name; by default base58.

        ``first_sequence`` is our first message's number; by default its time in nanoseconds.
        """
        self.node = node
        self.author = author
        self.router = router
        self.random = random
        self.parameters = parameters or PubsubParameters()
        self.effects: list[Effect] = []
        """What the call under way has brought about so far."""
        self.peers: dict[Peer, PeerState] = {}
        self.outbox = Outbox(self)
        rules = RuleBook(self.parameters)
        self._intake = Intake(self, network, rules, name_of or PeerNames().name)
        self._publisher = Publisher(self, self._intake, rules, first_sequence)
        self._filter = subscription_filter or self.parameters.subscription_filter()
        self._table = SubscriptionTable(self.parameters.max_topics_per_peer)
        self._limits = self.parameters.rpc_limits
        self._trace_packets = self.parameters.trace_packets
        self._topics: dict[str, None] = {}
        self._now = 0.0
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            Received: self._on_received,
            Checked: self._intake.checked,
            CheckedMany: self._on_checked_many,
            Publish: self._publisher.publish,
            Writable: self._on_writable,
            PeerJoined: self._on_peer_joined,
            PeerLeft: self._on_peer_left,
            StreamRestarted: self._on_stream_restarted,
            StreamLost: self._on_stream_lost,
            StreamRenewed: self._on_stream_renewed,
            Subscribe: self._on_subscribe,
            Unsubscribe: self._on_unsubscribe,
        }
        router.attach(self)

    # ---- the machine

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input; see the module's list."""
        handler = self._handlers.get(type(input))
        if handler is None:
            raise LocalProtocolError(f"pubsub knows no input {type(input).__name__}")
        self._now = now
        effects: list[Effect] = []
        self.effects = effects
        handler(input, now)
        return effects

    def wake(self, now: float) -> list[Effect]:
        """Run the router's timers, then send what waits, all of a peer's at once."""
        self._now = now
        effects: list[Effect] = []
        self.effects = effects
        self._intake.seen.expire(now)
        due = self.router.next_wake()
        if due is not None and due <= now:
            self.router.wake(now)
        self.outbox.flush()
        return effects

    def next_wake(self) -> float | None:
        """At once if something waits to be sent, else when the router wants it."""
        if self.outbox.waiting:
            return self._now
        expiry = self._intake.seen.next_expiry()
        due = self.router.next_wake()
        if due is None or expiry is None:
            return expiry if due is None else due
        return min(due, expiry)

    # ---- what others may know

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocol ids we speak, best first."""
        return self.router.protocols

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics we listen to."""
        return tuple(self._topics)

    def subscribers(self, topic: str) -> Mapping[Peer, None]:
        """Connected peers that listen to the topic, in the order in which they said so."""
        return self._table.peers(topic)

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """The peers that get every message of the topic from us."""
        return self.router.mesh(topic)

    def joined(self, topic: str) -> bool:
        """Whether we listen to the topic."""
        return topic in self._topics

    def knows(self, message_id: bytes) -> bool:
        """Whether the message was seen, or is being checked right now."""
        return message_id in self._intake.seen or message_id in self._intake.checks

    def has_targets(self, topics: tuple[str, ...]) -> bool:
        """Whether a message published now would go to anyone."""
        return any(True for _ in self.router.targets(topics, True, self._now))

    def full(self, topics: tuple[str, ...], size: int = 0) -> bool:
        """Whether a message of ``size`` bytes published now would find a queue without room.

        Each such peer is reported by ``RoomAgain`` once it has room.
        """
        any_full = False
        for peer in self.router.targets(topics, True, self._now):
            state = self.peers.get(peer)
            if state is not None and state.queue.full(size + ENVELOPE):
                state.queue.was_full = any_full = True
        return any_full

    def sizes(self) -> dict[str, int]:
        """How many entries each table has: for tests of bounded memory, and for operators."""
        return {
            "peers": len(self.peers),
            "topics": len(self._topics),
            "peer_topics": len(self._table),
            "seen": len(self._intake.seen),
            "checks": len(self._intake.checks),
            "queued": sum(state.queue.waiting for state in self.peers.values()),
            **self.router.sizes(),
        }

    # ---- peers

    def _on_peer_joined(self, joined: PeerJoined, now: float) -> None:
        peer = joined.peer
        if peer in self.peers:
            raise LocalProtocolError(f"{peer} has joined already")
        state = PeerState(joined.protocol, joined.outbound, self.parameters)
        self.peers[peer] = state
        self.emit(trace.PEER_JOINED, peer=peer, protocol=joined.protocol, outbound=joined.outbound)
        for topic in self._topics:
            self.outbox.announce(peer, topic, True)
        self.router.add_peer(peer, joined.protocol, joined.outbound, now)

    def _on_peer_left(self, left: PeerLeft, now: float) -> None:
        peer = left.peer
        state = self.peers.pop(peer, None)
        if state is None:
            return
        self.outbox.forget(peer, state)
        self._table.remove_peer(peer)
        self.router.remove_peer(peer, now)
        self.emit(trace.PEER_LEFT, peer=peer, reason=left.reason)

    def _on_stream_restarted(self, restarted: StreamRestarted, now: float) -> None:
        state = self.peers.get(restarted.peer)
        if state is not None:
            state.reader = type(state.reader)(self.parameters.max_rpc_size)

    def take_reader(self, peer: Peer) -> FrameReader:
        """Give away what is half read of the peer's stream: what comes next begins a frame."""
        state = self.peers[peer]
        reader, state.reader = state.reader, FrameReader(self.parameters.max_rpc_size)
        return reader

    def _on_stream_lost(self, lost: StreamLost, now: float) -> None:
        """What waits goes the way of what was sent: the peer may have choked on just that."""
        state = self.peers.get(lost.peer)
        if state is not None:
            self.outbox.discard(lost.peer, state, "stream_lost")

    def _on_stream_renewed(self, renewed: StreamRenewed, now: float) -> None:
        """Introduce ourselves again: the peer may have forgotten us with the old stream."""
        if renewed.peer in self.peers:
            for topic in self._topics:
                self.outbox.announce(renewed.peer, topic, True)
            self.router.renew_peer(renewed.peer)

    def _on_writable(self, writable: Writable, now: float) -> None:
        self.outbox.writable(writable.peer, writable.ready)

    # ---- what peers say

    def _on_received(self, received: Received, now: float) -> None:
        peer = received.peer
        state = self.peers.get(peer)
        if state is None:
            return  # the rest of what a dropped peer had sent
        try:
            for frame in state.reader.feed(received.packet):
                start = 0 if self._trace_packets else lone_message(frame)
                if start:  # as most are: worth saving the RPC around it
                    message = decode_message(frame[start:], self._limits.topics_per_message)
                    self._intake.receive(peer, state, message, now)
                else:
                    rpc = decode_rpc(frame, self._limits)
                    if self._trace_packets:
                        self._trace_packet(peer, len(frame), rpc)
                    self._on_rpc(peer, state, rpc, now)
                if peer not in self.peers:
                    return  # it was one rejected message too many
        except RemoteProtocolError as error:
            self.punish(peer, error)

    def _on_rpc(self, peer: Peer, state: PeerState, rpc: Rpc, now: float) -> None:
        for subscription in rpc.subscriptions:
            self._on_subscription(peer, state, subscription, now)
        for message in rpc.messages:
            self._intake.receive(peer, state, message, now)
            if peer not in self.peers:
                return
        if rpc.control is not None:
            self.router.handle_control(peer, rpc.control, now)

    def _on_subscription(
        self, peer: Peer, state: PeerState, subscription: Subscription, now: float
    ) -> None:
        topic = subscription.topic
        if not subscription.subscribe:
            if self._table.remove(peer, topic):
                self.emit(trace.PEER_UNSUBSCRIBED, topic, peer=peer)
                self.router.peer_unsubscribed(peer, topic, now)
        elif not self._filter(topic):
            self.emit(trace.IGNORED, topic, peer=peer, reason="topic_not_allowed")
        else:
            added = self._table.add(peer, topic)
            if added:
                self.emit(trace.PEER_SUBSCRIBED, topic, peer=peer)
                self.router.peer_subscribed(peer, topic, now)
            elif added is None:
                self._refuse_subscription(peer, state, topic)

    def _refuse_subscription(self, peer: Peer, state: PeerState, topic: str) -> None:
        """Too many topics: not kept; and who goes on like that is dropped."""
        self.emit(trace.IGNORED, topic, peer=peer, reason="too_many_topics")
        state.refused_subscriptions += 1
        if state.refused_subscriptions > self.parameters.max_topics_per_peer:
            raise RemoteProtocolError("too_many_topics", "more topics than we keep, twice over")

    def assume_subscribed(self, peer: Peer, topic: str) -> None:
        """Take it that the peer listens to the topic, though it has not said so."""
        if peer in self.peers and self._table.add(peer, topic):
            self.emit(trace.PEER_SUBSCRIBED, topic, peer=peer)

    def punish(self, peer: Peer, error: RemoteProtocolError) -> None:
        """The peer broke the protocol: it is dropped, and the trace says why."""
        self.emit(trace.PROTOCOL_ERROR, peer=peer, reason=error.reason, detail=error.detail)
        self.effects.append(Drop(peer, error.reason))
        self._on_peer_left(PeerLeft(peer, error.reason), self._now)

    def _on_checked_many(self, many: CheckedMany, now: float) -> None:
        for answer in many.answers:
            self._intake.checked(answer, now)

    # ---- what the application wants

    def _on_subscribe(self, command: Subscribe, now: float) -> None:
        topic = check_topic(command.topic)
        if topic in self._topics:
            return
        if not self._filter(topic):
            raise LocalProtocolError(f"the topic {topic!r} is not among the allowed ones")
        self._topics[topic] = None
        self.emit(trace.SUBSCRIBED, topic)
        for peer in self.peers:
            self.outbox.announce(peer, topic, True)
        self.router.join(topic, now)

    def _on_unsubscribe(self, command: Unsubscribe, now: float) -> None:
        topic = command.topic
        if topic not in self._topics:
            return
        del self._topics[topic]
        self.emit(trace.UNSUBSCRIBED, topic)
        for peer in self.peers:
            self.outbox.announce(peer, topic, False)
        self.router.leave(topic, now)

    # ---- passing on

    def forward(self, message: WireMessage, holders: dict[Peer, None], now: float) -> None:
        """Pass on a message of another to whom the router names and who does not have it."""
        self.router.accepted(message, now)
        frame = b""
        targets = self.router.targets(message.topics, False, now)
        if len(message.topics) > 1:
            targets = dict.fromkeys(targets)
        for peer in targets:
            if peer not in holders:
                frame = frame or message_frame(message)
                self.outbox.message_frame(peer, message, frame)

    # ---- trace

    def emit(
        self,
        event: str,
        topic: str | None = None,
        message_id: bytes | None = None,
        peer: Peer | None = None,
        **fields: type_of_field,
    ) -> None:
        """Trace an event of this node at this time."""
        self.effects.append(
            TraceEvent(self._now, self.node, event, topic, message_id, peer, fields)
        )

    def _trace_packet(self, peer: Peer, size: int, rpc: Rpc) -> None:
        control = rpc.control or Control()
        self.emit(
            trace.PACKET_RECEIVED, peer=peer, size=size,
            subscriptions=len(rpc.subscriptions), messages=len(rpc.messages),
            ihave=len(control.ihave), iwant=len(control.iwant),
            graft=len(control.graft), prune=len(control.prune),
        )  # fmt: skip
