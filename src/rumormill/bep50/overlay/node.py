"""A node of BEP 50 overlays: all topics of one machine, without a clock or a socket.

Inputs: ``Received`` (a datagram), ``Subscribe``, ``Unsubscribe``, ``Checked``, ``CheckedMany``;
``Listening``, ``Contact``, ``Join``, ``Publish``, ``Offer``, ``Restore``; those of the main client.

Effects: ``Send`` (a datagram), ``Deliver``, ``Check`` (its subject is an ``Item``), ``Published``,
trace events; ``Acknowledged``, ``Refused``, ``ContactEnded``; those of the main client.

How a value travels::

    Received -> put: token? our item? newer? -> Check ... Checked -> kept -> ack, Deliver
                                                                  -> put to each entry without it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar

from rumormill.bep50.effects import Contact, Join, Listening, Offer, Publish, Restore
from rumormill.bep50.guards.proofs import ProvenAddresses
from rumormill.bep50.guards.rate_limits import RateLimits
from rumormill.bep50.guards.tokens import Tokens
from rumormill.bep50.main_dht.effects import MainContact, ReadItem, WriteItem
from rumormill.bep50.overlay import publishing, saved_state
from rumormill.bep50.overlay.answering import Answering
from rumormill.bep50.overlay.drops import Drops
from rumormill.bep50.overlay.forwarding import Forwarding
from rumormill.bep50.overlay.item_checks import ItemChecks
from rumormill.bep50.overlay.joining import Joining
from rumormill.bep50.overlay.keepalive import Keepalive
from rumormill.bep50.overlay.overlay import Overlay
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.overlay.peer_book import PeerBook
from rumormill.bep50.overlay.saved_state import SavedTopic, saved_id
from rumormill.bep50.overlay.topic_node import TopicNode
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
    Effect,
    Input,
    Peer,
    Received,
    Send,
    Subscribe,
    Unsubscribe,
)
from rumormill.core.timers import NEVER, Alarm, Timers
from rumormill.core.trace import PACKET_RECEIVED, PACKET_SENT, TraceEvent, type_of_field

if TYPE_CHECKING:
    from rumormill.bep50.main_dht.client import MainClient

__all__ = ["Node", "saved_id"]

PINGS_AT_ONCE = 2.0
"""Seconds' worth of pings to strangers that may be sent at once."""

_VALUES = ("put", "value")
"""Packets that carry a value."""


