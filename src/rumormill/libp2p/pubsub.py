"""Pubsub: peers, topics and messages, without a connection, a clock or a thread.

Inputs: ``PeerJoined``, ``PeerLeft``, ``StreamRestarted``, ``Received`` (a piece of the peer's
stream, cut anywhere), ``Writable``, ``Subscribe``, ``Unsubscribe``, ``Publish``, ``Checked``.

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
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError, RemoteProtocolError
from rumormill.core.machine import (
    Checked,
    Drop,
    Effect,
    Input,
    Peer,
    PeerJoined,
    PeerLeft,
    Received,
    Send,
    Subscribe,
    Unsubscribe,
    Writable,
)
from rumormill.core.receipt import Receipt
from rumormill.core.topic import check_topic
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.libp2p.effects import Publish, Published, RoomAgain, StreamRestarted
from rumormill.libp2p.intake import Intake
from rumormill.libp2p.parameters import PubsubParameters
from rumormill.libp2p.peers import PeerState
from rumormill.libp2p.router import Router
from rumormill.libp2p.rpc import Prune, Rpc, Subscription, decode_rpc, message_frame
from rumormill.libp2p.rules import RuleBook
from rumormill.libp2p.signing import Author, signed_message
from rumormill.libp2p.stack.peer_id import PeerNames
from rumormill.libp2p.subscriptions import SubscriptionFilter, SubscriptionTable
from rumormill.libp2p.wire_message import WireMessage, build_message

MOST_BYTES_PER_SEND = 256 * 1024
"""How much one peer is handed in one turn: what its flow-control window takes at first."""


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
        self._rules = RuleBook(self.parameters)
        self._intake = Intake(self, network, self._rules, name_of or PeerNames().name)
        self._filter = subscription_filter or self.parameters.subscription_filter()
        self._table = SubscriptionTable(self.parameters.max_topics_per_peer)
        self._limits = self.parameters.rpc_limits
        self._topics: dict[str, None] = {}
        self._dirty: dict[Peer, None] = {}
        self._next_sequence = first_sequence
        self._now = 0.0
        self._handlers: dict[type, Callable[[Any, float], None]] = {
            Received: self._on_received,
            Checked: self._intake.checked,
            Publish: self._on_publish,
            Writable: self._on_writable,
            PeerJoined: self._on_peer_joined,
            PeerLeft: self._on_peer_left,
            StreamRestarted: self._on_stream_restarted,
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
        if self._dirty:
            self._flush()
        return effects

    def next_wake(self) -> float | None:
        """At once if something waits to be sent, else when the router wants it."""
        if self._dirty:
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

    def full(self, topics: tuple[str, ...]) -> bool:
        """Whether a message published now would find a queue without room.

        Each such peer is reported by ``RoomAgain`` once it has room.
        """
        any_full = False
        for peer in self.router.targets(topics, True, self._now):
            state = self.peers.get(peer)
            if state is not None and state.queue.full():
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
        }

    # ---- peers

    def _on_peer_joined(self, joined: PeerJoined, now: float) -> None:
        peer = joined.peer
        if peer in self.peers:
            raise LocalProtocolError(f"{peer} has joined already")
        state = PeerState(joined.protocol, joined.outbound, self.parameters)
        self.peers[peer] = state
        self.emit(
            trace.PEER_JOINED, peer=peer, protocol=joined.protocol, outbound=joined.outbound
        )
        for topic in self._topics:
            state.queue.announce(topic, True)
            self._dirty[peer] = None
        self.router.add_peer(peer, joined.protocol, joined.outbound, now)

    def _on_peer_left(self, left: PeerLeft, now: float) -> None:
        peer = left.peer
        state = self.peers.pop(peer, None)
        if state is None:
            return
        self._dirty.pop(peer, None)
        lost = state.queue.waiting
        if lost:
            self.emit(
                trace.DROPPED, peer=peer, what="message", reason="peer_left", count=lost
            )
        if state.queue.was_full:
            self.effects.append(RoomAgain(peer))  # whoever waits for it need not any more
        self._table.remove_peer(peer)
        self.router.remove_peer(peer, now)
        self.emit(trace.PEER_LEFT, peer=peer, reason=left.reason)

    def _on_stream_restarted(self, restarted: StreamRestarted, now: float) -> None:
        state = self.peers.get(restarted.peer)
        if state is not None:
            state.reader = type(state.reader)(self.parameters.max_rpc_size)

    def _on_writable(self, writable: Writable, now: float) -> None:
        state = self.peers.get(writable.peer)
        if state is None:
            return
        state.queue.writable = writable.ready
        if writable.ready and (state.queue.waiting or state.queue.has_control):
            self._dirty[writable.peer] = None

    # ---- what peers say

    def _on_received(self, received: Received, now: float) -> None:
        peer = received.peer
        state = self.peers.get(peer)
        if state is None:
            return  # the rest of what a dropped peer had sent
        try:
            for frame in state.reader.feed(received.packet):
                rpc = decode_rpc(frame, self._limits)
                if self.parameters.trace_packets:
                    self._trace_packet(trace.PACKET_RECEIVED, peer, len(frame), rpc)
                self._on_rpc(peer, state, rpc, now)
        except RemoteProtocolError as error:
            self._punish(peer, error)

    def _on_rpc(self, peer: Peer, state: PeerState, rpc: Rpc, now: float) -> None:
        for subscription in rpc.subscriptions:
            self._on_subscription(peer, state, subscription, now)
        for message in rpc.messages:
            self._intake.receive(peer, state, message, now)
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

    def _punish(self, peer: Peer, error: RemoteProtocolError) -> None:
        """The peer broke the protocol: it is dropped, and the trace says why."""
        self.emit(trace.PROTOCOL_ERROR, peer=peer, reason=error.reason, detail=error.detail)
        self.effects.append(Drop(peer, error.reason))
        self._on_peer_left(PeerLeft(peer, error.reason), self._now)

    # ---- what the application wants

    def _on_subscribe(self, command: Subscribe, now: float) -> None:
        topic = check_topic(command.topic)
        if topic in self._topics:
            return
        if not self._filter(topic):
            raise LocalProtocolError(f"the topic {topic!r} is not among the allowed ones")
        self._topics[topic] = None
        self.emit(trace.SUBSCRIBED, topic)
        self._announce(topic, True)
        self.router.join(topic, now)

    def _on_unsubscribe(self, command: Unsubscribe, now: float) -> None:
        topic = command.topic
        if topic not in self._topics:
            return
        del self._topics[topic]
        self.emit(trace.UNSUBSCRIBED, topic)
        self._announce(topic, False)
        self.router.leave(topic, now)

    def _announce(self, topic: str, subscribe: bool) -> None:
        for peer, state in self.peers.items():
            state.queue.announce(topic, subscribe)
            self._dirty[peer] = None

    def _on_publish(self, command: Publish, now: float) -> None:
        topics, data = command.topics, command.data
        message = self._own_message(topics, data, now)
        if self.knows(message.id):
            raise LocalProtocolError("this message was published or received before (equal id)")
        self._intake.seen.add(message.id, now)
        reached: list[Peer] = []
        queued: list[Peer] = []
        dropped: dict[Peer, str] = {}
        self.router.accepted(message, now)
        frame = message_frame(message)
        for peer in dict.fromkeys(self.router.targets(topics, True, now)):
            state = self.peers[peer]
            free = state.queue.writable and not state.queue.waiting
            if self._queue_frame(peer, state, message, frame):
                (reached if free else queued).append(peer)
            else:
                dropped[peer] = "queue_full"
        self.emit(
            trace.PUBLISHED, topics[0], message.id,
            size=len(data), peers=len(reached) + len(queued), dropped=len(dropped),
        )  # fmt: skip
        if self.parameters.deliver_own:
            self._intake.deliver(message, None, now)
        receipt = Receipt(message.id, topics[0], tuple(reached), tuple(queued), dropped)
        self.effects.append(Published(receipt))

    def _own_message(self, topics: tuple[str, ...], data: bytes, now: float) -> WireMessage:
        """Our message, signed if its topic wants that; raises if it cannot be sent."""
        if not topics or (len(topics) > 1 and not self.parameters.multi_topic):
            raise LocalProtocolError("publish on one topic; more need multi_topic=True")
        signing = {self._rules.of(check_topic(topic)).signing for topic in topics}
        if len(signing) > 1:
            raise LocalProtocolError("the topics have different signature policies")
        for topic in topics:
            limit = self._rules.of(topic).max_message_size
            if len(data) > limit:
                raise MessageTooLargeError(len(data), limit)
        if signing == {"StrictSign"}:
            # Nanoseconds at the first message, then one more each: never used twice, even if the
            # node was restarted in between.
            sequence = int(now * 1e9) if self._next_sequence is None else self._next_sequence
            self._next_sequence = sequence + 1
            message = signed_message(self.author, data, topics, sequence)
        else:
            message = build_message(data=data, topics=topics)
        message.id = self._rules.of(topics[0]).message_id(message)
        return message

    # ---- sending

    def forward(self, message: WireMessage, holders: dict[Peer, None], now: float) -> None:
        """Pass on a message of another to whom the router names and who does not have it."""
        self.router.accepted(message, now)
        frame = b""
        for peer in dict.fromkeys(self.router.targets(message.topics, False, now)):
            state = self.peers.get(peer)
            if state is not None and peer not in holders:
                frame = frame or message_frame(message)
                self._queue_frame(peer, state, message, frame)

    def send_message(self, peer: Peer, message: WireMessage) -> bool:
        """Queue a message for a peer; False if there was no room (counted and traced)."""
        state = self.peers.get(peer)
        return state is not None and self._queue_frame(
            peer, state, message, message_frame(message)
        )

    def _queue_frame(
        self, peer: Peer, state: PeerState, message: WireMessage, frame: bytes
    ) -> bool:
        if state.queue.add_message(frame):
            self._dirty[peer] = None
            return True
        self.emit(
            trace.DROPPED, message.topics[0], message.id, peer,
            what="message", reason="queue_full", count=1,
        )  # fmt: skip
        return False

    def send_graft(self, peer: Peer, topic: str) -> None:
        """Queue GRAFT."""
        self.peers[peer].queue.graft(topic)
        self._dirty[peer] = None

    def send_prune(self, peer: Peer, prune: Prune) -> None:
        """Queue PRUNE."""
        self.peers[peer].queue.prune(prune)
        self._dirty[peer] = None

    def send_ihave(self, peer: Peer, topic: str, message_ids: list[bytes]) -> None:
        """Queue IHAVE."""
        self._count_lost_ids(peer, "ihave", self.peers[peer].queue.ihave(topic, message_ids))

    def send_iwant(self, peer: Peer, message_ids: list[bytes]) -> None:
        """Queue IWANT."""
        self._count_lost_ids(peer, "iwant", self.peers[peer].queue.iwant(message_ids))

    def _count_lost_ids(self, peer: Peer, what: str, lost: int) -> None:
        self._dirty[peer] = None
        if lost:
            self.emit(trace.DROPPED, peer=peer, what=what, reason="queue_full", count=lost)

    def _flush(self) -> None:
        """Send what waits, to every peer whose line is free; what is left stays for next time."""
        parameters = self.parameters
        dirty, self._dirty = self._dirty, {}
        for peer in dirty:
            state = self.peers.get(peer)
            if state is None or not state.queue.writable:
                continue  # becomes dirty again when its line is free
            queue = state.queue
            packet = queue.take(
                MOST_BYTES_PER_SEND, parameters.max_control_size, parameters.max_rpc_size
            )
            if packet:
                self.effects.append(Send(peer, packet))
                if parameters.trace_packets:
                    self._trace_packet(trace.PACKET_SENT, peer, len(packet), None)
            if queue.waiting:
                self._dirty[peer] = None
            if queue.was_full and queue.half_empty():
                queue.was_full = False
                self.effects.append(RoomAgain(peer))

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

    def _trace_packet(self, event: str, peer: Peer, size: int, rpc: Rpc | None) -> None:
        counts: dict[str, type_of_field] = {"size": size}
        if rpc is not None:
            control = rpc.control
            counts["subscriptions"] = len(rpc.subscriptions)
            counts["messages"] = len(rpc.messages)
            for kind in ("ihave", "iwant", "graft", "prune"):
                counts[kind] = 0 if control is None else len(getattr(control, kind))
        self.emit(event, peer=peer, **counts)
