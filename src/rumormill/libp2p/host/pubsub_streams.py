"""Pubsub's streams: one that we write and one that we read, for each peer.

Between :class:`~rumormill.libp2p.stack.connection.Connection` and
:class:`~rumormill.libp2p.pubsub.pubsub.Pubsub`. To pubsub, a peer is there from ``PeerJoined`` to
``PeerLeft``; nothing of the streams in between outlives that: when our own stream is lost, so is
what we knew of the peer, and the peer's stream is reset too, so that it tells its subscriptions
again on a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from rumormill.core.machine import (
    Effect,
    Input,
    Machine,
    PeerJoined,
    PeerLeft,
    Received,
    Send,
    Writable,
)
from rumormill.core.timers import Timers
from rumormill.core.trace import DROPPED
from rumormill.core.transport import HoldPeer
from rumormill.libp2p.effects import StreamLost, StreamRenewed, StreamRestarted
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.peer_streams import PeerStreams
from rumormill.libp2p.host.table import ConnectionTable, Link, Turn

PUBSUB_UNAVAILABLE = "pubsub_unavailable"
"""A trace event: a connected peer takes no pubsub stream of ours; fields: reason."""

STREAM_LOST = "stream_lost"
"""A trace event: our pubsub stream broke on a living connection, and what was under way on it may
be lost; fields: reason."""

NO_PROTOCOL = "no_common_protocol"
"""Why a stream was refused by a peer that speaks none of our protocols."""


class PubsubMachine(Machine[Any, Any], Protocol):
    """What a host needs of pubsub."""

    @property
    def protocols(self) -> tuple[str, ...]:
        """The ids of the protocols that it speaks, best first."""
        ...


class PubsubStreams:
    """Owner of every pubsub stream; passes bytes one way and packets the other."""

    def __init__(
        self,
        *,
        pubsub: PubsubMachine,
        parameters: HostParameters,
        table: ConnectionTable,
        turn: Turn,
        translate: dict[type, Callable[[Any, float], None]],
        drop: Callable[[str, str, float], None],
    ) -> None:
        self._pubsub = pubsub
        self._parameters = parameters
        self._table = table
        self._turn = turn
        self._drop = drop
        self._translate: dict[type, Callable[[Any, float], None]] = {
            **translate,
            Send: self._send,
            HoldPeer: self._hold_peer,
        }
        self._peers: dict[str, PeerStreams] = {}
        self._timers: Timers[str] = Timers(turn.alarm)
        self._paused = False

    def __len__(self) -> int:
        """Of how many peers something is kept."""
        return len(self._peers)

    # ---- pubsub

    def feed(self, input: Input, now: float) -> None:
        """Give pubsub an input and see to what it wants done."""
        self.carry_out(self._pubsub.handle(input, now), now)

    def carry_out(self, effects: Sequence[Effect], now: float) -> None:
        """Do what concerns connections; the rest is the business of the host's driver."""
        translate, passed_on = self._translate, self._turn.effects
        for effect in effects:
            translator = translate.get(type(effect))
            if translator is None:
                passed_on.append(effect)
            else:
                translator(effect, now)

    def _send(self, effect: Send, now: float) -> None:
        streams = self._peers.get(effect.peer)
        if streams is None or streams.outbound is None or not streams.open:
            self._turn.trace(now, DROPPED, effect.peer, what="packet", reason="no_stream")
            return
        link, stream = streams.outbound
        unsent = link.connection.write(stream, effect.packet)
        self._turn.touch(link)
        streams.written += len(effect.packet)
        if unsent:
            # The peer's window is full: see that it moves, and that not too much gathers.
            if streams.stall_at is None:
                streams.watch(unsent, now + self._parameters.stall_timeout)
                self._arm(streams)
            if unsent > self._parameters.send_high_water:
                streams.blocked = True
                self._tell_ready(streams, now)

    def _tell_ready(self, streams: PeerStreams, now: float) -> None:
        """Let pubsub know whether it may send, if that has changed."""
        ready = streams.can_send()
        if streams.joined and ready != streams.ready:
            streams.ready = ready
            self.feed(Writable(streams.peer, ready), now)

    # ---- connections come and go

    def connected(self, link: Link, now: float) -> None:
        """``link`` has become usable."""
        if link.peer not in self._peers:
            streams = self._peers[link.peer] = PeerStreams(link.peer)
            self._open(streams, link, now)

    def disconnected(self, link: Link, reason: str, now: float) -> None:
        """``link`` is out of the table; if its peer has another one, that takes over."""
        peer = link.peer
        streams = self._peers.get(peer)
        if streams is None:
            return
        if streams.inbound is not None and streams.inbound[0] is link:
            streams.inbound = None
        used = streams.outbound is not None and streams.outbound[0] is link
        if used:
            streams.outbound = None
        if used or not self._table.connected(peer):
            self._leave(streams, reason, now)
        if self._peers.get(peer) is not streams:
            return  # pubsub's answer was to drop the peer
        others = self._table.of(peer)
        if not others:
            self._timers.cancel(peer)
            del self._peers[peer]
        elif used:
            streams.attempts = 0
            self._open(streams, others[0], now)

    def learned(self, link: Link, protocols: tuple[str, ...], now: float) -> None:
        """The peer says what it speaks: perhaps pubsub, which it did not when we tried."""
        streams = self._peers[link.peer]
        if streams.outbound is not None or streams.retry_at is not None:
            return
        if any(protocol in protocols for protocol in self._pubsub.protocols):
            streams.attempts = self._parameters.stream_attempts - 1
            self._open(streams, link, now)

    def write_ready(self, link: Link, now: float) -> None:
        """The transport of ``link`` takes more bytes now, or no longer does."""
        streams = self._peers.get(link.peer)
        if streams is not None:
            self._tell_ready(streams, now)

    # ---- our stream

    def _open(self, streams: PeerStreams, link: Link, now: float) -> None:
        stream = link.connection.open_stream(self._pubsub.protocols, now)
        link.streams[stream] = self
        streams.began(link, stream)
        self._turn.touch(link)

    def _outbound_opened(self, streams: PeerStreams, protocol: str, now: float) -> None:
        renewed = streams.joined and streams.opened_at is not None
        streams.open = True
        streams.opened_at = now
        if renewed:
            self.feed(StreamRenewed(streams.peer), now)
        if streams.joined:
            self._tell_ready(streams, now)
        else:
            self._join(streams, protocol, now)

    def _outbound_lost(self, streams: PeerStreams, reason: str, now: float) -> None:
        """Our stream is gone, its connection is not: try again, but not for ever.

        While its own stream lives, the peer has not left: it will not say again what it told us
        there. rust tells its subscriptions once per connection.
        """
        began = streams.opened_at
        if streams.open and began is not None and now - began >= self._parameters.stable_after:
            streams.attempts = 0
        lost = streams.open
        streams.broke()
        if reason == NO_PROTOCOL:
            streams.attempts = self._parameters.stream_attempts
        hopeless = streams.attempts >= self._parameters.stream_attempts
        if hopeless or streams.inbound is None:
            self._leave(streams, reason, now)
            if self._peers.get(streams.peer) is not streams:
                return
        if hopeless:
            self._turn.trace(now, PUBSUB_UNAVAILABLE, streams.peer, reason=reason)
            return
        self._tell_ready(streams, now)
        if streams.joined and lost:
            self._turn.trace(now, STREAM_LOST, streams.peer, reason=reason)
            self.feed(StreamLost(streams.peer), now)
        self._retry_later(streams, now)

    def _retry_later(self, streams: PeerStreams, now: float) -> None:
        delay = self._parameters.stream_retry_delay * 2.0 ** max(streams.attempts - 1, 0)
        streams.retry_at = now + delay
        self._arm(streams)

    # ---- the peer's stream

    def _inbound_opened(
        self, streams: PeerStreams, link: Link, stream: int, protocol: str, now: float
    ) -> None:
        before = streams.inbound
        if before is not None:
            self._reset(*before)
            if before[0] is not link:
                self._follow(streams, before[0], now)
                if link.gone:
                    return
        streams.inbound = (link, stream)
        self._apply_hold(streams)
        if not streams.joined:
            self._join(streams, protocol, now)
        elif streams.had_inbound:
            self.feed(StreamRestarted(streams.peer), now)
        streams.had_inbound = True
        if streams.outbound is None and not link.gone:
            # It speaks pubsub after all. If it does not listen now either, so be it.
            streams.attempts = min(streams.attempts, self._parameters.stream_attempts - 1)
            self._open(streams, link, now)

    def _follow(self, streams: PeerStreams, before: Link, now: float) -> None:
        """The peer began anew on another connection: do not stay behind on the one it left.

        A peer that was restarted, or lost its line, knows before we do that the old connection is
        dead: what we write there is lost.
        """
        if streams.outbound is not None and streams.outbound[0] is before:
            self._reset(*streams.outbound)
            streams.outbound = None
            self._leave(streams, "moved", now)

    def hold(self, paused: bool) -> None:
        """Hold all peers back, or let those go on that pubsub does not want held."""
        self._paused = paused
        for streams in self._peers.values():
            self._apply_hold(streams)

    def _hold_peer(self, effect: HoldPeer, now: float) -> None:
        streams = self._peers.get(effect.peer)
        if streams is not None:
            streams.held = effect.held
            self._apply_hold(streams)

    def _apply_hold(self, streams: PeerStreams) -> None:
        if streams.inbound is not None:
            link, stream = streams.inbound
            link.connection.hold(stream, self._paused or streams.held)
            self._turn.touch(link)

    # ---- joining and leaving

    def _join(self, streams: PeerStreams, protocol: str, now: float) -> None:
        streams.joined = streams.ready = True
        outbound = self._table.dialed(streams.peer)
        self.feed(PeerJoined(streams.peer, protocol, outbound), now)
        self._tell_ready(streams, now)

    def _leave(self, streams: PeerStreams, reason: str, now: float) -> None:
        """To pubsub the peer is gone, so nothing more of it may be read."""
        joined = streams.joined
        if streams.inbound is not None:
            self._reset(*streams.inbound)
        streams.left()
        if joined:
            self.feed(PeerLeft(streams.peer, reason), now)

    def _reset(self, link: Link, stream: int) -> None:
        if link.streams.pop(stream, None) is not None:
            link.connection.reset_stream(stream)
            self._turn.touch(link)

    # ---- events of streams

    def opened(self, link: Link, stream: int, protocol: str, inbound: bool, now: float) -> None:
        """A stream of either direction is ready."""
        streams = self._peers[link.peer]
        if inbound:
            self._inbound_opened(streams, link, stream, protocol, now)
        else:
            self._outbound_opened(streams, protocol, now)

    def data(self, link: Link, stream: int, data: bytes, now: float) -> None:
        """Bytes came in: on the peer's stream they are pubsub's, on ours nobody reads them."""
        peer = link.peer
        inbound = self._peers[peer].inbound
        if inbound is not None and inbound[1] == stream and inbound[0] is link:
            self.carry_out(self._pubsub.handle(Received(peer, data), now), now)

    def drained(self, link: Link, stream: int, now: float) -> None:
        """The peer has made room on our stream."""
        streams = self._peers[link.peer]
        if streams.outbound == (link, stream):
            streams.blocked = False
            streams.stall_at = None
            self._tell_ready(streams, now)

    def ended(self, link: Link, stream: int, now: float) -> None:
        """The peer closed a stream. Ours is of no use to us then: nobody reads it."""
        streams = self._peers[link.peer]
        self._reset_or_close(link, stream, close=streams.inbound == (link, stream))
        self._stream_gone(streams, link, stream, "stream_ended", now)

    def lost(self, link: Link, stream: int, reason: str, now: float) -> None:
        """A stream was reset or refused."""
        link.streams.pop(stream, None)
        self._stream_gone(self._peers[link.peer], link, stream, reason, now)

    def _reset_or_close(self, link: Link, stream: int, *, close: bool) -> None:
        if not close:
            self._reset(link, stream)
        elif link.streams.pop(stream, None) is not None:
            link.connection.close_stream(stream)
            self._turn.touch(link)

    def _stream_gone(
        self, streams: PeerStreams, link: Link, stream: int, reason: str, now: float
    ) -> None:
        if streams.inbound == (link, stream):
            streams.inbound = None
            if streams.outbound is None:
                self._leave(streams, reason, now)  # nothing is left of it but the connection
        elif streams.outbound == (link, stream):
            self._outbound_lost(streams, reason, now)

    # ---- time

    def wake(self, now: float) -> None:
        """Open streams anew, and drop peers that do not move."""
        for peer in self._timers.due(now):
            streams = self._peers.get(peer)
            if streams is None:
                continue
            if streams.retry_at is not None and streams.retry_at <= now:
                self._open(streams, self._table.of(peer)[0], now)
            if streams.stall_at is not None and streams.stall_at <= now:
                self._stalled(streams, now)
            self._arm(streams)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _stalled(self, streams: PeerStreams, now: float) -> None:
        assert streams.outbound is not None
        link, stream = streams.outbound
        unsent = link.connection.unsent(stream)
        streams.stall_at = None
        if unsent and not streams.moved(unsent):
            self._drop(streams.peer, "stalled", now)
        elif unsent:
            streams.watch(unsent, now + self._parameters.stall_timeout)

    def _arm(self, streams: PeerStreams) -> None:
        due = streams.next_wake()
        if due is not None:
            self._timers.at_latest(streams.peer, due)