class Node:
    """The machine of one node: IPv4 and IPv6 side by side, with a table each for every topic."""

    def __init__(
        self,
        own_id: bytes,
        keys: Iterable[ItemKey],
        parameters: OverlayParameters,
        random: Random,
        entropy: Random,
        network: str = "bep50",
        main: MainClient | None = None,
        name: str = "",
    ) -> None:
        """``entropy`` makes tokens and transaction ids: live it has to be the system's.

        ``name`` is what traces call us until ``Listening`` says our address; by default our id.
        """
        self.id = own_id
        """Our node id, 20 bytes, the same in all topics."""
        self.name = name or own_id.hex()
        """What traces call us: our address."""
        self.keys = {key.public_key: key for key in keys}
        """Of the topics that we can publish on."""
        self.parameters = parameters
        self.random = random
        self.entropy = entropy
        self.network = network
        self.now = 0.0
        self.effects: list[Effect] = []
        """What the call under way has brought about so far."""
        self.book = PeerBook()
        self.topic_nodes: dict[bytes, TopicNode] = {}
        self.alarm = Alarm()
        self.timers: Timers[Drops | Overlay] = Timers(self.alarm)
        self.drops = Drops(self)
        self.tokens = Tokens(entropy, parameters.token_rotation)
        most = parameters.most_addresses
        self.limits = RateLimits(parameters.query_rate, parameters.query_burst, most)
        self.proofs = ProvenAddresses(parameters.proof_lifetime, most)
        rate = parameters.ping_back_rate
        self.ping_limits = RateLimits(rate, max(1.0, rate * PINGS_AT_ONCE), 1)
        self.checks = ItemChecks(self)
        self.answering = Answering(self)
        self.forwarding = Forwarding(self)
        self.joining = Joining(self)
        self.keepalive = Keepalive(self)
        self._by_text: dict[str, TopicNode] = {}
        self._contacts: dict[Peer, None] = {}
        self._saved: dict[bytes, SavedTopic] = {}
        self._main = main
        self._trace_packets = parameters.trace_packets

    # ---- the machine

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input; see the module's list."""
        self.now = now
        effects: list[Effect] = []
        self.effects = effects
        if type(input) is Received:
            self._on_received(input, now)
            return effects
        handler = self._HANDLERS.get(type(input))
        if handler is None:
            raise LocalProtocolError(f"a bep50 node knows no input {type(input).__name__}")
        handler(self, input, now)
        return effects

    def wake(self, now: float) -> list[Effect]:
        """Do what is due."""
        self.now = now
        effects: list[Effect] = []
        self.effects = effects
        for each in self.timers.due(now):
            each.wake(now)
        due = self.timers.next_wake()
        self.alarm.soonest = NEVER if due is None else due
        main = self._main
        if main is not None and (due := main.next_wake()) is not None and due <= now:
            effects += main.wake(now)
        return effects

    def next_wake(self) -> float | None:
        """When something may be due."""
        soonest = self.alarm.soonest
        if self._main is not None and (due := self._main.next_wake()) is not None:
            soonest = min(soonest, due)
        return None if soonest == NEVER else soonest

    # ---- packets

    def _on_received(self, received: Received, now: float) -> None:
        peer = received.peer
        try:
            packet = read_packet(received.packet)
        except BadQuery as error:
            self.answering.bad_query(peer, error, now)
            return
        except RemoteProtocolError as error:
            self.drops.count("packet", error.reason)
            return
        if self._trace_packets:
            self._trace_received(peer, packet, len(received.packet))
        if isinstance(packet, Query):
            self.answering.query(peer, packet, now)
        elif packet.topic is None:
            self._without_topic(peer, packet, now)
        else:
            topic = self.topic_nodes.get(packet.topic)
            overlay = None if topic is None else topic.overlay_if_any(peer)
            if overlay is None:
                self.drops.count("answer", "unasked")
            elif isinstance(packet, Answer):
                overlay.answered(peer, packet, now)
            else:
                overlay.failed(peer, packet, now)

    def _without_topic(self, peer: Peer, packet: Answer | Failure, now: float) -> None:
        """From the main DHT: to our client there, or from a contact that is no member."""
        for overlay in self.book.awaiting(peer):
            pending = overlay.transactions.finish(peer, packet.transaction)
            if pending is not None:
                overlay.not_a_member(pending, "not_a_member", now)
                return
        if self._main is not None:
            self.effects += self._main.answered(peer, packet, now)
        else:
            self.drops.count("answer", "no_topic")

    def send(self, peer: Peer, packet: bytes, kind: str) -> None:
        """Send a datagram; ``kind`` is the query's method, ``answer``, ``value`` or ``error``."""
        self.effects.append(Send(peer, packet))
        if self._trace_packets:
            self.effects.append(
                TraceEvent(
                    self.now, self.name, PACKET_SENT, None, None, peer,
                    {"size": len(packet), "messages": int(kind in _VALUES), "kind": kind},
                )
            )  # fmt: skip

    def _trace_received(self, peer: Peer, packet: Query | Answer | Failure, size: int) -> None:
        if isinstance(packet, Query):
            kind = packet.method
        else:
            kind = "error" if isinstance(packet, Failure) else "answer"
            if isinstance(packet, Answer) and b"v" in packet.values:
                kind = "value"
        self.emit(PACKET_RECEIVED, peer=peer, size=size, messages=int(kind in _VALUES), kind=kind)

    # ---- the driver's inputs

    def _on_checked(self, answer: Checked, now: float) -> None:
        self.checks.checked(answer, now)

    def _on_checked_many(self, many: CheckedMany, now: float) -> None:
        for answer in many.answers:
            self.checks.checked(answer, now)

    def _on_listening(self, listening: Listening, now: float) -> None:
        self.book.own = dict.fromkeys(listening.peers)
        if listening.peers:
            self.name = listening.peers[-1]
            if self._main is not None:
                self._main.node = self.name

    def _on_contact(self, contact: Contact, now: float) -> None:
        peers = [peer_text(*parse_peer(peer)) for peer in contact.peers]
        if contact.topic is not None:
            topic = self.topic_nodes.get(contact.topic)
            if topic is None:
                self.drops.count("contact", "unknown_topic")
                return
            self._contact(topic, peers, now)
            return
        for peer in peers:
            if len(self._contacts) < self.parameters.most_contacts:
                self._contacts[peer] = None
            elif peer not in self._contacts:
                self.drops.count("contact", "too_many")
        for topic in self.topic_nodes.values():
            self._contact(topic, peers, now)

    def _contact(self, topic: TopicNode, peers: Iterable[Peer], now: float) -> None:
        by_family: dict[bool, list[Peer]] = {}
        for peer in peers:
            by_family.setdefault(peer[0] == "[", []).append(peer)
        for family in by_family.values():
            self.joining.contacts(topic.overlay(family[0]), family, now)

    def _on_offer(self, offer: Offer, now: float) -> None:
        topic = self.topic_nodes.get(offer.item.target)
        if topic is None:
            self.drops.count("offer", "unknown_topic")
        elif offer.item.seq > topic.seq:
            self.checks.offered(topic, offer.item)

    def _on_main(self, input: Input, now: float) -> None:
        if self._main is None:
            raise LocalProtocolError("this node has no client of the main DHT")
        self.effects += self._main.handle(input, now)

    # ---- what the application wants

    def _on_subscribe(self, command: Subscribe, now: float) -> None:
        topic = self._join(command.topic, now)
        if not topic.subscribed:
            topic.subscribed = True
            self.emit(trace.SUBSCRIBED, topic.text)
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
        if len(self.topic_nodes) >= self.parameters.most_topics:
            most = self.parameters.most_topics
            raise LocalProtocolError(f"this node takes part in {most} topics already (most_topics)")
        topic = TopicNode(self, name)
        self.topic_nodes[topic.target] = self._by_text[topic.text] = topic
        saved = self._saved.pop(topic.target, None)
        if saved is not None:
            self._resume(topic, saved, now)
        self._contact(topic, self._contacts, now)
        return topic

    def _on_unsubscribe(self, command: Unsubscribe, now: float) -> None:
        topic = self._topic(command.topic)
        if topic is None:
            return
        del self.topic_nodes[topic.target], self._by_text[topic.text]
        self.checks.leave(topic)
        for overlay in topic.overlays:
            overlay.leave(now)
        for peer in list(topic.awaiting):
            topic.refused_by(peer, topic.seq, 0, "no_answer")
        if topic.subscribed:
            self.emit(trace.UNSUBSCRIBED, topic.text)

    def _on_publish(self, command: Publish, now: float) -> None:
        topic = self._topic(command.topic)
        if topic is None:
            raise LocalProtocolError(f"join the topic {command.topic} before publishing on it")
        publishing.publish(self, topic, command, now)

    def _topic(self, text: str) -> TopicNode | None:
        return self._by_text.get(text) or self._by_text.get(parse_topic(text).text)

    # ---- from one run to the next

    def state(self) -> bytes:
        """Node id, tables and newest items, for ``Restore`` in the next run."""
        return saved_state.dump(self.id, self.topic_nodes.values(), self._saved)

    def _on_restore(self, restore: Restore, now: float) -> None:
        try:
            saved = saved_state.load(restore.state)
        except RemoteProtocolError as error:
            raise LocalProtocolError(f"the saved state cannot be used: {error}") from None
        for target, topic in saved.topics.items():
            joined = self.topic_nodes.get(target)
            if joined is not None:
                self._resume(joined, topic, now)
            elif len(self._saved) < self.parameters.most_topics:
                self._saved[target] = topic

    def _resume(self, topic: TopicNode, saved: SavedTopic, now: float) -> None:
        """Nodes have to answer, and the item to pass its check."""
        by_family: dict[bool, list[Any]] = {}
        for node in saved.nodes:
            by_family.setdefault(node.peer[0] == "[", []).append(node)
        for family in by_family.values():
            overlay = topic.overlay(family[0].peer)
            overlay.searching = True
            overlay.table.load(family)
            overlay.table_changed(now)
        item = saved.item
        if item is not None and item.target == topic.target and item.seq > topic.seq:
            self.checks.offered(topic, item, restored=True)

    # ---- what others may know

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that we take part in, as text."""
        return tuple(self._by_text)

    def latest(self, topic: str) -> Item | None:
        """The newest item of the topic that we know."""
        found = self._topic(topic)
        return None if found is None else found.item

    def peers(self) -> tuple[Peer, ...]:
        """Everybody in any of our tables."""
        return self.book.neighbours

    def subscribers(self, topic: str) -> Mapping[Peer, None]:
        """Who is in the topic's tables."""
        found = self._topic(topic)
        overlays = () if found is None else found.overlays
        return {entry.peer: None for overlay in overlays for entry in overlay.table.entries}

    def seen_as(self) -> tuple[Peer, ...]:
        """The addresses that peers see us at, what most of them say first."""
        return self.book.seen_as()

    def joined(self, topic: str) -> bool:
        """Whether members answered and the first search is over: ``latest`` can be relied on."""
        found = self._topic(topic)
        return found is not None and found.joined

    def pending(self, topic: str | None = None) -> int:
        """Entries that lack the newest value, as far as we know, and that it is on its way to."""
        if topic is None:
            return sum(each.pending for each in self.topic_nodes.values())
        found = self._topic(topic)
        return 0 if found is None else found.pending

    def sizes(self) -> dict[str, int]:
        """How many entries each table has: for tests of bounded memory, and for operators."""
        sizes = {
            "topics": len(self.topic_nodes),
            "saved_topics": len(self._saved),
            "contacts": len(self._contacts),
            "rates": len(self.limits),
            "proofs": len(self.proofs),
            "timers": len(self.timers),
            **self.book.sizes(),
            **self.checks.sizes(),
        }
        for topic in self.topic_nodes.values():
            for overlay in topic.overlays:
                for key, count in overlay.sizes().items():
                    sizes[f"overlay_{key}"] = sizes.get(f"overlay_{key}", 0) + count
        if self._main is not None:
            sizes.update(self._main.sizes())
        return sizes

    # ---- for the parts

    def emit(
        self,
        event: str,
        topic: str | None = None,
        message_id: bytes | None = None,
        peer: Peer | None = None,
        **fields: type_of_field,
    ) -> None:
        """Trace an event of this node at this time."""
        self.effects.append(TraceEvent(self.now, self.name, event, topic, message_id, peer, fields))

    _HANDLERS: ClassVar[dict[type, Callable[[Any, Any, float], None]]] = {
        Checked: _on_checked,
        CheckedMany: _on_checked_many,
        Contact: _on_contact,
        Join: _on_join,
        Listening: _on_listening,
        MainContact: _on_main,
        Offer: _on_offer,
        Publish: _on_publish,
        ReadItem: _on_main,
        Restore: _on_restore,
        Subscribe: _on_subscribe,
        Unsubscribe: _on_unsubscribe,
        WriteItem: _on_main,
    }
