"""What a peer's bytes bring: frames taken apart, windows kept, events made of them.

Data frames of one stream that follow each other in one piece of input become one event. A payload
is handed on as it arrives, however large its frame claims to be: nothing is stored but the bytes of
a header that was cut.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Allowance
from rumormill.libp2p.stack.events import (
    InboundRefused,
    PongReceived,
    StreamData,
    StreamDrained,
    StreamEnded,
    StreamReset,
)
from rumormill.libp2p.stack.limits import DEFAULT_LIMITS, ConnectionLimits
from rumormill.libp2p.stack.yamux.frames import (
    DATA,
    FIN,
    HEADER,
    HEADER_SIZE,
    PING,
    RST,
    SYN,
    WINDOW_UPDATE,
    check_header,
    encode_header,
)
from rumormill.libp2p.stack.yamux.keepalive import KeepAlive
from rumormill.libp2p.stack.yamux.stream import YamuxStream
from rumormill.libp2p.stack.yamux.table import StreamTable

_unpack = HEADER.unpack_from


class StreamArrived(NamedTuple):
    """The peer began a stream; it waits in the backlog until :meth:`YamuxSession.accept`."""

    stream: int


class GoneAway(NamedTuple):
    """The peer ended the session, with a code. Nothing follows."""

    code: int


YamuxEvent: TypeAlias = (
    StreamArrived
    | StreamData
    | StreamDrained
    | StreamEnded
    | StreamReset
    | InboundRefused
    | PongReceived
    | GoneAway
)


class Receiving:
    """The half of a session that listens; the other is
    :class:`~rumormill.libp2p.stack.yamux.session.YamuxSession`.
    """

    __slots__ = (
        "_body_ends", "_body_left", "_body_stream", "_empty_allowance",
        "_empty_frames", "_held_bytes", "_keepalive", "_limits", "_partial", "_pieces", "_reset",
        "_streams", "_table", "control", "dirty", "frames", "gone", "queued",
    )  # fmt: skip

    def __init__(
        self, *, dialer: bool, now: float, limits: ConnectionLimits = DEFAULT_LIMITS
    ) -> None:
        self.gone = False
        """The peer has ended the session."""
        self.frames = 0
        """Frames that came, but those that were plain data alone."""
        self.queued = 0
        """Bytes of payload that wait to be sent, for the next write or for the peer's windows."""
        self._limits = limits
        self._table = StreamTable(limits, dialer=dialer)
        self._streams = self._table.open
        self._keepalive = KeepAlive(limits, now)
        # Receiving: a header that was cut, a payload under way, and pieces to be handed on.
        self._partial = b""
        self._body_stream: YamuxStream | None = None
        self._body_left = 0
        self._body_ends = False
        self._pieces: list[memoryview] = []
        self._reset: dict[int, int] = {}
        self._held_bytes = 0
        self._empty_frames = 0
        self._empty_allowance = Allowance(limits.empty_frames_rate, limits.empty_frames_burst)
        self.dirty: dict[int, YamuxStream] = {}
        """Streams that have something to say."""
        self.control: list[bytes] = []
        """Frames to be sent that belong to no stream."""

    # ---- receiving

    def plain_data(self, data: bytes, now: float) -> StreamData | None:
        """What :meth:`receive` would make of one whole frame of a stream's bytes; None if
        ``data`` is anything else, and then nothing has been taken of it.

        Most input is just that, and this is much the shorter way.
        """
        length = len(data) - HEADER_SIZE
        if length <= 0 or self._body_left or self._partial:
            return None
        kind, flags, number, announced = _unpack(data)
        if kind or flags or announced != length:
            return None
        stream = self._streams.get(number)
        if stream is None or stream.ended_by_peer or stream.held:
            return None
        window = stream.receive_window - length
        if window <= stream.low_water:
            return None
        stream.receive_window = window
        self._keepalive.heard_at = now
        return StreamData(number, data[HEADER_SIZE:])

    def receive(self, data: bytes, now: float, events: list[YamuxEvent]) -> None:
        """Take plaintext and append to ``events`` what it brings.

        Raises :class:`RemoteProtocolError`; what came before the fault is in ``events`` then.
        """
        self._keepalive.heard_at = now
        if self._reset:
            self._reset.clear()
        try:
            self._read(data, now, events)
        finally:
            self._hand_on(events)
        if self._empty_frames:
            self.charge(0, now)
            if len(self.control) * HEADER_SIZE + self.queued > self._limits.send_backlog:
                raise RemoteProtocolError("send_backlog", "it makes us answer and does not read")

    def charge(self, empty_frames: int, now: float) -> None:
        """Hold the peer to account for frames that carried nothing."""
        count = self._empty_frames + empty_frames
        self._empty_frames = 0
        if not self._empty_allowance.take(count, now):
            raise RemoteProtocolError("too_many_empty_frames", f"{count} on top of those before")

    def _read(self, data: bytes, now: float, events: list[YamuxEvent]) -> None:
        if self._partial:
            data = self._partial + data
            self._partial = b""
        view, offset, end = memoryview(data), 0, len(data)
        streams, pieces = self._streams, self._pieces
        while True:
            if self._body_left:
                offset = self._read_body(view, offset, end, events)
            if end - offset < HEADER_SIZE:
                break
            kind, flags, number, length = _unpack(data, offset)
            offset += HEADER_SIZE
            self.frames += 1
            stream = streams.get(number)
            if kind or flags or not length or stream is None or stream.ended_by_peer:
                # Rare: anything but more bytes for a stream that is open.
                self._hand_on(events)
                self._on_frame(kind, flags, number, length, now, events)
                if self.gone:
                    return
                continue
            if stream is not self._body_stream:
                self._hand_on(events)
                self._body_stream = stream
            window = stream.receive_window - length
            if window > stream.low_water and not stream.held:
                stream.receive_window = window
            else:
                self._use_window(stream, length)
            if offset + length <= end:
                pieces.append(view[offset : offset + length])
                offset += length
            else:
                self._body_left = length
        self._partial = data[offset:]

    def _read_body(self, view: memoryview, offset: int, end: int, events: list[YamuxEvent]) -> int:
        """Hand on what there is of the payload that is under way; return the offset behind it."""
        stop = min(end, offset + self._body_left)
        self._body_left -= stop - offset
        stream = self._body_stream
        if stop > offset:
            self._pieces.append(view[offset:stop])
        if self._body_ends and not self._body_left:
            self._body_ends = False
            self._hand_on(events)
            if stream is not None and not stream.closed:
                self._on_end(stream, events)
        return stop

    def _hand_on(self, events: list[YamuxEvent]) -> None:
        """Make one event of the payload collected so far."""
        pieces = self._pieces
        if pieces:
            stream = self._body_stream
            if stream is not None and not stream.closed:
                data = bytes(pieces[0]) if len(pieces) == 1 else b"".join(pieces)
                events.append(StreamData(stream.number, data))
            pieces.clear()

    def _use_window(self, stream: YamuxStream, length: int) -> None:
        window = stream.receive_window - length
        if window < 0:
            raise RemoteProtocolError(
                "window_exceeded", f"{-window} bytes too many on stream {stream.number}"
            )
        stream.receive_window = window
        if window <= stream.low_water:
            self.dirty[stream.number] = stream
        elif stream.held:
            stream.held_bytes += length
            self._held_bytes += length
            if self._held_bytes > self._limits.held_bytes:
                raise RemoteProtocolError(
                    "too_many_held_bytes", f"{self._held_bytes} on streams that we hold"
                )

    # ---- frames other than plain data

    def _on_frame(
        self, kind: int, flags: int, number: int, length: int, now: float, events: list[YamuxEvent]
    ) -> None:
        check_header(kind, flags, number)
        if kind == DATA:
            stream = self._on_flags(flags, number, events)
            self._on_data(stream, flags, length, events)
            return
        self._empty_frames += 1
        if kind == WINDOW_UPDATE:
            stream = self._on_flags(flags, number, events)
            if stream is not None:
                self._on_window_update(stream, flags, length, events)
        elif kind == PING:
            self._on_ping(flags, length, now, events)
        else:
            self.gone = True
            events.append(GoneAway(length))

    def _on_flags(self, flags: int, number: int, events: list[YamuxEvent]) -> YamuxStream | None:
        """The stream that the rest of a frame is for, if there is one to take it."""
        stream = self._streams.get(number)
        if flags & SYN:
            self._table.note_theirs(number)
            if flags & RST:
                return None
            stream = self._table.add_theirs(number)
            if stream is None:
                self._refuse(number)
                events.append(InboundRefused(number, "too_many_streams"))
            else:
                events.append(StreamArrived(number))
        elif flags & RST:
            if stream is not None:
                self._reset[number] = stream.unconfirmed
                self._forget(stream)
                events.append(StreamReset(number, "reset_by_peer"))
            return None
        elif stream is None and not self._table.existed(number):
            self._refuse(number)
        # Frames for a stream that is gone are late, which is nobody's fault.
        return stream

    def _refuse(self, number: int) -> None:
        self.control.append(encode_header(WINDOW_UPDATE, RST, number, 0))

    def _on_data(
        self, stream: YamuxStream | None, flags: int, length: int, events: list[YamuxEvent]
    ) -> None:
        self._body_stream = stream
        self._body_left = length
        if stream is None:
            self._empty_frames += 1
            # To be skipped. Nobody was ever granted more than one window.
            if length > self._limits.receive_window:
                raise RemoteProtocolError("window_exceeded", f"a frame of {length} bytes")
        elif length:
            if stream.ended_by_peer:
                raise RemoteProtocolError("data_after_end", f"stream {stream.number}")
            self._use_window(stream, length)
            self._body_ends = bool(flags & FIN)
        else:
            self._empty_frames += 1
            if flags & FIN:
                self._on_end(stream, events)

    def _on_window_update(
        self, stream: YamuxStream, flags: int, credit: int, events: list[YamuxEvent]
    ) -> None:
        stream.grow_send_window(credit)
        if stream.queued:
            self.dirty[stream.number] = stream
        if stream.blocked and stream.queued <= stream.send_window:
            stream.blocked = False
            events.append(StreamDrained(stream.number))
        if flags & FIN:
            self._on_end(stream, events)

    def _on_end(self, stream: YamuxStream, events: list[YamuxEvent]) -> None:
        if not stream.ended_by_peer:
            stream.ended_by_peer = True
            events.append(StreamEnded(stream.number))
            if stream.over:
                self._forget(stream)

    def _on_ping(self, flags: int, value: int, now: float, events: list[YamuxEvent]) -> None:
        if flags == SYN:
            answer = self._keepalive.answer(value, now)
            if answer:
                self.control.append(answer)
        else:
            round_trip = self._keepalive.on_answer(value, now)
            if round_trip is not None:
                events.append(PongReceived(round_trip))

    def _forget(self, stream: YamuxStream) -> None:
        self._table.remove(stream)
        self.dirty.pop(stream.number, None)
        self._held_bytes -= stream.held_bytes
        self.queued -= stream.queued
