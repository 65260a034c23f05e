"""The life of each connection of a host: opened, established or refused, used, closed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.limits import WorkLimits
from rumormill.core.timers import Timers
from rumormill.core.transport import (
    BytesReceived,
    CloseTransport,
    TransportClosed,
    TransportOpened,
    WriteBytes,
    WriteReady,
)
from rumormill.core.words import in_words
from rumormill.libp2p.effects import HeldBack
from rumormill.libp2p.host.dialer import Dialer
from rumormill.libp2p.host.eviction import (
    CONNECTION_EVICTED,
    EVICTED,
    NO_HANDSHAKE,
    Evictions,
    least_promising,
)
from rumormill.libp2p.host.frame_toll import FrameToll
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.pubsub_streams import PubsubStreams
from rumormill.libp2p.host.seeking import Seeking
from rumormill.libp2p.host.services import SERVICES, Services
from rumormill.libp2p.host.table import (
    ConnectionTable,
    Crowd,
    Link,
    StreamOwner,
    Turn,
    group_of,
    networks_of,
)
from rumormill.libp2p.host.target import Target
from rumormill.libp2p.stack.connection import (
    Closed,
    Connection,
    ConnectionEvent,
    Established,
    Failed,
    InboundRefused,
    StreamData,
    StreamDrained,
    StreamEnded,
    StreamOpened,
    StreamRefused,
    StreamReset,
)
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.multiaddr import Multiaddr

STREAM_REFUSED = "stream_refused"
"""A trace event: a stream that a peer began came to nothing; fields: reason."""

OWN_IDENTITY = "own_identity"
"""Why the handshake with ourselves fails."""

NO_FAULT = ("keepalive_timeout", "peer_")
"""How the reasons begin for which a connection fails without a breach of the protocol by the peer:
its line is dead, or it was the one to find fault."""


class ConnectionKeeper:
    """Holds every connection, and passes what happens on it to the part of the host it concerns."""

    def __init__(
        self,
        *,
        identity: PrivateKey,
        entropy: random.Random,
        parameters: HostParameters,
        protocols: Callable[[], tuple[str, ...]],
        table: ConnectionTable,
        turn: Turn,
        dialer: Dialer,
        evictions: Evictions,
        work: WorkLimits,
    ) -> None:
        self._identity = identity
        self._entropy = entropy
        self._parameters = parameters
        self._protocols = protocols
        self._table = table
        self._turn = turn
        self._dialer = dialer
        self._evictions = evictions
        self._timers: Timers[Link] = Timers(turn.alarm)
        self._toll = FrameToll(turn, work, self._close, self._held_back)
        self._shut = False

    def attach(self, services: Services, streams: PubsubStreams, seeking: Seeking) -> None:
        """Say to whom streams belong."""
        self._services = services
        self._streams = streams
        self._seeking = seeking
        self._owners: dict[str, StreamOwner] = {
            **dict.fromkeys(SERVICES, services),
            **dict.fromkeys(seeking.exchanges.protocols, seeking.exchanges),
        }

    # ---- bytes

    def bytes_received(self, input: BytesReceived, now: float) -> None:
        """Bytes came in."""
        link = self._table.links.get(input.connection)
        if link is None:
            return
        if not input.data:  # its turn has come again
            if link.peer:
                self._streams.go_on(link.peer, now)
            return
        self._take(link, link.connection.receive(input.data, now), now)
        self._toll.charge(link, len(input.data), now)

    def _held_back(self, peer: str, reason: str, seconds: float, now: float) -> None:
        self._streams.feed(HeldBack(peer, reason, seconds), now)

    def _take(self, link: Link, events: Iterable[ConnectionEvent], now: float) -> None:
        """Pass on what happened on a connection, until something has ended it."""
        for event in events:
            if link.gone:
                return
            if isinstance(event, StreamData):
                owner = link.streams.get(event.stream)
                if owner is not None:
                    owner.data(link, event.stream, event.data, now)
            else:
                link.timed = False
                self._on_event(link, event, now)
        if not link.timed or link.connection.restless:
            self._turn.touch(link)

    def _on_event(self, link: Link, event: ConnectionEvent, now: float) -> None:
        if isinstance(event, StreamOpened | StreamDrained | StreamEnded):
            self._on_stream_event(link, event, now)
        elif isinstance(event, StreamReset | StreamRefused):
            owner = link.streams.get(event.stream)
            if owner is not None:
                owner.lost(link, event.stream, event.reason, now)
        elif isinstance(event, InboundRefused):
            self._turn.trace(now, STREAM_REFUSED, link.peer, reason=event.reason)
        elif isinstance(event, Established):
            self._on_established(link, event, now)
        elif isinstance(event, Closed):
            self._close(link, event.reason, now)
        elif isinstance(event, Failed):
            self._on_failed(link, event, now)

    def write_ready(self, input: WriteReady, now: float) -> None:
        """A transport takes more bytes now, or no longer does."""
        link = self._table.links.get(input.connection)
        if link is None or link.write_ready == input.ready:
            return
        link.write_ready = input.ready
        if input.ready:
            self._turn.touch(link)
        else:
            link.stalls_at = now + self._parameters.stall_timeout
            self._timers.at_latest(link, link.stalls_at)
        if link.peer:
            self._streams.write_ready(link, now)

    def flush(self) -> None:
        """Write what the turn has left to be sent, once for each connection."""
        turn = self._turn
        for link in turn.dirty:
            link.dirty = False
            if link.gone:
                continue
            # A transport that is full gets no more: what waits is counted by the connection.
            if link.write_ready:
                data = link.connection.data_to_send()
                if data:
                    turn.effects.append(WriteBytes(link.id, data))
            if not (link.timed and link.connection.steady):
                due = link.connection.next_wake()
                if due is not None:
                    self._timers.at_latest(link, due)
                    link.timed = True
        turn.dirty.clear()

    # ---- time

    def wake(self, now: float) -> None:
        """Let the connections do what is due, and drop those whose transport takes nothing."""
        for link in self._timers.due(now):
            link.timed = False
            self._take(link, link.connection.wake(now), now)
            if link.gone or link.write_ready:
                continue
            if now >= link.stalls_at:
                self._close(link, "stalled", now)
            else:
                self._timers.at_latest(link, link.stalls_at)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    # ---- connections come

    def opened(self, input: TransportOpened, now: float) -> None:
        """A transport stands: begin the handshake, or close it again."""
        address = Multiaddr.parse(input.address)
        if input.connection in self._table.links:
            raise LocalProtocolError(f"there is a connection {input.connection} already")
        target = None
        if input.dial is not None:
            target = self._dialer.opened(input.dial)
            if target is None:
                self._turn.effects.append(CloseTransport(input.connection, "not_wanted"))
                return
        reason = "shutting_down" if self._shut else self._let_in(address, target, now)
        if reason is None:
            self._add(input.connection, address, target, now)
            return
        self._turn.trace(now, trace.CONNECTION_REFUSED, address=str(address), reason=reason)
        self._turn.effects.append(CloseTransport(input.connection, reason))
        if target is not None:
            self._dialer.failed(target, in_words(reason), now)

    def _let_in(self, address: Multiaddr, target: Target | None, now: float) -> str | None:
        """See that there is room for one more handshake; returns why there is none.

        A stranger takes the place of another handshake, if need be, and of nothing more before its
        own is done.
        """
        networks = networks_of(address)
        if target is not None:
            crowd = self._table.crowd_for_dial()
            return None if crowd is None else self._make_room(crowd, str(address), networks, now)
        crowd = self._table.crowd_at_the_door(group_of(networks))
        if crowd is not None:
            victim = least_promising(crowd.links, networks, now)
            self._evict(victim, NO_HANDSHAKE, crowd.reason, str(address), now)
        return None

    def _make_room(
        self, crowd: Crowd, newcomer: str, networks: tuple[str, str], now: float
    ) -> str | None:
        """Close the least useful connection; returns which limit was met if there is none."""
        found = self._evictions.least_useful(crowd.links, networks, crowd.room, now)
        if found is None:
            return crowd.reason
        victim, usefulness = found
        self._evict(victim, usefulness, crowd.reason, newcomer, now)
        return None

    def _evict(self, victim: Link, usefulness: int, reason: str, newcomer: str, now: float) -> None:
        self._turn.trace(
            now, CONNECTION_EVICTED, victim.peer or None, address=victim.address,
            reason=reason, newcomer=newcomer, usefulness=usefulness,
        )  # fmt: skip
        self._close(victim, EVICTED, now)

    def _add(self, id: int, address: Multiaddr, target: Target | None, now: float) -> None:
        connection = Connection(
            identity=self._identity,
            dialer=target is not None,
            now=now,
            entropy=self._entropy,
            protocols=self._protocols,
            expected_peer=None if target is None else target.expected,
            limits=self._parameters.connection,
        )
        link = Link(id, address, connection, target, now)
        self._table.add(link)
        self._turn.touch(link)

    def _on_established(self, link: Link, event: Established, now: float) -> None:
        peer, target = event.peer, link.target
        if target is not None and not self._dialer.established(target, peer, now):
            self._refuse(link, "not_wanted", now)
        elif not self._table.takes(peer):
            self._refuse(link, "too_many_of_peer", now)
        elif (reason := self._crowded_out(link, now)) is not None:
            self._refuse(link, reason, now)
        else:
            self._table.establish(link, peer, now)
            self._turn.trace(
                now, trace.CONNECTION_OPENED, peer, address=link.address, outbound=link.outbound
            )
            self._services.ask(link, now)
            self._streams.connected(link, now)
            if not link.gone:
                self._seeking.connected(link, now)

    def _crowded_out(self, link: Link, now: float) -> str | None:
        """Make room for a stranger whose handshake is done; returns why there is none."""
        if link.outbound:
            return None  # it had its place from the beginning
        crowd = self._table.crowd_inside(link.group)
        if crowd is None:
            return None
        return self._make_room(crowd, link.address, link.networks, now)

    def _refuse(self, link: Link, reason: str, now: float) -> None:
        """The handshake went well, but we do not want this connection."""
        self._turn.trace(now, trace.CONNECTION_REFUSED, address=link.address, reason=reason)
        self._say_goodbye(link, reason)
        self._remove(link)

    # ---- connections go

    def closed(self, input: TransportClosed, now: float) -> None:
        """A transport is gone."""
        link = self._table.links.get(input.connection)
        if link is not None:
            self._forget(link, input.reason, now)

    def close(self, link: Link, reason: str, now: float) -> None:
        """Close one connection."""
        if not link.gone:
            self._close(link, reason, now)

    def drop(self, peer: str, reason: str, now: float) -> None:
        """Close every connection of ``peer``."""
        for link in self._table.of(peer):
            if not link.gone:
                self._close(link, reason, now)

    def shut(self, now: float) -> None:
        """Close every connection, and let no new one in."""
        self._shut = True
        for link in list(self._table.links.values()):
            if not link.gone:
                self._close(link, "shutdown", now)

    def _on_failed(self, link: Link, event: Failed, now: float) -> None:
        if link.peer and not event.reason.startswith(NO_FAULT):
            fields = {"reason": event.reason, "detail": event.detail}
            self._turn.trace(now, trace.PROTOCOL_ERROR, link.peer, **fields)
        self._close(link, event.reason, now, event.detail)

    def _close(self, link: Link, reason: str, now: float, detail: str = "") -> None:
        self._say_goodbye(link, reason)
        self._forget(link, reason, now, detail)

    def _say_goodbye(self, link: Link, reason: str) -> None:
        link.connection.close(reason)
        data = link.connection.data_to_send()
        # Bytes for a peer that takes none would only fill the transport.
        if data and link.write_ready:
            self._turn.effects.append(WriteBytes(link.id, data))
        self._turn.effects.append(CloseTransport(link.id, reason))

    def _forget(self, link: Link, reason: str, now: float, detail: str = "") -> None:
        """``link`` is over: tell whom it concerns."""
        self._remove(link)
        peer = link.peer
        if not peer:
            fields = {"address": link.address, "reason": reason, "detail": detail}
            self._turn.trace(now, trace.CONNECTION_FAILED, **fields)
            if link.target is not None:
                problem = in_words(reason, detail)
                final = reason == OWN_IDENTITY
                self._dialer.failed(link.target, problem, now, final=final)
            return
        self._turn.trace(now, trace.CONNECTION_CLOSED, peer, address=link.address, reason=reason)
        self._streams.disconnected(link, reason, now)
        self._seeking.disconnected(link, now)
        if not self._table.connected(peer):
            self._dialer.lost(peer, now)

    def _remove(self, link: Link) -> None:
        link.gone = True
        self._table.remove(link)
        self._timers.cancel(link)
        self._services.disconnected(link)

    # ---- streams

    def _on_stream_event(
        self, link: Link, event: StreamOpened | StreamDrained | StreamEnded, now: float
    ) -> None:
        """Tell the part of the host that the stream belongs to."""
        if isinstance(event, StreamOpened) and event.inbound:
            link.streams[event.stream] = self._owners.get(event.protocol, self._streams)
        owner = link.streams.get(event.stream)
        if owner is None:
            return
        if isinstance(event, StreamOpened):
            owner.opened(link, event.stream, event.protocol, event.inbound, now)
        elif isinstance(event, StreamDrained):
            owner.drained(link, event.stream, now)
        else:
            owner.ended(link, event.stream, now)
