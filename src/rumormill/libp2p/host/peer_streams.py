"""What a host keeps about the pubsub streams of one peer: ours, and those that it writes."""

from __future__ import annotations

from rumormill.libp2p.host.outbound_stream import OutboundStream
from rumormill.libp2p.host.table import Link
from rumormill.libp2p.wire.frames import FrameReader, length_prefixed


class InboundStream:
    """A stream that the peer writes.

    A peer with two connections may write on both, in turns: rust does. Then its streams are cut
    into frames here, and pubsub gets whole frames only; as long as there is one, pubsub gets its
    bytes as they come.
    """

    __slots__ = ("number", "reader")

    def __init__(self, number: int, reader: FrameReader | None) -> None:
        self.number = number
        self.reader = reader

    def whole(self, data: bytes) -> bytes:
        """The frames that ``data`` completes; :class:`RemoteProtocolError` if one is too large."""
        if self.reader is None:
            return data
        return b"".join(map(length_prefixed, self.reader.feed(data)))


class PeerStreams:
    """The stream that we write, the streams that the peer writes, and what pubsub knows of it."""

    __slots__ = (
        "had_inbound", "held", "inbound", "joined", "nudge_at", "outbound", "peer", "ready",
    )  # fmt: skip

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.joined = False
        """Whether pubsub has been told of the peer."""
        self.ready = False
        """What pubsub was told last: whether it may send."""
        self.held = False
        """Whether pubsub wants this peer held back."""
        self.outbound = OutboundStream()
        self.inbound: dict[Link, InboundStream] = {}
        """At most one on each connection."""
        self.had_inbound = False
        """Whether there was one since the peer joined."""
        self.nudge_at: float | None = None
        """When to ping the peer, which owes us a stream."""

    def next_wake(self) -> float | None:
        """When something is to be done for the peer."""
        due = self.outbound.next_wake()
        if due is None or self.nudge_at is None:
            return self.nudge_at if due is None else due
        return min(due, self.nudge_at)

    def left(self) -> None:
        """To pubsub the peer is gone, and so is all that it knew of the peer."""
        self.joined = self.ready = self.held = self.had_inbound = False
        self.outbound.agreed_at = None
        self.nudge_at = None
        self.inbound.clear()
