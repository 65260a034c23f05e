"""The libp2p family: gossipsub, floodsub and randomsub over TCP, Noise and yamux.

async with rumormill.open("floodsub", bootstrap=["/dns4/example.org/tcp/4001"]) as network:
    await network.publish("weather", b"rain at noon", ready=10)
"""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from rumormill.core.ed25519 import use_native
from rumormill.core.errors import LocalProtocolError, NotReadyError
from rumormill.core.machine import (
    Hold,
    Publish,
    Published,
    PublishedMany,
    PublishMany,
    RoomAgain,
    Shutdown,
)
from rumormill.core.message import Message
from rumormill.core.receipt import Receipt
from rumormill.core.topic import Capabilities, check_topic
from rumormill.core.trace import CONNECTION_REFUSED, DROPPED, SLOW_PEER, TraceEvent
from rumormill.core.transport import Dial, Listening
from rumormill.libp2p.descriptor import events as descriptor_events
from rumormill.libp2p.descriptor.private_topics import PrivateTopics
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.effects import PeersWanted
from rumormill.libp2p.discovery.events import REPEATABLE as DISCOVERY_REPEATABLE
from rumormill.libp2p.effects import BeginRelay, EndRelay
from rumormill.libp2p.gossipsub.extensions.probe_extension import EXTENSION_TESTED
from rumormill.libp2p.gossipsub.partial import (
    MakeMessage,
    OpenPartial,
    PartialMessage,
    PartialPublished,
)
from rumormill.libp2p.gossipsub.partial.exchange import PARTS_OFFERED
from rumormill.libp2p.gossipsub.partial.receiver import PARTS_TAKEN
from rumormill.libp2p.gossipsub.score import PeerScore, Score, TopicScoreParameters
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.keeper import STREAM_REFUSED
from rumormill.libp2p.host.pubsub_streams import STREAM_LOST
from rumormill.libp2p.live.addresses import Multiaddrs
from rumormill.libp2p.live.author_file import AuthorFile
from rumormill.libp2p.live.described_network import AnyTopic, DescribedNetwork
from rumormill.libp2p.live.finding import Finding
from rumormill.libp2p.live.key_file import load_or_create_key, new_key
from rumormill.libp2p.live.local_network import listen_each
from rumormill.libp2p.live.partial_topic import PartialTopic, PartialTopics
from rumormill.libp2p.live.parts import make_author_store, make_router
from rumormill.libp2p.live.peer_choices import NodeInput, PeerChoices
from rumormill.libp2p.live.settings import Libp2pSettings
from rumormill.libp2p.pubsub.inbound.replays import AuthorStore
from rumormill.libp2p.pubsub.parameters import ENVELOPE
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.stack.address_book import AddressBook
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_id import PeerNames
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.signing import verify
from rumormill.live.checks.checker import Subject
from rumormill.live.driver import Driver
from rumormill.live.transports.tcp import Tcp
from rumormill.live.waiting.dials import Dials

DRAIN_INTERVAL = 0.005
"""Seconds between two looks at whether everything has left, when closing."""

FLUSH_SHARE = 0.25
"""Of the time that closing may take: what is left to sockets to send their last bytes."""

if os.environ.get("RUMORMILL_NATIVE") == "0":
    # Signatures by PyNaCl though the faster extension is installed: to compare the two.
    use_native(False)


