"""A node of BEP 50 overlays: all topics of one machine, without a clock or a socket.

Inputs and effects: ``OverlayInput`` and ``OverlayEffect`` of :mod:`rumormill.bep50.effects`.

How a value travels::

    Received -> put: token? our item? newer? -> Check ... Checked -> kept -> ack, Deliver
                                                                  -> put to each entry without it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, ClassVar, cast

from rumormill.bep50.effects import (
    Contact,
    Join,
    Offer,
    OverlayEffect,
    OverlayInput,
    Publish,
    Restore,
)
from rumormill.bep50.guards import prices
from rumormill.bep50.overlay.overlay import Overlay
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.overlay.parts import build
from rumormill.bep50.overlay.saved.memory import Memory
from rumormill.bep50.overlay.topic_node import TopicNode
from rumormill.bep50.overlay.traffic.drops import Wakeable
from rumormill.bep50.overlay.traffic.outbox import VALUES, Outbox
from rumormill.bep50.overlay.values.acknowledgements import Publication
from rumormill.bep50.wire.addresses import parse_peer, peer_text
from rumormill.bep50.wire.items import Item
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.krpc import Answer, BadQuery, Failure, Query, read_packet
from rumormill.bep50.wire.topics import parse_topic
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import (
    Checked,
    CheckedMany,
    Peer,
    Published,
    Received,
    Subscribe,
    Unsubscribe,
)
from rumormill.core.timers import NEVER, Alarm, Timers
from rumormill.core.trace import PACKET_RECEIVED
from rumormill.core.transport import Listening

Elsewhere = Callable[[Peer, Answer | Failure, float], bool]
"""Takes an answer that belongs to no topic, from the main DHT over the same socket; whether it has
any use for it."""

AwaitsElsewhere = Callable[[Peer, bytes], bool]
"""Whether such an answer of a peer, with this transaction id, is waited for."""


class OverlayNode:
    """The machine of one node: IPv4 and IPv6 side by side, with a table each for every topic."""

    def __init__(
        self,
        own_id: bytes,
        keys: Iterable[ItemKey],
        parameters: OverlayParameters,
        random: Random,
        entropy: Random,
        network: str = "bep50",
        name: str = "",
        elsewhere: Elsewhere | None = None,
        awaits_elsewhere: AwaitsElsewhere | None = None,
    ) -> None:
        """``entropy`` makes tokens and transaction ids: live it has to be the system's.

        ``name`` is what traces call us until ``Listening`` says our address; by default our id.
        """
        self.id = own_id
        """Our node id, 20 bytes, the same in all topics."""
        self.outbox = Outbox(name or own_id.hex(), parameters.trace_packets)
        """Where the effects of the call under way are."""
        self.topic_nodes: dict[bytes, TopicNode] = {}
        self.watched: set[bytes] = set()
        """Topics that somebody wants to know of when anything may have changed in them."""
        self.watches_all = False
        """Whether that goes for all topics."""
        self.stirred: dict[bytes, None] = {}
        """Topics of these where something may have changed; for whoever looks to clear."""
        self._parameters = parameters
        self._network = network
        self._elsewhere = elsewhere
        self._awaits_elsewhere = awaits_elsewhere
        self._alarm = Alarm()
        self._timers: Timers[Wakeable] = Timers(self._alarm)
        self._by_text: dict[str, TopicNode] = {}
        self._contacts: dict[Peer, None] = {}
        parts = build(
            own_id, {key.public_key: key for key in keys}, parameters, random, entropy, self.outbox,
            self._timers, self.topic_nodes, self._awaits,
        )  # fmt: skip
        self.checks = parts.checks
        self._parts = parts
        self._book = parts.common.book
        self._drops = parts.common.drops
        self._toll = parts.common.toll
        self.gate = self._toll.gate
        """Says of a packet whether it may come in, before it is read: for a transport to ask."""
        self._answering = parts.answering
        self._memory = Memory(own_id, parts.joining, parts.checks, parameters.most_topics)

    @property
    def name(self) -> str:
        """What traces call us: our address."""
        return self.outbox.name

    # ---- the machine

    def handle(self, input: OverlayInput, now: float) -> list[OverlayEffect]:
        """Take one input; see the module's list."""
        effects = self.outbox.begin(now)
        self.take(input, now)
        # Others may leave effects of their own in the outbox; this node does not.
        return cast("list[OverlayEffect]", effects)

    def take(self, input: OverlayInput, now: float) -> None:
        """The same for who has begun the call, and finds the effects in the outbox."""
        if type(input) is Received:
            self._on_received(input, now)
            return
        handler = self._HANDLERS.get(type(input))
        if handler is None:
            raise LocalProtocolError(f"a bep50 node knows no input {type(input).__name__}")
        handler(self, input, now)

    def wake(self, now: float) -> list[OverlayEffect]:
        """Do what is due."""
        effects = self.outbox.begin(now)
        self.rouse(now)
        return cast("list[OverlayEffect]", effects)

    def rouse(self, now: float) -> None:
        """The same for who has begun the call."""
        for each in self._timers.due(now):
            each.wake(now)
            if isinstance(each, Overlay):
                self._stir(each.topic)
        due = self._timers.next_wake()
        self._alarm.soonest = NEVER if due is None else due

    def next_wake(self) -> float | None:
        """When something may be due."""
        soonest = self._alarm.soonest
        return None if soonest == NEVER else soonest

    def _stir(self, topic: TopicNode) -> None:
        if self.watches_all or topic.target in self.watched:
            self.stirred[topic.target] = None

    # ---- packets

    def _on_received(self, received: Received, now: float) -> None:
        peer = received.peer
        if self.gate.alert and not self.gate.admits(peer, received.packet, now):
            return
        try:
            packet = read_packet(received.packet)
        except BadQuery as error:
            self._answering.bad_query(peer, error, now)
            return
        except RemoteProtocolError as error:
            self._drops.count("packet", error.reason)
            self._toll.charge(peer, prices.UNREADABLE)
            return
        if self.outbox.trace_packets:
            self._trace_received(peer, packet, len(received.packet))
        topic = None if packet.topic is None else self.topic_nodes.get(packet.topic)
        if isinstance(packet, Query):
            self._answering.query(peer, packet, now)
        elif packet.topic is None:
            self._without_topic(peer, packet, now)
        else:
            overlay = None if topic is None else topic.overlay_if_any(peer)
            if overlay is None:
                self._drops.count("answer", "unasked")
                self._toll.charge(peer, prices.UNASKED_ANSWER)
            elif isinstance(packet, Answer):
                overlay.answered(peer, packet, now)
            else:
                overlay.failed(peer, packet, now)
        if topic is not None:
            self._stir(topic)

    def _without_topic(self, peer: Peer, packet: Answer | Failure, now: float) -> None:
        """From the main DHT: to our client there, or from a contact that is no member."""
        for overlay in self._book.awaiting(peer):
            pending = overlay.transactions.finish(peer, packet.transaction)
            if pending is not None:
                overlay.not_a_member(pending, "not_a_member", now)
                self._stir(overlay.topic)
                return
        if self._elsewhere is None or not self._elsewhere(peer, packet, now):
            self._drops.count("answer", "no_topic")
            self._toll.charge(peer, prices.UNASKED_ANSWER)

    def _awaits(self, peer: Peer, target: bytes | None, transaction: bytes) -> bool:
        """Whether we wait for such an answer."""
        if target is None:
            if self._awaits_elsewhere is not None and self._awaits_elsewhere(peer, transaction):
                return True
            asking = self._book.awaiting(peer)
            return any(each.transactions.awaits(peer, transaction) for each in asking)
        topic = self.topic_nodes.get(target)
        overlay = None if topic is None else topic.overlay_if_any(peer)
        return overlay is not None and overlay.transactions.awaits(peer, transaction)

    def _trace_received(self, peer: Peer, packet: Query | Answer | Failure, size: int) -> None:
        if isinstance(packet, Query):
            kind = packet.method
        else:
            kind = "error" if isinstance(packet, Failure) else "answer"
            if isinstance(packet, Answer) and b"v" in packet.values:
                kind = "value"
        values = int(kind in VALUES)
        self.outbox.emit(PACKET_RECEIVED, peer=peer, size=size, messages=values, kind=kind)

    # ---- the driver's inputs

    def _on_checked(self, answer: Checked, now: float) -> None:
        topic = self.checks.checked(answer, now)
        if topic is not None:
            self._stir(topic)

    def _on_checked_many(self, many: CheckedMany, now: float) -> None:
        for answer in many.answers:
            self._on_checked(answer, now)

    def _on_listening(self, listening: Listening, now: float) -> None:
        self._book.own = dict.fromkeys(listening.addresses)
        if listening.addresses:
            self.outbox.name = listening.addresses[-1]

    def _on_contact(self, contact: Contact, now: float) -> None:
        peers = [peer_text(*parse_peer(peer)) for peer in contact.peers]
        if contact.topic is not None:
            topic = self.topic_nodes.get(contact.topic)
            if topic is None:
                self._drops.count("contact", "unknown_topic")
                return
            self._contact(topic, peers, now)
            return
        for peer in peers:
            if len(self._contacts) < self._parameters.most_contacts:
                self._contacts[peer] = None
            elif peer not in self._contacts:
                self._drops.count("contact", "too_many")
        for topic in self.topic_nodes.values():
            self._contact(topic, peers, now)

    def _contact(self, topic: TopicNode, peers: Iterable[Peer], now: float) -> None:
        by_family: dict[bool, list[Peer]] = {}
        for peer in peers:
            by_family.setdefault(peer[0] == "[", []).append(peer)
        for family in by_family.values():
            self._parts.joining.contacts(topic.overlay(family[0]), family, now)
        self._stir(topic)

    def _on_offer(self, offer: Offer, now: float) -> None:
        topic = self.topic_nodes.get(offer.item.target)
        if topic is None:
            self._drops.count("offer", "unknown_topic")
        elif offer.item.seq > topic.seq:
            self.checks.offered(topic, offer.item)

    # ---- what the application wants

    def _on_subscribe(self, command: Subscribe, now: float) -> None:
        topic = self._join(command.topic, now)
        if not topic.subscribed:
            topic.subscribed = True
            self.outbox.emit(trace.SUBSCRIBED, topic.text)
            topic.deliver(now)

    def _on_join(self, command: Join, now: float) -> None:
        self._join(command.topic, now)

    def _join(self, text: str, now: float) -> TopicNode:
        topic = self._by_text.get(text)
        if topic is not None:
            return topic
        name = parse_topic(text)
        topic = self._by_text.get(name.text)
        if topic is not None:
            return topic
        if len(self.topic_nodes) >= self._parameters.most_topics:
            most = self._parameters.most_topics
            raise LocalProtocolError(f"this node takes part in {most} topics already (most_topics)")
        topic = TopicNode(name, self._parts.common, self._parts.duties, self.checks, self._network)
        self.topic_nodes[topic.target] = self._by_text[topic.text] = topic
        self._memory.joined(topic, now)
        self._contact(topic, self._contacts, now)
        return topic

    def _on_unsubscribe(self, command: Unsubscribe, now: float) -> None:
        topic = self.topic(command.topic)
        if topic is None:
            return
        del self.topic_nodes[topic.target], self._by_text[topic.text]
        self.checks.leave(topic)
        for overlay in topic.overlays:
            overlay.leave(now)
        topic.acknowledgements.leave(topic.seq)
        self._stir(topic)
        if topic.subscribed:
            self.outbox.emit(trace.UNSUBSCRIBED, topic.text)

    def _on_publish(self, command: Publish, now: float) -> None:
        publication = self.publish(command, now)
        self.outbox.effects.append(Published(publication.outset))

    def publish(self, command: Publish, now: float) -> Publication:
        """Pass a value on; what becomes of it can be seen in what is returned."""
        topic = self.topic(command.topic)
        if topic is None:
            raise LocalProtocolError(f"join the topic {command.topic} before publishing on it")
        return self._parts.publishing.publish(topic, command, now)

    def topic(self, text: str) -> TopicNode | None:
        """A topic that we take part in, in any spelling."""
        return self._by_text.get(text) or self._by_text.get(parse_topic(text).text)

    # ---- from one run to the next

    def state(self) -> bytes:
        """Node id, tables and newest items, for ``Restore`` in the next run."""
        return self._memory.dump(self.topic_nodes.values())

    def _on_restore(self, restore: Restore, now: float) -> None:
        self._memory.load(restore.state, self.topic_nodes, now)

    # ---- what others may know

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that we take part in, as text."""
        return tuple(self._by_text)

    def latest(self, topic: str) -> Item | None:
        """The newest item of the topic that we know."""
        found = self.topic(topic)
        return None if found is None else found.item

    def peers(self) -> tuple[Peer, ...]:
        """Everybody in any of our tables."""
        return self._book.neighbours

    def subscribers(self, topic: str) -> Mapping[Peer, None]:
        """Who is in the topic's tables."""
        found = self.topic(topic)
        overlays = () if found is None else found.overlays
        return {entry.peer: None for overlay in overlays for entry in overlay.table.entries}

    def joined(self, topic: str) -> bool:
        """Whether members answered and the first search is over: ``latest`` can be relied on."""
        found = self.topic(topic)
        return found is not None and found.joined

    def pending(self, topic: str | None = None) -> int:
        """Entries that lack the newest value, as far as we know, and that it is on its way to."""
        if topic is None:
            return sum(each.pending for each in self.topic_nodes.values())
        found = self.topic(topic)
        return 0 if found is None else found.pending

    def sizes(self) -> dict[str, int]:
        """How many entries each table has: for tests of bounded memory, and for operators."""
        sizes = {
            "topics": len(self.topic_nodes),
            "saved_topics": len(self._memory),
            "contacts": len(self._contacts),
            "proofs": len(self._parts.common.proofs),
            "timers": len(self._timers),
            **self.gate.sizes(),
            **self._book.sizes(),
            **self.checks.sizes(),
        }
        for topic in self.topic_nodes.values():
            for overlay in topic.overlays:
                for key, count in overlay.sizes().items():
                    sizes[f"overlay_{key}"] = sizes.get(f"overlay_{key}", 0) + count
        return sizes

    _HANDLERS: ClassVar[dict[type, Callable[[Any, Any, float], None]]] = {
        Checked: _on_checked,
        CheckedMany: _on_checked_many,
        Contact: _on_contact,
        Join: _on_join,
        Listening: _on_listening,
        Offer: _on_offer,
        Publish: _on_publish,
        Restore: _on_restore,
        Subscribe: _on_subscribe,
        Unsubscribe: _on_unsubscribe,
    }
