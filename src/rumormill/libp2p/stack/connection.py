"""A libp2p connection as one machine: bytes in, events out, and the other way round.

It agrees on security and muxer, proves who is at the other end, opens streams and agrees on the
protocol of each. Its owner moves the bytes and calls it at the time it names::

    connection = Connection(identity=key, dialer=True, now=now, entropy=entropy,
                            protocols=lambda: ["/chess/1.0.0"])
    write(connection.data_to_send())
    for event in connection.receive(read(), now): ...
    write(connection.data_to_send())
    schedule(connection.next_wake())        # then: connection.wake(now)

Whatever the peer sends, no call raises: a fault of the peer ends the connection and is the event
:class:`Failed`. Calls for a stream that is gone do nothing, since the peer may reset a stream at
any time. After :class:`Closed` and :class:`Failed`, and after :meth:`Connection.close`, write
:meth:`Connection.data_to_send` once more: it holds the goodbye.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Sequence

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.libp2p.stack.events import (
    Closed,
    ConnectionEvent,
    Established,
    Failed,
    InboundRefused,
    PongReceived,
    StreamData,
    StreamDrained,
    StreamEnded,
    StreamOpened,
    StreamRefused,
    StreamReset,
)
from rumormill.libp2p.stack.keys import PrivateKey, PublicKey
from rumormill.libp2p.stack.limits import DEFAULT_LIMITS, ConnectionLimits
from rumormill.libp2p.stack.multistream import Negotiation
from rumormill.libp2p.stack.noise.handshake import NoiseTransport
from rumormill.libp2p.stack.peer_id import from_text
from rumormill.libp2p.stack.settling import Settling
from rumormill.libp2p.stack.upgrade import Upgrade
from rumormill.libp2p.stack.yamux.frames import (
    GO_AWAY,
    INTERNAL_ERROR,
    NORMAL_TERMINATION,
    PROTOCOL_ERROR,
    encode_header,
)
from rumormill.libp2p.stack.yamux.receiving import GoneAway, StreamArrived, YamuxEvent
from rumormill.libp2p.stack.yamux.session import YamuxSession

__all__ = [
    "Closed", "Connection", "ConnectionEvent", "ConnectionLimits", "Established", "Failed",
    "InboundRefused", "PongReceived", "StreamData", "StreamDrained", "StreamEnded", "StreamOpened",
    "StreamRefused", "StreamReset",
]  # fmt: skip


class Connection:
    """One connection with one peer; see the module for how to drive it."""

    __slots__ = (
        "_deadline", "_dialer", "_later", "_limits", "_now", "_out", "_protocols", "_session",
        "_settling", "_transport", "_unconfirmed", "_upgrade", "close_reason", "closed",
        "established", "peer", "public_key",
    )  # fmt: skip

    def __init__(
        self,
        *,
        identity: PrivateKey,
        dialer: bool,
        now: float,
        entropy: random.Random,
        protocols: Callable[[], Sequence[str]],
        expected_peer: str | None = None,
        limits: ConnectionLimits = DEFAULT_LIMITS,
    ) -> None:
        if expected_peer is not None:
            from_text(expected_peer)  # a wrong name is the caller's fault, and shows here
        self.peer: str | None = None
        """Who is at the other end, once that is proven."""
        self.public_key: PublicKey | None = None
        self.established = False
        """Streams can be opened, or could before the connection was closed."""
        self.closed = False
        self.close_reason = ""
        self._dialer = dialer
        self._protocols = protocols
        self._limits = limits
        self._now = now
        self._deadline = now + limits.handshake_timeout
        self._upgrade = Upgrade(
            identity, dialer=dialer, entropy=entropy, expected_peer=expected_peer
        )
        self._transport: NoiseTransport | None = None
        self._session: YamuxSession | None = None
        self._settling: Settling | None = None
        self._later: list[ConnectionEvent] = []
        self._unconfirmed: dict[int, int] = {}
        self._out = b""

    # ---- bytes and time

    def receive(self, data: bytes, now: float) -> list[ConnectionEvent]:
        """Take bytes from the peer; return what happened."""
        events, self._later = self._later, []
        self._now = now
        if self.closed:
            return events
        try:
            session, transport, settling = self._session, self._transport, self._settling
            if session is not None and transport is not None and settling is not None:
                plaintext = transport.decrypt(data)
                if not settling.streams and (plain := session.plain_data(plaintext, now)):
                    events.append(plain)  # as nearly always: more of a stream that is settled
                else:
                    self._read(session, settling, plaintext, now, events)
                if transport.empty_frames:
                    session.charge(transport.empty_frames, now)
                    transport.empty_frames = 0
            else:
                self._advance(data, now, events)
        except RemoteProtocolError as error:
            self._fail(error, events)
        return events

    def data_to_send(self) -> bytes:
        """Everything to write now; empty if there is nothing."""
        out = self._out
        if out:
            self._out = b""
        if self.closed:
            return out
        session, transport = self._session, self._transport
        if session is None or transport is None:
            return out + self._upgrade.data_to_send()
        plaintext = session.data_to_send()
        if not plaintext:
            return out
        try:
            sealed = transport.encrypt(plaintext)
        except RemoteProtocolError as error:
            self._fail(error, self._later)
            return out
        return out + sealed if out else sealed

    def wake(self, now: float) -> list[ConnectionEvent]:
        """Time has passed; return what follows. Harmless when called early."""
        events, self._later = self._later, []
        self._now = now
        if self.closed:
            return events
        try:
            if self._session is not None and self._settling is not None:
                self._settling.expire(now, events)
                self._session.wake(now)
            elif now >= self._deadline:
                raise RemoteProtocolError(
                    "handshake_timeout", f"not done in {self._limits.handshake_timeout:g} s"
                )
        except RemoteProtocolError as error:
            self._fail(error, events)
        return events

    @property
    def steady(self) -> bool:
        """All streams are settled: :meth:`next_wake` moves closer with :meth:`wake` only."""
        settling = self._settling
        return settling is not None and not settling.streams and not self._later

    @property
    def restless(self) -> bool:
        """Bytes may wait to be sent, or :meth:`next_wake` may have come closer."""
        session, settling = self._session, self._settling
        if session is None or settling is None:
            return True
        return bool(
            session.dirty or session.control or settling.streams or self._out or self._later
        )

    def next_wake(self) -> float | None:
        """When :meth:`wake` wants to be called; None once everything is over."""
        if self._later:
            return self._now
        if self.closed:
            return None
        if self._session is None or self._settling is None:
            return self._deadline
        due, deadline = self._session.next_wake(), self._settling.next_wake()
        return due if deadline is None or due < deadline else deadline

    # ---- streams

    def open_stream(self, protocols: Sequence[str], now: float) -> int:
        """Open a stream and propose ``protocols`` on it, best first.

        :class:`StreamOpened` or :class:`StreamRefused` follows, unless the connection ends before.
        Returns the number that the stream has in all events and calls; 0 if the connection is
        closed already.
        """
        self._now = now
        session, settling = self._session, self._settling
        if self.closed:
            return 0
        if session is None or settling is None:
            raise LocalProtocolError("no stream can be opened before the connection is established")
        negotiation = Negotiation.dialer(protocols)
        stream = session.open_stream()
        if stream is None:
            stream = session.skip_stream()
            self._later.append(StreamRefused(stream, "too_many_streams"))
            return stream
        try:
            settling.propose(stream, negotiation, now)
        except RemoteProtocolError as error:
            self._fail(error, self._later)
        return stream

    def write(self, stream: int, data: bytes) -> int:
        """Send bytes on a stream: accepted in full, kept as long as the peer's window demands.

        Returns :meth:`unsent`, which whoever writes watches: when more than ``send_backlog`` bytes
        are waiting on all streams together, the connection fails.
        """
        session, settling = self._session, self._settling
        if session is None or settling is None:
            return 0
        try:
            if stream not in settling.streams:
                return session.write(stream, data)
            settling.write(stream, data)
            return settling.unsent(stream)
        except RemoteProtocolError as error:
            self._fail(error, self._later)
            return 0

    def unsent(self, stream: int) -> int:
        """Bytes that cannot leave before the peer allows more."""
        session, settling = self._session, self._settling
        if session is None or settling is None:
            return 0
        if stream in settling.streams:
            return settling.unsent(stream)
        return session.unsent(stream)

    def unconfirmed(self, stream: int) -> int:
        """Bytes written that the peer has not shown to have read, as far as its window tells.

        Still known when the stream was reset with the last bytes received, or its connection ended.
        """
        session = self._session
        return self._unconfirmed.get(stream, 0) if session is None else session.unconfirmed(stream)

    @property
    def progress(self) -> int:
        """Stages of the handshake that are done; see :attr:`Upgrade.progress`."""
        return self._upgrade.progress

    @property
    def frames(self) -> int:
        """Frames of all layers that were taken apart so far."""
        session, transport = self._session, self._transport
        if session is None or transport is None:
            return 0
        return transport.received + session.frames

    @property
    def queued(self) -> int:
        """Bytes written to streams and not yet in :meth:`data_to_send`."""
        return 0 if self._session is None else self._session.queued

    def close_stream(self, stream: int) -> None:
        """Send nothing more on a stream, once what was written has left; go on receiving."""
        session, settling = self._session, self._settling
        if session is None or settling is None:
            return
        if stream in settling.streams:
            settling.end(stream)
        else:
            session.end(stream)

    def reset_stream(self, stream: int) -> None:
        """Drop a stream in both directions; no event follows."""
        if self._settling is not None:
            self._settling.drop(stream)

    def hold(self, stream: int, held: bool) -> None:
        """While held, the peer is granted no room for more on this stream."""
        if self._session is not None:
            self._session.hold(stream, held)

    def nudge(self) -> None:
        """Make the other end look at this connection, by a ping whose answer nobody waits for."""
        if self._session is not None:
            self._session.nudge()

    def close(self, reason: str = "closed") -> None:
        """Go away, in order: what may leave does, then the goodbye. No event follows.

        yamux carries no reason; ``close_reason`` keeps it for whoever looks at this object.
        """
        if not self.closed:
            self.close_reason = reason
            self._out = self.data_to_send()
            self._end(NORMAL_TERMINATION)

    # ---- inside

    def _advance(self, data: bytes, now: float, events: list[ConnectionEvent]) -> None:
        """One step of the upgrade; with the last one, the session begins."""
        upgrade = self._upgrade
        try:
            plaintext = upgrade.receive(data)
        finally:
            self.public_key = upgrade.public_key
            self.peer = None if self.public_key is None else self.public_key.peer
        if plaintext is None or self.peer is None:
            return
        session = YamuxSession(dialer=self._dialer, now=now, limits=self._limits)
        self._out += upgrade.data_to_send()
        self._transport, self._session = upgrade.transport, session
        self._settling = Settling(session, self._protocols, self._limits)
        self.established = True
        events.append(Established(self.peer))
        self._read(session, self._settling, plaintext, now, events)

    def _read(
        self,
        session: YamuxSession,
        settling: Settling,
        plaintext: bytes,
        now: float,
        events: list[ConnectionEvent],
    ) -> None:
        incoming: list[YamuxEvent] = []
        try:
            session.receive(plaintext, now, incoming)
        finally:
            self._dispatch(settling, incoming, now, events)

    def _dispatch(
        self,
        settling: Settling,
        incoming: list[YamuxEvent],
        now: float,
        events: list[ConnectionEvent],
    ) -> None:
        unsettled = settling.streams
        for event in incoming:
            if isinstance(event, StreamArrived):
                settling.arrived(event.stream, now)
            elif isinstance(event, GoneAway):
                self._on_gone_away(event.code, events)
            elif isinstance(event, PongReceived | InboundRefused) or event.stream not in unsettled:
                events.append(event)
            else:
                settling.take(event, events)
        if settling.refused:
            settling.sweep()

    def _on_gone_away(self, code: int, events: list[ConnectionEvent]) -> None:
        if code == NORMAL_TERMINATION:
            events.append(Closed("closed_by_peer"))
        elif code == PROTOCOL_ERROR:
            events.append(Failed("peer_saw_protocol_error", "it went away"))
        elif code == INTERNAL_ERROR:
            events.append(Failed("peer_had_internal_error", "it went away"))
        else:
            events.append(Failed("peer_went_away", f"code {code}"))
        self._end(None)

    def _fail(self, error: RemoteProtocolError, events: list[ConnectionEvent]) -> None:
        if not self.closed:
            events.append(Failed(error.reason, error.detail))
            self._end(PROTOCOL_ERROR)

    def _end(self, code: int | None) -> None:
        """Be closed; with a code, tell the peer."""
        if code is not None and self._transport is not None:
            # A key that is used up has no last word.
            with contextlib.suppress(RemoteProtocolError):
                self._out += self._transport.encrypt(encode_header(GO_AWAY, 0, 0, code))
        self.closed = True
        if self._session is not None:
            self._unconfirmed = self._session.all_unconfirmed()
        self._session = self._settling = self._transport = None
