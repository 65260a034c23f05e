"""What a connection tells its owner. ``rumormill.libp2p.stack.connection`` exports all of these."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias


class Established(NamedTuple):
    """The peer is who it says it is, and streams can be opened."""

    peer: str


class StreamOpened(NamedTuple):
    """Both sides agreed on the protocol of a stream."""

    stream: int
    protocol: str
    inbound: bool


class StreamData(NamedTuple):
    """Bytes came in on a stream, cut anywhere. They count as consumed unless the stream is held."""

    stream: int
    data: bytes


class StreamDrained(NamedTuple):
    """What the peer's window had held back on this stream may leave now."""

    stream: int


class StreamEnded(NamedTuple):
    """The peer will send nothing more on this stream; we still may."""

    stream: int


class StreamReset(NamedTuple):
    """The stream is gone, in both directions."""

    stream: int
    reason: str


class StreamRefused(NamedTuple):
    """A stream that we wanted to open did not come about."""

    stream: int
    reason: str


class InboundRefused(NamedTuple):
    """A stream that the peer began did not come about: over a limit, or without a protocol."""

    stream: int
    reason: str


class PongReceived(NamedTuple):
    """The peer answered a keep-alive ping, after ``round_trip`` seconds."""

    round_trip: float


class Closed(NamedTuple):
    """The peer went away in order. Nothing follows."""

    reason: str


class Failed(NamedTuple):
    """The connection is over by someone's fault or for want of an answer. Nothing follows."""

    reason: str
    detail: str


ConnectionEvent: TypeAlias = (
    Established
    | StreamOpened
    | StreamData
    | StreamDrained
    | StreamEnded
    | StreamReset
    | StreamRefused
    | InboundRefused
    | PongReceived
    | Closed
    | Failed
)
