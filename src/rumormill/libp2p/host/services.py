"""What every libp2p node does beside its real work: identify, identify push, ping.

Each exchange has a stream of its own, is bounded in bytes and in time, and at most so many run on
one connection. One that breaks the rules costs its stream, not its connection.
"""

from __future__ import annotations

from collections.abc import Callable

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.timers import Timers
from rumormill.core.trace import PEER_IDENTIFIED, PROTOCOL_ERROR
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.table import Link, Turn
from rumormill.libp2p.stack.identify import (
    DEFAULT_LIMITS,
    IDENTIFY,
    IDENTIFY_PUSH,
    IdentifyInfo,
    decode_identify,
    encode_identify,
)
from rumormill.libp2p.stack.peer_id import peer_id_of, to_text
from rumormill.libp2p.stack.ping import PING, PING_SIZE, PingEcho
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed

SERVICES = (IDENTIFY, IDENTIFY_PUSH, PING)
"""The protocols that are served here."""

MOST_PONGS_UNREAD = 64
"""Answers that a pinging peer may leave unread; past it, it is not measuring anything."""

LONGEST_TRACED = 1024
"""Characters of a peer's own words that go into one field of a trace event."""


class Teller:
    """Says one thing and closes: the answer to identify, or a push of our own.

    The end leaves with the message, because go waits for it before it opens any stream; but in a
    frame of its own, as every end does: js loses both if they share one.
    """

    __slots__ = ("first",)

    def __init__(self, info: IdentifyInfo) -> None:
        self.first = length_prefixed(encode_identify(info))
        """All that there is to write."""

    def receive(self, data: bytes) -> bytes:
        """Nothing is to be said to us here."""
        raise RemoteProtocolError("unexpected_data", f"{len(data)} bytes where we are to speak")

    def end(self) -> IdentifyInfo | None:
        """As it should be."""
        return None


class Listener:
    """Hears what a peer says of itself, until it ends the stream."""

    __slots__ = ("_frames", "_reader", "_room")

    def __init__(self) -> None:
        self._reader = FrameReader(DEFAULT_LIMITS.largest)
        self._room = DEFAULT_LIMITS.largest
        self._frames: list[bytes] = []

    def receive(self, data: bytes) -> bytes:
        """Keep what comes, up to a limit."""
        self._room -= len(data)
        if self._room < 0:
            raise RemoteProtocolError("identify_too_large")
        self._frames += self._reader.feed(data)
        return b""

    def end(self) -> IdentifyInfo | None:
        """What the peer said; several messages count as one."""
        if self._reader.pending or not self._frames:
            raise RemoteProtocolError("identify_cut_short")
        return decode_identify(b"".join(self._frames))


class Echo:
    """Answers pings for as long as the peer likes to ask."""

    __slots__ = ("_echo",)

    def __init__(self) -> None:
        self._echo = PingEcho()

    def receive(self, data: bytes) -> bytes:
        """The same bytes back."""
        return self._echo.receive(data)

    def end(self) -> IdentifyInfo | None:
        """It has asked enough."""
        return None


Exchange = Teller | Listener | Echo


