"""A whole libp2p node without I/O: connections, identify, ping, and pubsub on top.

Its inputs are :data:`~rumormill.libp2p.host.effects.HostInput`, its effects
:data:`~rumormill.libp2p.host.effects.HostEffect`: one ``WriteBytes`` per connection and turn, and
what pubsub wants of its user as pubsub says it.

How bytes travel::

    BytesReceived -> ConnectionKeeper -> PubsubStreams or Services -> Pubsub
                                      -> Exchanges -> Seeking -> Discovery
    Pubsub -> Send -> PubsubStreams -> Connection -> WriteBytes, at the end of the turn
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from rumormill.core.agent import our_agent
from rumormill.core.errors import ClosedError, LocalProtocolError
from rumormill.core.limits import WorkLimits
from rumormill.core.machine import Connect, Hold, Shutdown, Subscribe, Unsubscribe
from rumormill.core.timers import NEVER
from rumormill.core.trace import CONNECTION_REFUSED, SOURCE_PAUSED, SOURCE_RESUMED
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    Listening,
    TransportClosed,
    TransportFailed,
    TransportOpened,
    WriteReady,
)
from rumormill.core.words import in_words
from rumormill.libp2p.discovery.effects import (
    DatagramReceived,
    LinkChanged,
    PeersWanted,
    TopicsChanged,
)
from rumormill.libp2p.effects import BeginRelay, EndRelay
from rumormill.libp2p.host.effects import HostEffect, HostInput, PubsubCommand, for_driver
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.parts import Answers, Given, build
from rumormill.libp2p.host.pubsub_feed import PubsubMachine
from rumormill.libp2p.host.seeking import DiscoveryMachine
from rumormill.libp2p.host.services import SERVICES
from rumormill.libp2p.host.table import Link, Turn
from rumormill.libp2p.stack.address_book import AddressBook
from rumormill.libp2p.stack.identify import IdentifyInfo
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.multiaddr import Multiaddr

OfTopics = Subscribe | Unsubscribe | BeginRelay | EndRelay
"""Commands after which we may take part in other topics than before."""

PROTOCOL_VERSION = "ipfs/0.1.0"
"""What identify calls the family of networks; everybody says this."""

AGENT = our_agent()
"""What identify calls our program."""


class Host:
    """One node. Its driver moves bytes, keeps one timer, and checks messages.

    ``random`` decides on delays and on who makes room, and may be seeded; ``entropy`` makes keys,
    and must not be seeded outside of tests. ``work`` is what one connection may cost us for
    nothing. ``address_book`` is where records of peers are put, for pubsub to read.
    ``discovery`` finds peers for the topics of pubsub.
    """

    def __init__(
        self,
        *,
        identity: PrivateKey,
        pubsub: PubsubMachine,
        parameters: HostParameters,
        random: random.Random,
        entropy: random.Random,
        agent: str = AGENT,
        work: WorkLimits | None = None,
        address_book: AddressBook | None = None,
        discovery: DiscoveryMachine | None = None,
    ) -> None:
        self.peer = identity.peer
        """Our own peer id."""
        self._identity = identity
        self._parameters = parameters
        self._pubsub = pubsub
        self._agent = agent
        self._listening: tuple[Multiaddr, ...] = ()
        self._paused = self._shut = False
        if address_book is None:  # an empty one counts as false
            address_book = AddressBook(parameters.max_peer_records)
        self.address_book = address_book
        """The signed records of the peers that we met."""
        self._turn = Turn(self.peer)
        given = Given(
            identity=identity,
            pubsub=pubsub,
            parameters=parameters,
            random=random,
            entropy=entropy,
            work=work or WorkLimits(),
            address_book=address_book,
            discovery=discovery,
        )
        parts = build(given, Answers(self._protocols, self._describe, self._connect), self._turn)
        self._records = parts.records
        self._table = parts.table
        self._dialer = parts.dialer
        self._keeper = parts.keeper
        self._streams = parts.streams
        self._seeking = parts.seeking
        self._services = parts.services

    # ---- what a user may ask

    @property
    def addresses(self) -> tuple[str, ...]:
        """Where others can dial us, our peer id included."""
        return tuple(str(address.with_peer(self.peer)) for address in self._listening)

    def peers(self) -> tuple[str, ...]:
        """Everybody we are connected to, in the order of coming."""
        return self._table.peers()

    @property
    def queued(self) -> int:
        """Bytes that pubsub has handed over and that no transport has got yet.

        They wait for the windows of their peers; a shutdown before they have left loses them.
        """
        return sum(link.connection.queued for link in self._table.links.values())

    # ---- the machine

    def handle(self, input: HostInput, now: float) -> Sequence[HostEffect]:
        """Take one input; return what follows from it."""
        if isinstance(input, BytesReceived):
            self._keeper.bytes_received(input, now)
        elif isinstance(input, PubsubCommand):
            effects = self._pubsub.handle(input, now)
            if isinstance(input, OfTopics):
                self._seeking.feed(TopicsChanged(), now)
            if for_driver(effects):
                return effects  # as nearly always: what pubsub says is for our driver
            self._streams.carry_out(effects, now)
        elif isinstance(input, WriteReady):
            self._keeper.write_ready(input, now)
        else:
            self._handle_rare(input, now)
        return self._end_of_turn()

    def _handle_rare(self, input: HostInput, now: float) -> None:
        if isinstance(input, TransportOpened):
            self._keeper.opened(input, now)
        elif isinstance(input, TransportClosed):
            self._keeper.closed(input, now)
        elif isinstance(input, TransportFailed):
            self._dialer.transport_failed(input.dial, in_words(input.reason), now)
        elif isinstance(input, Listening):
            self._on_listening(input, now)
        elif isinstance(input, Dial):
            self._on_dial(input, now)
        elif isinstance(input, Hold):
            self._on_hold(input, now)
        elif isinstance(input, DatagramReceived | LinkChanged | PeersWanted):
            self._seeking.feed(input, now)
        elif isinstance(input, Shutdown):
            self._on_shutdown(input, now)
        else:
            raise LocalProtocolError(f"a host has no use for {type(input).__name__}")

    def wake(self, now: float) -> list[HostEffect]:
        """Do what is due; pubsub comes last, so that one write takes all that came up."""
        if self._turn.alarm.soonest <= now:
            self._wake_parts(now)
        due = self._pubsub.next_wake()
        if due is not None and due <= now:
            self._streams.carry_out(self._pubsub.wake(now), now)
        return self._end_of_turn()

    def _end_of_turn(self) -> list[HostEffect]:
        """Everything that follows, with one write for each connection that has something to say."""
        turn = self._turn
        if turn.dirty:
            self._keeper.flush()
        effects = turn.effects[:]
        turn.effects.clear()
        return effects

    def next_wake(self) -> float | None:
        """The earliest wish of all parts."""
        due, soonest = self._pubsub.next_wake(), self._turn.alarm.soonest
        if due is None:
            return None if soonest == NEVER else soonest
        return due if due < soonest else soonest

    def _wake_parts(self, now: float) -> None:
        """Run the timers of all parts; then the alarm is set anew, to the time of the first."""
        parts = (self._keeper, self._dialer, self._services, self._streams, self._seeking)
        for part in parts:
            part.wake(now)
        times = [due for part in parts if (due := part.next_wake()) is not None]
        self._turn.alarm.soonest = min(times, default=NEVER)

    # ---- commands

    def _on_dial(self, input: Dial, now: float) -> None:
        if self._shut:
            raise ClosedError(f"cannot dial {input.address}: the node is shutting down")
        self._dialer.dial(input.address, input.keep, now)

    def _on_hold(self, input: Hold, now: float) -> None:
        if input.paused != self._paused:
            self._paused = input.paused
            self._turn.trace(now, SOURCE_PAUSED if input.paused else SOURCE_RESUMED)
            self._streams.hold(input.paused)

    def _on_listening(self, input: Listening, now: float) -> None:
        addresses = tuple(Multiaddr.parse(each).without_peer() for each in input.addresses)
        if addresses != self._listening:
            self._listening = addresses
            self._records.listening(addresses, now)
            self._seeking.listening(addresses, self._records.own, now)
            for peer in self._table.peers():
                self._services.push(self._table.of(peer)[0], now)

    def _on_shutdown(self, input: Shutdown, now: float) -> None:
        self._shut = True
        self._dialer.stop()
        self._keeper.shut(now)

    # ---- what the parts want of each other

    def _connect(self, effect: Connect, now: float) -> None:
        peer, addresses, trusted = effect
        if self._table.connected(peer):
            return
        full = self._table.told() >= self._parameters.max_told_connections
        if addresses and full and not trusted:
            reason = "too_many_told_connections"
            self._turn.trace(now, CONNECTION_REFUSED, peer, address=addresses[0], reason=reason)
            self._seeking.unreached(peer, reason, now)
            addresses = ()
        self._dialer.wanted(peer, addresses, now)

    def _protocols(self) -> tuple[str, ...]:
        return self._pubsub.protocols + SERVICES + self._seeking.exchanges.protocols

    def _describe(self, link: Link) -> IdentifyInfo:
        """What we tell of ourselves, and where the other end seems to be."""
        return IdentifyInfo(
            public_key=self._identity.public_key.to_protobuf(),
            listen_addresses=tuple(address.to_bytes() for address in self._listening),
            protocols=self._protocols(),
            observed_address=link.observed,
            protocol_version=PROTOCOL_VERSION,
            agent_version=self._agent,
            signed_peer_record=self._records.own,
        )
