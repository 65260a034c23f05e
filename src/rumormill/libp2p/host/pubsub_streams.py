"""Pubsub's streams: one that we write and those that we read, for each peer.

Between :class:`~rumormill.libp2p.stack.connection.Connection` and
:class:`~rumormill.libp2p.pubsub.pubsub.Pubsub`. To pubsub, a peer is there from ``PeerJoined`` to
``PeerLeft``. In between, streams and connections may come and go:

* our stream broke, its connection lives: ``StreamLost``, and ``StreamRenewed`` once there is
  another one;
* our stream's connection is gone and the peer has another one: the same, at once;
* the peer began a new stream, wherever: ``StreamRestarted``.

The peer has left when both directions are gone on a living connection, when its last connection is
gone, or when it takes no stream of ours any more.
"""

from __future__ import annotations

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Received
from rumormill.core.trace import PROTOCOL_ERROR
from rumormill.libp2p.effects import StreamLost, StreamRenewed, StreamRestarted
from rumormill.libp2p.host.outbound_stream import Phase
from rumormill.libp2p.host.peer_streams import InboundStream, PeerStreams
from rumormill.libp2p.host.pubsub_feed import PubsubFeed
from rumormill.libp2p.host.table import Link
from rumormill.libp2p.wire.frames import FrameReader

PUBSUB_UNAVAILABLE = "pubsub_unavailable"
"""A trace event: a connected peer takes no pubsub stream of ours; fields: reason."""

STREAM_LOST = "stream_lost"
"""A trace event: our pubsub stream is gone and the peer is not; fields: reason, and unconfirmed,
the bytes written that the peer had not shown to have read: so much at most is lost with it."""

NO_PROTOCOL = "no_common_protocol"
"""Why a stream was refused by a peer that speaks none of our protocols."""

STREAMS_USED_UP = "pubsub_streams_used_up"
"""Why a connection is closed on which our stream broke too often."""