class Services:
    """Owner of every stream of identify and ping.

    ``describe`` says what we tell of ourselves on a connection; ``learned`` hears what protocols a
    peer speaks, ``recorded`` where it says that it is, signed, ``identified`` all of it.
    """

    def __init__(
        self,
        *,
        parameters: HostParameters,
        turn: Turn,
        describe: Callable[[Link], IdentifyInfo],
        learned: Callable[[Link, tuple[str, ...], float], None],
        recorded: Callable[[str, bytes, float], None],
        identified: Callable[[Link, IdentifyInfo, float], None] | None = None,
    ) -> None:
        self._identified = identified
        self._parameters = parameters
        self._turn = turn
        self._describe = describe
        self._learned = learned
        self._recorded = recorded
        self._exchanges: dict[Link, dict[int, Exchange]] = {}
        self._timers: Timers[tuple[Link, int]] = Timers(turn.alarm)

    def __len__(self) -> int:
        """On how many connections something is under way."""
        return len(self._exchanges)

    # ---- what we begin

    def ask(self, link: Link, now: float) -> None:
        """Ask the peer at the other end who it is."""
        self._begin(link, IDENTIFY, now)

    def push(self, link: Link, now: float) -> None:
        """Tell the peer at the other end who we are now."""
        self._begin(link, IDENTIFY_PUSH, now)

    def _begin(self, link: Link, protocol: str, now: float) -> None:
        stream = link.connection.open_stream((protocol,), now)
        link.streams[stream] = self
        self._turn.touch(link)

    # ---- events of streams

    def opened(self, link: Link, stream: int, protocol: str, inbound: bool, now: float) -> None:
        """An exchange begins, unless there are too many already."""
        exchanges = self._exchanges.setdefault(link, {})
        if inbound and len(exchanges) >= self._parameters.max_service_streams:
            self._fail(link, stream, RemoteProtocolError("too_many_service_streams"), now)
            return
        exchange = exchanges[stream] = self._exchange(link, protocol, inbound)
        self._set_timer(link, stream, exchange, now)
        if isinstance(exchange, Teller):
            link.connection.write(stream, exchange.first)
            link.connection.close_stream(stream)
            self._turn.touch(link)

    def _exchange(self, link: Link, protocol: str, inbound: bool) -> Exchange:
        if protocol == PING:
            return Echo()
        # Who opens the stream listens with identify and speaks with its push.
        if (protocol == IDENTIFY) is inbound:
            return Teller(self._describe(link))
        return Listener()

    def data(self, link: Link, stream: int, data: bytes, now: float) -> None:
        """Bytes for an exchange."""
        exchange = self._exchanges[link][stream]
        try:
            answer = exchange.receive(data)
            if answer:
                self._answer(link, stream, answer)
                self._set_timer(link, stream, exchange, now)
        except RemoteProtocolError as error:
            self._fail(link, stream, error, now)

    def _answer(self, link: Link, stream: int, answer: bytes) -> None:
        link.connection.write(stream, answer)
        self._turn.touch(link)
        if link.connection.unsent(stream) > MOST_PONGS_UNREAD * PING_SIZE:
            raise RemoteProtocolError("pongs_unread")

    def drained(self, link: Link, stream: int, now: float) -> None:
        """Nothing of ours waits for that."""

    def ended(self, link: Link, stream: int, now: float) -> None:
        """The peer has said everything."""
        exchange = self._exchanges[link][stream]
        try:
            info = exchange.end()
        except RemoteProtocolError as error:
            self._fail(link, stream, error, now)
            return
        if not isinstance(exchange, Teller):  # which has ended its side already
            link.connection.close_stream(stream)
            self._turn.touch(link)
        self._forget(link, stream)
        if info is not None:
            self._heard(link, info, now)

    def lost(self, link: Link, stream: int, reason: str, now: float) -> None:
        """The stream is gone; that is the peer's choice."""
        self._forget(link, stream)

    def _heard(self, link: Link, info: IdentifyInfo, now: float) -> None:
        """The key was proven in the handshake; one that differs is a peer confused or lying."""
        if info.public_key and to_text(peer_id_of(info.public_key)) != link.peer:
            self._turn.trace(now, PROTOCOL_ERROR, link.peer, reason="identify_other_key")
            return
        self._turn.trace(
            now,
            PEER_IDENTIFIED,
            link.peer,
            agent=info.agent_version[:LONGEST_TRACED],
            protocols=" ".join(info.protocols)[:LONGEST_TRACED],
        )
        if info.signed_peer_record:
            self._recorded(link.peer, info.signed_peer_record, now)
        self._learned(link, info.protocols, now)
        if self._identified is not None:
            self._identified(link, info, now)

    def _fail(self, link: Link, stream: int, error: RemoteProtocolError, now: float) -> None:
        fields = {"reason": error.reason, "detail": error.detail}
        self._turn.trace(now, PROTOCOL_ERROR, link.peer, **fields)
        link.connection.reset_stream(stream)
        self._turn.touch(link)
        self._forget(link, stream)

    # ---- time, and the end

    def _set_timer(self, link: Link, stream: int, exchange: Exchange, now: float) -> None:
        seconds = self._parameters.service_timeout
        if isinstance(exchange, Echo):
            seconds = self._parameters.ping_idle_timeout
        self._timers.set((link, stream), now + seconds)

    def wake(self, now: float) -> None:
        """End exchanges that take too long. An idle ping is nobody's fault."""
        for link, stream in self._timers.due(now):
            exchange = self._exchanges[link][stream]
            if isinstance(exchange, Echo):
                link.connection.reset_stream(stream)
                self._turn.touch(link)
                self._forget(link, stream)
            else:
                self._fail(link, stream, RemoteProtocolError("service_timeout"), now)

    def next_wake(self) -> float | None:
        """When :meth:`wake` has something to do."""
        return self._timers.next_wake()

    def _forget(self, link: Link, stream: int) -> None:
        link.streams.pop(stream, None)
        self._timers.cancel((link, stream))
        exchanges = self._exchanges.get(link)
        if exchanges is not None:
            exchanges.pop(stream, None)
            if not exchanges:
                del self._exchanges[link]

    def disconnected(self, link: Link) -> None:
        """``link`` is gone, and everything on it."""
        for stream in self._exchanges.pop(link, {}):
            self._timers.cancel((link, stream))