class Libp2pNetwork(DescribedNetwork, PeerChoices):
    """A gossipsub, floodsub or randomsub network."""

    repeatable: ClassVar[frozenset[str]] = frozenset(
        (STREAM_REFUSED, STREAM_LOST, EXTENSION_TESTED, PARTS_TAKEN, PARTS_OFFERED)
    ).union(DISCOVERY_REPEATABLE, descriptor_events.REPEATABLE)

    shifts: ClassVar[frozenset[str]] = DescribedNetwork.shifts | {descriptor_events.TRUST_CHANGED}

    def __init__(self, name: str, settings: Libp2pSettings) -> None:
        key_file = settings.live.key_file
        identity = new_key() if key_file is None else load_or_create_key(key_file)
        self._settings = settings
        self._authors = make_author_store(settings)
        self._private = PrivateTopics(
            random.SystemRandom(), judged=lambda topic: topic in self._validators
        )
        self._pubsub = _pubsub(name, settings, identity, self._authors, self._private)
        self._finding = Finding(settings, identity, self._pubsub)
        self._host = _host(settings, identity, self._pubsub, self._finding.machine)
        self._names = PeerNames()
        self._driver: Driver[NodeInput] = Driver(self._host)
        self._tell = self._driver.feed
        super().__init__(
            name=name,
            id=identity.peer,
            driver=self._driver,
            capabilities=Capabilities(
                largest_message=settings.pubsub.largest_message,
                signed=settings.pubsub.signing == "StrictSign",
                relays=True,
            ),
            subject=Subject(genuine, self._messages),
            validator_concurrency=settings.live.validator_concurrency,
            close_timeout=settings.live.close_timeout,
            trace_each=settings.live.trace_each,
        )
        close_timeout = settings.live.close_timeout
        self._tcp = Tcp(
            self._driver.feed,
            Multiaddrs(),
            close_timeout=close_timeout,
            on_short=lambda: self.emit(CONNECTION_REFUSED, reason="too_many_open_files"),
        )
        self._finding.attach(self._driver, self.emit)
        self._dials = Dials(self._driver)
        self._partial = PartialTopics(
            self._driver,
            subscribe=lambda topic: self.subscribe(topic, when_full="drop_oldest"),
            emit=self._trace,
        )
        self._tcp.attach(self._driver)
        self._driver.on(RoomAgain, lambda _: self._readiness.look_again())

    # ---- what there is

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where others can dial us, our peer id included."""
        return self._host.addresses

    def sizes(self) -> dict[str, int]:
        """See :meth:`Network.sizes`; and what pubsub, its router and the connections keep."""
        return {**self._pubsub.sizes(), **self._tcp.sizes(), **super().sizes()}

    @property
    def peers(self) -> tuple[str, ...]:
        """Whom we are connected to."""
        return self._host.peers()

    def subscribers(self, topic: AnyTopic) -> tuple[str, ...]:
        """Connected peers that listen to the topic."""
        return tuple(self._pubsub.subscribers(self.text_of(topic)))

    def mesh(self, topic: AnyTopic) -> tuple[str, ...]:
        """The mesh of the topic; in floodsub, everybody who listens to it; in randomsub, those who
        get every message without a throw of the dice.
        """
        return self._pubsub.mesh(self.text_of(topic))

    def _messages(self, wire: WireMessage, peer: str | None) -> Iterator[Message]:
        """What the validators of the message's topics are to see."""
        sender = None
        if wire.sender_id is not None and wire.signature is not None:
            sender = self._names.name(wire.sender_id)
        now = self._driver.now()
        fields = {}
        if wire.sequence is not None:
            fields["sequence"] = int.from_bytes(wire.sequence, "big")
        for topic in wire.topics:
            if topic in self._validators:
                guard = self._private.data_guard(topic)
                if guard is not None and not guard.open_for_validators(wire):
                    continue  # what cannot be read is passed on, and not delivered
                yield Message(topic, wire.data, sender, wire.id, self.name, peer, now, fields)

    # ---- scores

    def scores(self) -> dict[str, PeerScore]:
        """The score of each peer, with all that it is made of: gossipsub, unless it is off."""
        return self._score().snapshot()

    def feedback(self, peer: str, points: float) -> None:
        """Give a peer points (P5 of its score), or take some; they are forgotten by and by.

        Raises :class:`LocalProtocolError` for a peer that nothing is known of.
        """
        if not self._score().feedback(peer, points):
            raise LocalProtocolError(f"{peer} is not connected, and has no score")

    def set_topic_score(self, topic: str, parameters: TopicScoreParameters) -> None:
        """Let conduct on a topic be worth something else from now on; what was counted stays."""
        self._score().set_topic(topic, parameters)

    def _score(self) -> Score:
        standing = getattr(self._pubsub.router, "standing", None)
        if not isinstance(standing, Score):
            raise LocalProtocolError(f"{self.name} keeps no scores here")
        return standing

    def on_slow_peer(self, listener: Callable[[str, int], object]) -> Callable[[], None]:
        """Call ``listener`` with a peer that takes less than it is sent, and how much was lost for
        it; returns a function that ends it.

        At most once a heartbeat and peer, and of gossipsub only. It must be quick. Which messages
        were lost is in the trace: ``dropped``, with ``queue_full`` or ``expired``.
        """

        def see(event: TraceEvent) -> None:
            if event.event == SLOW_PEER:
                listener(event.peer or "", int(event.fields["lost"] or 0))

        return self._trace_listeners.add(see)

    # ---- publish

    def _has_targets(self, topics: tuple[str, ...]) -> bool:
        return self._pubsub.has_targets(topics) and not self._awaits_trust(topics)

    async def _wait_ready(self, topics: tuple[str, ...], seconds: float) -> None:
        """Let discovery help: it looks by itself for peers of topics that we take part in only."""
        self._driver.feed(PeersWanted(topics, seconds))
        try:
            await super()._wait_ready(topics, seconds)
        except NotReadyError:
            if not self._pubsub.has_targets(topics):
                raise
            # Somebody listens, and nobody has told that we are trusted: publishing will say that.

    def _has_room(self, topics: tuple[str, ...], size: int) -> bool:
        if not self._pubsub.room.full(topics, size):
            return True
        self._pubsub.room.watch(topics, size)
        return False

    def _hold(self, paused: bool) -> None:
        self._driver.feed(Hold(paused))

    def _publish(self, topics: tuple[str, ...], data: bytes) -> Receipt:
        return self._driver.ask(Publish(topics, data), Published).receipt

    def _most_together(self) -> tuple[int, int]:
        """Half a queue: as soon as there is room again, there is so much."""
        most, most_bytes = super()._most_together()
        pubsub = self._settings.pubsub
        half, half_bytes = pubsub.queue_messages // 2, pubsub.queue_bytes // 2
        most = max(1, min(most, half, half_bytes // (2 * ENVELOPE)))
        return most, min(most_bytes, half_bytes - most * ENVELOPE)

    def _has_room_for(self, topics: tuple[str, ...], several: Sequence[bytes]) -> bool:
        size = sum(map(len, several))
        if not self._pubsub.room.full_for(topics, size, len(several)):
            return True
        self._pubsub.room.watch(topics, size, len(several))
        return False

    def _publish_together(
        self, topics: tuple[str, ...], several: Sequence[bytes]
    ) -> Sequence[Receipt]:
        return self._driver.ask(PublishMany(topics, several), PublishedMany).receipts

    # ---- relay

    def _begin_relay(self, topic: str) -> None:
        self._driver.feed(BeginRelay(topic))

    def _end_relay(self, topic: str) -> None:
        self._driver.feed(EndRelay(topic, quietly=self.closed))

    # ---- messages in parts

    def partial_topic(
        self,
        topic: str,
        make: MakeMessage | None = None,
        *,
        request: bool = True,
        listen: bool = True,
        buffer: int = 1024,
    ) -> PartialTopic:
        """Exchange messages of a topic in parts, with peers that do so as well.

        ``make`` makes the message for a group that a peer speaks of, from its id; without it, or
        where it returns None, you are told what came. Without ``request`` we get whole messages,
        and give parts to those that want them; without ``listen`` we only offer messages of our
        own. ``buffer`` news may wait to be read. See docs/partial-messages.md.
        """
        self._check_open()
        check_topic(topic)
        if self.name != "gossipsub" or not self._settings.router.partial_messages:
            raise LocalProtocolError(
                "there are no partial messages here: open gossipsub with partial_messages=True"
            )
        if self._private.topic(topic) is not None:
            raise LocalProtocolError(f"{topic!r} has a descriptor, so there are no parts of it")
        command = OpenPartial(topic, request, make)
        return self._partial.open(command, buffer=buffer, listen=listen)

    def publish_partial(self, topic: str, message: PartialMessage) -> PartialPublished:
        """Offer a message in parts on a topic that is open for it; whom it went to at once.

        See :meth:`PartialTopic.publish`.
        """
        self._check_open()
        return self._partial.publish(topic, message)

    # ---- connect

    async def connect(self, address: str, keep: bool = False) -> str:
        """Connect to the peer at ``address`` and return its id; see :class:`Network`."""
        self._check_open()
        address = str(Multiaddr.parse(address))
        return await self._dials.dial(address, keep)

    # ---- come and go

    async def _start(self) -> None:
        live = self._settings.live
        listening, bound = await listen_each(self._tcp, live.listen)
        self._driver.feed(Listening(listening))
        for address in live.bootstrap:
            self._driver.feed(Dial(str(Multiaddr.parse(address)), keep=True))
        self._finding.start(bound, self.at_close)
        if isinstance(self._authors, AuthorFile):
            self._authors.start(self._not_saved)
            self.at_close(self._authors.close)

    def _not_saved(self, error: OSError) -> None:
        """What authors have come to could not be written: it is tried again."""
        self.emit(DROPPED, what="author", reason="not_saved", detail=str(error), count=1)

    async def _leave(self) -> None:
        self._partial.close()
        loop = asyncio.get_running_loop()
        flush_from = self._close_by - FLUSH_SHARE * self._settings.live.close_timeout
        while self._waiting() and loop.time() < flush_from:
            await asyncio.sleep(DRAIN_INTERVAL)
        self._finding.leave()
        self._driver.feed(Shutdown())
        self._driver.wake()
        await self._tcp.close(max(0.0, self._close_by - loop.time()))

    def _waiting(self) -> bool:
        """Whether messages wait for a peer that is slower than we are: in its queue, or at its
        connection for room in the window.
        """
        return self._pubsub.sizes()["queued"] > 0 or self._host.queued > 0


def genuine(message: WireMessage) -> bool:
    """Whether the message is by its author; one that has none is by nobody.

    Whether a topic allows messages without an author was looked at before the check.
    """
    return message.signature is None or verify(message)


def _pubsub(
    name: str,
    settings: Libp2pSettings,
    identity: PrivateKey,
    authors: AuthorStore | None,
    guard: PrivateTopics,
) -> Pubsub:
    router: Router | None = settings.live.router
    if router is None:
        router = make_router(name, settings)
    return Pubsub(
        node=identity.peer,
        author=identity,
        router=router,
        random=random.Random(random.SystemRandom().getrandbits(128)),
        parameters=settings.pubsub,
        network=name,
        address_book=AddressBook(settings.host.max_peer_records),
        author_store=authors,
        guard=guard,
    )


def _host(
    settings: Libp2pSettings, identity: PrivateKey, pubsub: Pubsub, discovery: Discovery | None
) -> Host:
    return Host(
        identity=identity,
        pubsub=pubsub,
        parameters=settings.host,
        random=random.Random(random.SystemRandom().getrandbits(128)),
        entropy=random.SystemRandom(),
        work=settings.pubsub.work_limits,
        address_book=pubsub.address_book,
        discovery=discovery,
    )