class PubsubStreams(PubsubFeed):
    """Owner of every pubsub stream: has them opened, renewed, moved and given up."""

    # ---- connections come and go

    def connected(self, link: Link, now: float) -> None:
        """``link`` has become usable."""
        streams = self._peers.get(link.peer)
        if streams is None:
            streams = self._peers[link.peer] = PeerStreams(link.peer)
            self._ask(streams, link, now)

    def disconnected(self, link: Link, reason: str, now: float) -> None:
        """``link`` is out of the table; if its peer has another one, that takes over."""
        peer = link.peer
        streams = self._peers.get(peer)
        if streams is None:
            return
        owed = streams.inbound.pop(link, None) is not None and not streams.inbound
        if not self._table.connected(peer):
            streams.outbound.give_up()
            self._leave(streams, reason, now)
            if self._peers.get(peer) is streams:
                self._timers.cancel(peer)
                del self._peers[peer]
        elif streams.outbound.on(link):
            streams.outbound.attempts = 0
            self._outbound_lost(streams, reason, now, at_once=True)
        elif not streams.inbound and not streams.outbound.alive:
            self._leave(streams, reason, now)
        if owed and streams.joined:
            streams.nudge_at = now + self._parameters.nudge_interval
            self._arm(streams)

    def learned(self, link: Link, protocols: tuple[str, ...], now: float) -> None:
        """The peer says what it speaks: perhaps pubsub, which it did not when we tried."""
        streams = self._peers[link.peer]
        if streams.outbound.phase is Phase.ABSENT and any(
            protocol in protocols for protocol in self._pubsub.protocols
        ):
            self._ask_once_more(streams, link, now)

    def write_ready(self, link: Link, now: float) -> None:
        """The transport of ``link`` takes more bytes now, or no longer does."""
        streams = self._peers.get(link.peer)
        if streams is not None:
            self._tell_ready(streams, now)

    # ---- our stream

    def _ask(self, streams: PeerStreams, link: Link, now: float) -> None:
        stream = link.connection.open_stream(self._pubsub.protocols, now)
        link.streams[stream] = self
        streams.outbound.ask(link, stream)
        self._turn.touch(link)

    def _ask_once_more(self, streams: PeerStreams, link: Link, now: float) -> None:
        """One try, after we had given up; if the peer does not listen now either, so be it."""
        attempts = streams.outbound.attempts
        streams.outbound.attempts = min(attempts, self._parameters.stream_attempts - 1)
        self._ask(streams, link, now)

    def _outbound_opened(self, streams: PeerStreams, link: Link, protocol: str, now: float) -> None:
        renewed = streams.joined and streams.outbound.agreed_at is not None
        streams.outbound.agree(now)
        link.pubsub_streams += 1
        if renewed:
            self.feed(StreamRenewed(streams.peer), now)
        if streams.joined:
            self._tell_ready(streams, now)
        else:
            self._join(streams, link, protocol, now)

    def _outbound_lost(
        self, streams: PeerStreams, reason: str, now: float, *, at_once: bool = False
    ) -> None:
        """Our stream is gone, the peer still has a connection: try again, but not for ever.

        While its own stream lives, the peer has not left: it will not say again what it told us
        there. rust tells its subscriptions once, on the first connection. ``at_once``: it was the
        connection that went, by nobody's fault, and with another one there need be no wait.
        """
        outbound = streams.outbound
        lost, began = outbound.agreed, outbound.agreed_at
        if lost and began is not None and now - began >= self._parameters.stable_after:
            outbound.attempts = 0
        outbound.break_off(now if at_once else now + self._delay(outbound.attempts))
        hopeless = reason == NO_PROTOCOL or outbound.attempts >= self._parameters.stream_attempts
        if hopeless or (not streams.inbound and not at_once):
            self._leave(streams, reason, now)
        else:
            self._tell_ready(streams, now)
            if streams.joined and lost:
                self._trace_lost(streams, reason, now)
                self.feed(StreamLost(streams.peer), now)
        if self._peers.get(streams.peer) is not streams:
            return  # pubsub's answer was to drop the peer
        if hopeless:
            outbound.give_up()
            self._turn.trace(now, PUBSUB_UNAVAILABLE, streams.peer, reason=reason)
        elif self._best_link(streams.peer) is None:
            self._drop(streams.peer, STREAMS_USED_UP, now)
        elif at_once:
            self._retry(streams, now)
        else:
            self._arm(streams)

    def _delay(self, attempts: int) -> float:
        return self._parameters.stream_retry_delay * 2.0 ** max(attempts - 1, 0)

    def _best_link(self, peer: str) -> Link | None:
        """The oldest connection that the peer's implementation takes another stream on."""
        most = self._parameters.streams_per_connection
        return next((link for link in self._table.of(peer) if link.pubsub_streams < most), None)

    def _retry(self, streams: PeerStreams, now: float) -> None:
        link = self._best_link(streams.peer)
        if link is not None:
            self._ask(streams, link, now)
        else:
            self._drop(streams.peer, STREAMS_USED_UP, now)

    def _trace_lost(self, streams: PeerStreams, reason: str, now: float) -> None:
        link, number = streams.outbound.link, streams.outbound.number
        unconfirmed = 0 if link is None else link.connection.unconfirmed(number)
        fields: dict[str, int | str] = {"reason": reason, "unconfirmed": unconfirmed}
        self._turn.trace(now, STREAM_LOST, streams.peer, **fields)

    # ---- the peer's streams

    def _inbound_opened(
        self, streams: PeerStreams, link: Link, stream: int, protocol: str, now: float
    ) -> None:
        before = streams.inbound.pop(link, None)
        if before is not None:
            self._reset(link, before.number)
        elsewhere = bool(streams.inbound)
        streams.nudge_at = None
        streams.inbound[link] = InboundStream(stream, self._reader_beside(streams))
        self._apply_hold(streams)
        if not streams.joined:
            self._join(streams, link, protocol, now)
        elif streams.had_inbound:
            self.feed(StreamRestarted(streams.peer), now)
        streams.had_inbound = True
        if link.gone:
            return  # pubsub's answer was to drop the peer
        if streams.outbound.phase is Phase.ABSENT:
            self._ask_once_more(streams, link, now)  # it speaks pubsub after all
        elif elsewhere and not streams.outbound.on(link):
            self._follow(streams, link, now)

    def _reader_beside(self, streams: PeerStreams) -> FrameReader | None:
        """What cuts a further stream into frames, if the peer has another one that lives."""
        if not streams.inbound:
            return None
        for other in streams.inbound.values():
            if other.reader is None:
                other.reader = self._pubsub.take_reader(streams.peer)
            return FrameReader(other.reader.largest)
        return None

    def _follow(self, streams: PeerStreams, link: Link, now: float) -> None:
        """The peer began anew on another connection: do not stay behind on the one it left.

        A peer that was restarted, or lost its line, knows before we do that the old connection is
        dead: what we write there is lost. If it is not dead, all that we wrote there still arrives.
        """
        outbound = streams.outbound
        if outbound.link is None or link.pubsub_streams >= self._parameters.streams_per_connection:
            return
        if outbound.alive:
            if outbound.agreed:
                self._trace_lost(streams, "moved", now)
                self._close(outbound.link, outbound.number)
            else:
                self._reset(outbound.link, outbound.number)
            outbound.break_off(now)
            self._tell_ready(streams, now)
        if self._peers.get(streams.peer) is streams and not link.gone:
            self._ask(streams, link, now)

    # ---- events of streams

    def opened(self, link: Link, stream: int, protocol: str, inbound: bool, now: float) -> None:
        """A stream of either direction is ready."""
        streams = self._peers[link.peer]
        if inbound:
            self._inbound_opened(streams, link, stream, protocol, now)
        else:
            self._outbound_opened(streams, link, protocol, now)

    def data(self, link: Link, stream: int, data: bytes, now: float) -> None:
        """Bytes came in: on the peer's stream they are pubsub's, on ours nobody reads them."""
        peer = link.peer
        inbound = self._peers[peer].inbound.get(link)
        if inbound is None or inbound.number != stream:
            return
        if inbound.reader is not None:
            try:
                data = inbound.whole(data)
            except RemoteProtocolError as error:
                fields = {"reason": error.reason, "detail": error.detail}
                self._turn.trace(now, PROTOCOL_ERROR, peer, **fields)
                self._drop(peer, error.reason, now)
                return
            if not data:
                return
        self.carry_out(self._pubsub.handle(Received(peer, data), now), now)

    def go_on(self, peer: str, now: float) -> None:
        """The peer's turn has come again: pubsub may have kept a part of what came before."""
        streams = self._peers.get(peer)
        if streams is not None and streams.joined:
            self.feed(Received(peer, b""), now)

    def drained(self, link: Link, stream: int, now: float) -> None:
        """The peer has made room on our stream."""
        streams = self._peers[link.peer]
        if self._is_ours(streams, link, stream):
            streams.outbound.drain()
            self._tell_ready(streams, now)

    def ended(self, link: Link, stream: int, now: float) -> None:
        """The peer closed a stream. Ours is of no use to us then: nobody reads it."""
        streams = self._peers[link.peer]
        if self._is_ours(streams, link, stream):
            self._outbound_lost(streams, "stream_ended", now)
            self._reset(link, stream)
        else:
            self._close(link, stream)
            self._inbound_lost(streams, link, stream, "stream_ended", now)

    def lost(self, link: Link, stream: int, reason: str, now: float) -> None:
        """A stream was reset or refused."""
        link.streams.pop(stream, None)
        streams = self._peers[link.peer]
        if self._is_ours(streams, link, stream):
            self._outbound_lost(streams, reason, now)
        else:
            self._inbound_lost(streams, link, stream, reason, now)

    def _is_ours(self, streams: PeerStreams, link: Link, stream: int) -> bool:
        return streams.outbound.number == stream and streams.outbound.on(link)

    def _inbound_lost(
        self, streams: PeerStreams, link: Link, stream: int, reason: str, now: float
    ) -> None:
        inbound = streams.inbound.get(link)
        if inbound is not None and inbound.number == stream:
            del streams.inbound[link]
            if not streams.inbound and not streams.outbound.alive:
                self._leave(streams, reason, now)  # nothing is left of it but the connection

    # ---- time

    def wake(self, now: float) -> None:
        """Open streams anew, and drop peers that do not move."""
        for peer in self._timers.due(now):
            streams = self._peers.get(peer)
            if streams is None:
                continue
            outbound = streams.outbound
            if outbound.retry_at is not None and outbound.retry_at <= now:
                self._retry(streams, now)
            elif outbound.stall_at is not None and outbound.stall_at <= now:
                self._stalled(streams, now)
            if streams.nudge_at is not None and streams.nudge_at <= now:
                self._nudge(streams, now)
            self._arm(streams)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _stalled(self, streams: PeerStreams, now: float) -> None:
        outbound = streams.outbound
        assert outbound.link is not None
        unsent = outbound.link.connection.unsent(outbound.number)
        outbound.stall_at = None
        if unsent and not outbound.moved(unsent):
            self._drop(streams.peer, "stalled", now)
        elif unsent:
            outbound.watch(unsent, now + self._parameters.stall_timeout)

    def _nudge(self, streams: PeerStreams, now: float) -> None:
        for link in self._table.of(streams.peer):
            link.connection.nudge()
            self._turn.touch(link)
        streams.nudge_at = now + self._parameters.nudge_interval
