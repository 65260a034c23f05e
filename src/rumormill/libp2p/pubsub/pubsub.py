"""Pubsub: peers, topics and messages, without a connection, a clock or a thread.

Inputs: ``PeerJoined``, ``PeerLeft``, ``Received`` (a piece of the peer's stream, cut anywhere),
``StreamRestarted`` (theirs), ``StreamLost`` and ``StreamRenewed`` (ours), ``Writable``,
``Subscribe``, ``Unsubscribe``, ``BeginRelay``, ``EndRelay``, ``Publish``, ``PublishMany``,
``Checked``, ``CheckedMany``.

Effects: ``Send`` (whole frames, in :meth:`Pubsub.wake`), ``Deliver``, ``Check``, ``Connect``,
``Drop``, ``Published``, ``PublishedMany``, ``RoomAgain``, ``HoldPeer``, ``RestPeer`` and trace
events.

How a message travels::

    Received -> frames -> RPC -> new id? -> Check ... Checked -> seen -> Deliver
                                                               -> router.targets -> queues
    wake: for every peer with something waiting: control, then messages, as one Send
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.machine import (
    Checked,
    CheckedMany,
    Connect,
    Drop,
    Peer,
    PeerJoined,
    PeerLeft,
    Publish,
    PublishMany,
    Received,
    Subscribe,
    Unsubscribe,
    Writable,
)
from rumormill.core.receipt import Receipt
from rumormill.core.timers import NEVER
from rumormill.core.trace import TraceEvent, type_of_field
from rumormill.libp2p.effects import (
    BeginRelay,
    Blacklist,
    EndRelay,
    FilterPeers,
    FromRouter,
    HeldBack,
    PublishOtherwise,
    PubsubEffect,
    PubsubInput,
    RouterInput,
    StreamLost,
    StreamRenewed,
    StreamRestarted,
)
from rumormill.libp2p.pubsub.guard import Guard
from rumormill.libp2p.pubsub.inbound.blacklist import BLACKLIST_ENDED, BlacklistedPeers
from rumormill.libp2p.pubsub.inbound.inbox import Inbox
from rumormill.libp2p.pubsub.inbound.intake import Intake
from rumormill.libp2p.pubsub.inbound.replays import AuthorStore
from rumormill.libp2p.pubsub.inbound.toll import Toll
from rumormill.libp2p.pubsub.membership import Membership
from rumormill.libp2p.pubsub.outbound.forwarding import Forwarding
from rumormill.libp2p.pubsub.outbound.outbox import Outbox
from rumormill.libp2p.pubsub.outbound.publisher import Publisher
from rumormill.libp2p.pubsub.outbound.room import Room
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.part import Listeners
from rumormill.libp2p.pubsub.peers import PeerState
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.pubsub.topics.own_topics import OwnTopics
from rumormill.libp2p.pubsub.topics.peer_filter import Admittance
from rumormill.libp2p.pubsub.topics.rules import RuleBook, Rules
from rumormill.libp2p.pubsub.topics.subscriptions import SubscriptionFilter, SubscriptionTable
from rumormill.libp2p.pubsub.usefulness import Usefulness
from rumormill.libp2p.stack.address_book import AddressBook
from rumormill.libp2p.stack.peer_id import PeerNames, from_text
from rumormill.libp2p.wire.control import ControlKind, ControlKinds, EntryType
from rumormill.libp2p.wire.frames import FrameReader
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.signing import Author

InputType = TypeVar("InputType", bound=PubsubInput)
RouterInputType = TypeVar("RouterInputType", bound=RouterInput)


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
        id_of: Callable[[Peer], bytes] | None = None,
        address_book: AddressBook | None = None,
        subscription_filter: SubscriptionFilter | None = None,
        first_sequence: int | None = None,
        author_store: AuthorStore | None = None,
        guard: Guard | None = None,
    ) -> None:
        """``name_of`` turns a ``from`` field into a peer's name, ``id_of`` does the reverse; by
        default base58. ``address_book`` is the host's, where there is one.

        ``first_sequence`` is our first message's number; by default its time in nanoseconds.
        ``author_store`` keeps what ``refuse_replays`` has to remember over a restart. ``guard`` is
        asked about messages of topics that have one.
        """
        self.node = node
        self.author = author
        self.router = router
        self.random = random
        self.parameters = parameters or PubsubParameters()
        self.name_of = name_of or PeerNames().name
        self.id_of = id_of or from_text
        self.address_book = AddressBook() if address_book is None else address_book
        self.effects: list[PubsubEffect] = []
        """What the call under way has brought about so far."""
        self.peers: dict[Peer, PeerState] = {}
        self.listening: dict[str, None] = {}
        """The topics we take part in: for :meth:`joined` without a call, in the midst of much
        work."""
        self.subscribed: dict[str, None] = {}
        """Those of them whose messages the application wants; the others we only relay."""
        self.descriptions: dict[str, bytes] = {}
        """By topic, fields that we say beside that we listen to it."""
        self.allows = subscription_filter or self.parameters.subscription_filter()
        """Whether a topic exists for us."""
        self._now = 0.0
        self._handlers: dict[type, Callable[[Any, float], None]] = {}
        self.guard = guard or Guard()
        """What single topics ask of messages."""
        self._attach(router)
        rules = RuleBook(self.parameters)
        self.rules_of: Callable[[str], Rules] = rules.of
        """The rules of a topic."""
        self._intake = Intake(self, network, rules, self.name_of, author_store)
        self._publisher = Publisher(self, self._intake, rules, first_sequence)
        self._take_inputs()

    def _attach(self, router: Router) -> None:
        """Make what the router needs, let it make its parts, and see who hears what."""
        self._kinds = ControlKinds()
        self._control_handlers: dict[type, Callable[[Peer, Any, float], None]] = {}
        self._extension_handlers: dict[int, Callable[[Peer, bytes, float], None]] = {}
        self._router_due = router.next_wake
        self.outbox = Outbox(self, self._kinds)
        self.forwarding = Forwarding(self)
        self.room = Room(self.parameters, router, self.outbox, self.peers)
        """Whether what is published finds room."""
        router.attach(self)
        self.guard.attach(self)
        self.table = SubscriptionTable(self.parameters.max_topics_per_peer)
        """Who listens to what."""
        self.use = Usefulness(
            useful_for=self.parameters.useful_for,
            peers=self.peers,
            listening=self.listening,
            subscribers=self.table.peers,
            mesh=router.relied_on,
        )
        """Who is of use, and what for; :attr:`usefulness` asks it."""
        self.usefulness = self.use.of
        """Of how much use a peer is at a time, from 0 on; see :mod:`.usefulness`."""
        self.listeners = Listeners(
            (*router.parts(), router.discipline(), router, self.use, self.guard)
        )
        """Who hears what happens: the router, the parts that it is made of, and the guard."""
        self.toll = Toll(self)
        """What peers pay for the work that they make us do."""
        self.blacklisted = BlacklistedPeers(self.parameters.blacklist)
        """Whom we have nothing to do with."""
        self.admittance = Admittance(self)
        """Which peers may take part in which topics."""

    def _take_inputs(self) -> None:
        """Say who takes what."""
        inbox = Inbox(
            self, self._intake, self._kinds, self._control_handlers, self._extension_handlers
        )
        self._own_topics = topics = OwnTopics(self)
        self._membership = members = Membership(self, inbox)
        self._on(Received, inbox.receive)
        self._on(Checked, self._intake.checked)
        self._on(CheckedMany, self._intake.checked_many)
        self._on(Publish, self._publisher.publish)
        self._on(PublishMany, self._publisher.publish_many)
        self._on(PublishOtherwise, self._publisher.publish_otherwise)
        self._on(Writable, self._on_writable)
        self._on(PeerJoined, members.joined)
        self._on(PeerLeft, members.leaves)
        self._on(StreamRestarted, members.stream_restarted)
        self._on(StreamLost, members.stream_lost)
        self._on(StreamRenewed, members.stream_renewed)
        self._on(HeldBack, members.held_back)
        self._on(Subscribe, topics.subscribe)
        self._on(Unsubscribe, topics.unsubscribe)
        self._on(BeginRelay, topics.begin_relay)
        self._on(EndRelay, topics.end_relay)
        self._on(Blacklist, members.blacklist)
        self._on(FilterPeers, self.admittance.set)

    # ---- the machine

    def _on(self, kind: type[InputType], handler: Callable[[InputType, float], None]) -> None:
        """Let ``handler`` take inputs of a kind: here the types of the two are held together."""
        self._handlers[kind] = handler

    def handle(self, input: PubsubInput, now: float) -> list[PubsubEffect]:
        """Take one input; see the module's list."""
        handler = self._handlers.get(type(input))
        if handler is None:
            raise LocalProtocolError(f"pubsub knows no input {type(input).__name__}")
        self._now = now
        effects: list[PubsubEffect] = []
        self.effects = effects
        handler(input, now)
        if self.toll.overdrawn:
            self.toll.collect(now)
        return effects

    def wake(self, now: float) -> list[PubsubEffect]:
        """Run the router's timers, then send what waits, all of a peer's at once."""
        self._now = now
        effects: list[PubsubEffect] = []
        self.effects = effects
        self._intake.seen.expire(now)
        due = self._router_due()
        if due is not None and due <= now:
            self.router.wake(now)
        due = self.guard.next_wake()
        if due is not None and due <= now:
            self.guard.wake(now)
        if self.outbox.expires <= now:
            self.outbox.expire(now)
        if self.blacklisted.next_end <= now:
            for peer in self.blacklisted.end(now):
                self.emit(BLACKLIST_ENDED, peer=peer)
        self.outbox.flush(now)
        return effects

    def next_wake(self) -> float | None:
        """At once if something waits to be sent, else when the router wants it or time is up."""
        if self.outbox.dirty:
            return self._now
        # Asked after every input, so written out: the least of five times.
        soonest, expires, due = self.outbox.expires, self._intake.seen.expires, self._router_due()
        if expires < soonest:
            soonest = expires
        if due is not None and due < soonest:
            soonest = due
        if self.blacklisted.next_end < soonest:
            soonest = self.blacklisted.next_end
        due = self.guard.next_wake()
        if due is not None and due < soonest:
            soonest = due
        return None if soonest == NEVER else soonest

    # ---- what others may know

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocol ids we speak, best first."""
        return self.router.offered()

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics we take part in."""
        return tuple(self.listening)

    def subscribers(self, topic: str) -> Mapping[Peer, None]:
        """Connected peers that listen to the topic, in the order in which they said so."""
        return self.table.peers(topic)

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """The peers that get every message of the topic from us."""
        return self.router.mesh(topic)

    def joined(self, topic: str) -> bool:
        """Whether we take part in the topic: listen to it, or relay it."""
        return topic in self.listening

    def admits(self, peer: Peer, topic: str) -> bool:
        """Whether the application lets the peer take part in the topic."""
        return self.admittance.allows is None or self.admittance.admits(peer, topic)

    def knows(self, message_id: bytes) -> bool:
        """Whether the message was seen, or is being checked right now."""
        return message_id in self._intake.seen or message_id in self._intake.checks

    def has_targets(self, topics: tuple[str, ...]) -> bool:
        """Whether a message published now would go to anyone."""
        return any(True for _ in self.router.would_reach(topics))

    def sizes(self) -> dict[str, int]:
        """How many entries each table has: for tests of bounded memory, and for operators."""
        sizes = {
            "peers": len(self.peers),
            **self._own_topics.sizes(),
            **self.table.sizes(),
            "barred_topics": len(self.admittance.barred),
            "seen": len(self._intake.seen),
            "checks": len(self._intake.checks),
            "check_bytes": self._intake.checks.bytes,
            "recent": len(self._intake.recent),
            "peer_records": len(self.address_book),
            "unread_bytes": sum(state.reader.unread for state in self.peers.values()),
            "blacklisted": len(self.blacklisted),
            "authors": 0 if self._intake.replays is None else len(self._intake.replays),
            **self.toll.sizes(),
            "queued": sum(state.queue.count for state in self.peers.values()),
            **self.outbox.sizes(),
        }
        for more in self.listeners.sizes:
            sizes.update(more())
        return sizes

    # ---- peers

    def take_reader(self, peer: Peer) -> FrameReader:
        """Give away what is half read of the peer's stream: what comes next begins a frame."""
        return self.peers[peer].reader.part()

    def _on_writable(self, writable: Writable, now: float) -> None:
        self.outbox.writable(writable.peer, writable.ready)

    # ---- what the router may ask for

    def on_control(
        self,
        kind: ControlKind[EntryType],
        handler: Callable[[Peer, tuple[EntryType, ...], float], None],
    ) -> None:
        """Speak a kind of control: ``handler`` gets a peer's entries of each RPC, all at once."""
        self._kinds.add(kind)
        self._control_handlers[kind.entry] = handler

    def on_input(
        self, kind: type[RouterInputType], handler: Callable[[RouterInputType, float], None]
    ) -> None:
        """Take a kind of input that pubsub itself does not know."""
        self._on(kind, handler)

    def on_extension(self, number: int, handler: Callable[[Peer, bytes, float], None]) -> None:
        """Speak a further field of the RPC: ``handler`` gets its inside, once for each RPC."""
        if number in self._extension_handlers or 1 <= number <= 3:
            raise LocalProtocolError(f"field {number} of the RPC is taken")
        self._extension_handlers[number] = handler

    def tell(self, news: object) -> None:
        """Tell the application something that only it and the router understand."""
        self.effects.append(FromRouter(news))

    def describe_topic(self, topic: str, fields: bytes) -> None:
        """Add fields to what we say of a topic when we tell that we listen to it."""
        if fields == self.descriptions.get(topic, b""):
            return
        self.descriptions.pop(topic, None)
        if fields:
            self.descriptions[topic] = fields
        if topic in self.listening:
            for peer in self.peers:
                self.outbox.announce(peer, topic, True, fields)

    def first_rpc(self, peer: Peer) -> bool:
        """Whether the RPC of the peer that is being handled is the first one of its stream."""
        return peer in self.peers and self.peers[peer].fresh

    def connect(
        self, peer: Peer, addresses: tuple[str, ...] = (), *, trusted: bool = False
    ) -> None:
        """Ask for a connection to the peer; see :meth:`PubsubServices.connect`."""
        self.effects.append(Connect(peer, addresses, trusted))

    def assume_subscribed(self, peer: Peer, topic: str) -> None:
        """Take it that the peer listens to the topic, though it has not said so."""
        if peer in self.peers and self.table.add(peer, topic):
            self.emit(trace.PEER_SUBSCRIBED, topic, peer=peer)

    def charge(self, peer: Peer, kind: str, cost: float) -> None:
        """Let the peer pay for work of a kind, in microseconds, that it made us do for nothing."""
        state = self.peers.get(peer)
        if state is not None:
            self.toll.charge(peer, state, kind, cost)

    def punish(self, peer: Peer, error: RemoteProtocolError) -> None:
        """The peer broke the protocol: it is dropped, and the trace says why."""
        self.emit(trace.PROTOCOL_ERROR, peer=peer, reason=error.reason, detail=error.detail)
        self.effects.append(Drop(peer, error.reason))
        self._membership.left(PeerLeft(peer, error.reason), self._now)

    # ---- what the guard may ask for

    def publish_quietly(self, topic: str, data: bytes, now: float) -> Receipt:
        """Publish something that the application has not asked for."""
        return self._publisher.send_out((topic,), data, now)

    def deliver_late(self, message: WireMessage, source: Peer, now: float) -> None:
        """Deliver a message that was passed on earlier and can be read only now."""
        self._intake.deliver(message, source, now)

    def take_part(self, topic: str, wanted: bool, now: float) -> None:
        """Relay a topic, or no longer."""
        if wanted:
            self._own_topics.begin_relay(BeginRelay(topic), now)
        else:
            self._own_topics.end_relay(EndRelay(topic), now)

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
