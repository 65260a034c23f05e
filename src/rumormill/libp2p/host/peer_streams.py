"""What a host keeps about the two pubsub streams of one peer."""

from __future__ import annotations

from rumormill.libp2p.host.table import Link


class PeerStreams:
    """The stream that we write, the stream that the peer writes, and what pubsub knows of it."""

    __slots__ = (
        "_mark", "attempts", "blocked", "had_inbound", "held", "inbound", "joined", "open",
        "opened_at", "outbound", "peer", "ready", "retry_at", "stall_at", "written",
    )  # fmt: skip

    def __init__(self, peer: str) -> None:
        self.peer = peer
        self.joined = False
        """Whether pubsub has been told of the peer."""
        self.ready = False
        """What pubsub was told last: whether it may send."""
        self.held = False
        """Whether pubsub wants this peer held back."""
        self.inbound: tuple[Link, int] | None = None
        """The stream that the peer writes."""
        self.had_inbound = False
        """Whether there was one before, since the peer joined."""
        self.outbound: tuple[Link, int] | None = None
        """The stream that we write, from the moment that we asked for it."""
        self.open = False
        """Whether the peer has agreed to it."""
        self.opened_at: float | None = None
        """When the last one was agreed to since the peer joined."""
        self.blocked = False
        """Above the high-water mark, and not yet drained."""
        self.written = 0
        self._mark = 0
        self.stall_at: float | None = None
        """When to look whether the peer's window has moved."""
        self.attempts = 0
        """How often we asked for a stream since the last one that lasted."""
        self.retry_at: float | None = None

    def began(self, link: Link, stream: int) -> None:
        """We asked for a stream."""
        self.outbound = (link, stream)
        self.attempts += 1
        self.retry_at = self.stall_at = None
        self.open = self.blocked = False
        self.written = 0

    def broke(self) -> None:
        """Our stream is gone; the peer is not."""
        self.outbound = None
        self.open = self.blocked = False
        self.stall_at = None

    def left(self) -> None:
        """To pubsub the peer is gone, and so is all that it knew of the peer."""
        self.joined = self.ready = self.held = self.had_inbound = False
        self.opened_at = None
        self.open = self.blocked = False
        self.inbound = None
        self.stall_at = None

    def can_send(self) -> bool:
        """Whether pubsub may hand us more."""
        return (
            self.outbound is not None
            and self.open
            and not self.blocked
            and self.outbound[0].write_ready
        )

    def watch(self, unsent: int, until: float) -> None:
        """Bytes wait for the peer's window; by ``until`` some of them should have left."""
        self._mark = self.written - unsent
        self.stall_at = until

    def moved(self, unsent: int) -> bool:
        """Whether any byte has left since :meth:`watch`."""
        return self.written - unsent > self._mark

    def next_wake(self) -> float | None:
        """When the earlier of its two timers is due."""
        if self.retry_at is None or self.stall_at is None:
            return self.stall_at if self.retry_at is None else self.retry_at
        return min(self.retry_at, self.stall_at)
