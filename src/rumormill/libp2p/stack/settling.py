"""Streams on their way to a protocol: each one negotiates before its owner hears of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.events import (
    ConnectionEvent,
    InboundRefused,
    StreamData,
    StreamDrained,
    StreamEnded,
    StreamOpened,
    StreamRefused,
    StreamReset,
)
from rumormill.libp2p.stack.limits import ConnectionLimits
from rumormill.libp2p.stack.multistream import Negotiation
from rumormill.libp2p.stack.yamux.session import YamuxSession


class _Unsettled:
    """A stream without a protocol, and what its owner already wants to do with it."""

    __slots__ = ("deadline", "end_wanted", "inbound", "negotiation", "refused", "size", "writes")

    def __init__(self, negotiation: Negotiation | None, deadline: float) -> None:
        self.negotiation = negotiation
        """None until a peer that began a stream says something on it."""
        self.inbound = negotiation is None
        self.deadline = deadline
        self.refused = False
        self.writes: list[bytes] = []
        self.size = 0
        self.end_wanted = False


class Settling:
    """All streams of a session that have no protocol yet; ``streams`` tells which.

    A fault in a negotiation costs the stream, not the connection.
    """

    __slots__ = ("_limits", "_protocols", "_session", "refused", "streams")

    def __init__(
        self,
        session: YamuxSession,
        protocols: Callable[[], Sequence[str]],
        limits: ConnectionLimits,
    ) -> None:
        # In the order of their deadlines, since all get the same time.
        self.streams: dict[int, _Unsettled] = {}
        self._session = session
        self._protocols = protocols
        self._limits = limits
        self.refused: list[int] = []
        """Streams that :meth:`sweep` will forget."""

    def propose(self, stream: int, negotiation: Negotiation, now: float) -> None:
        """A stream of ours was opened."""
        deadline = now + self._limits.negotiation_timeout
        self.streams[stream] = _Unsettled(negotiation, deadline)
        self._session.write(stream, negotiation.data_to_send())

    def arrived(self, stream: int, now: float) -> None:
        """The peer began a stream."""
        self.streams[stream] = _Unsettled(None, now + self._limits.negotiation_timeout)

    def take(
        self,
        event: StreamData | StreamDrained | StreamEnded | StreamReset,
        events: list[ConnectionEvent],
    ) -> None:
        """Something happened on a stream that is not settled."""
        unsettled = self.streams[event.stream]
        if unsettled.refused:
            return
        if isinstance(event, StreamData):
            try:
                self._negotiate(event.stream, unsettled, event.data, events)
            except RemoteProtocolError as error:
                self._refuse(event.stream, unsettled, error.reason, events)
        elif isinstance(event, StreamEnded):
            self._refuse(event.stream, unsettled, "ended_by_peer", events)
        elif isinstance(event, StreamReset):
            self._refuse(event.stream, unsettled, event.reason, events)

    def sweep(self) -> None:
        """Forget refused streams. Until the input that refused them is read, more may follow."""
        for stream in self.refused:
            self.streams.pop(stream, None)
        self.refused.clear()

    def expire(self, now: float, events: list[ConnectionEvent]) -> None:
        """Give up on streams that took too long."""
        for stream, unsettled in list(self.streams.items()):
            if unsettled.deadline > now:
                break
            self._refuse(stream, unsettled, "timed_out", events)
        self.sweep()

    def next_wake(self) -> float | None:
        """When the first of them has taken too long."""
        for unsettled in self.streams.values():
            return unsettled.deadline
        return None

    # ---- what the owner does with a stream that it has just opened

    def write(self, stream: int, data: bytes) -> None:
        """Keep bytes until there is a protocol to send them by."""
        unsettled = self.streams[stream]
        if unsettled.end_wanted:
            return
        unsettled.writes.append(data)
        unsettled.size += len(data)
        self._session.keep(len(data))

    def unsent(self, stream: int) -> int:
        """Bytes that are kept."""
        return self.streams[stream].size

    def end(self, stream: int) -> None:
        """End the stream once what is kept was sent."""
        self.streams[stream].end_wanted = True

    def drop(self, stream: int) -> None:
        """The owner wants no more of it, settled or not."""
        unsettled = self.streams.pop(stream, None)
        if unsettled is not None:
            self._session.keep(-unsettled.size)
        self._session.reset(stream)

    # ---- negotiating

    def _negotiate(
        self, stream: int, unsettled: _Unsettled, data: bytes, events: list[ConnectionEvent]
    ) -> None:
        negotiation = unsettled.negotiation
        if negotiation is None:
            negotiation = unsettled.negotiation = Negotiation.listener(self._protocols())
        rest = negotiation.receive(data)
        self._session.write(stream, negotiation.data_to_send())
        if negotiation.protocol is None or rest is None:
            return
        del self.streams[stream]
        self._session.accept(stream)
        events.append(StreamOpened(stream, negotiation.protocol, unsettled.inbound))
        if rest:
            events.append(StreamData(stream, rest))
        self._send_kept(stream, unsettled, events)

    def _send_kept(self, stream: int, unsettled: _Unsettled, events: list[ConnectionEvent]) -> None:
        self._session.keep(-unsettled.size)
        for data in unsettled.writes:
            self._session.write(stream, data)
        if unsettled.end_wanted:
            self._session.end(stream)
        if unsettled.writes and not self._session.unsent(stream):
            events.append(StreamDrained(stream))

    def _refuse(
        self, stream: int, unsettled: _Unsettled, reason: str, events: list[ConnectionEvent]
    ) -> None:
        unsettled.refused = True
        self.refused.append(stream)
        self._session.keep(-unsettled.size)
        self._session.reset(stream)
        refused = InboundRefused if unsettled.inbound else StreamRefused
        events.append(refused(stream, reason))
