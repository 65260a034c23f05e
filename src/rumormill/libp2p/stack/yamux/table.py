"""The streams of a yamux session: which there are, which there were, and how many there may be."""

from __future__ import annotations

from rumormill.core.errors import RemoteProtocolError
from rumormill.libp2p.stack.limits import ConnectionLimits
from rumormill.libp2p.stack.yamux.frames import LARGEST_UINT32
from rumormill.libp2p.stack.yamux.stream import YamuxStream


class SeenNumbers:
    """Which stream numbers the peer has used: none may come twice.

    Peers number their streams upwards but may send the first frames out of order, so numbers
    are remembered one by one for a while, and those far below the highest count as used.

    >>> seen = SeenNumbers()
    >>> [seen.add(stream) for stream in (1, 5, 3, 5)]
    [True, True, True, False]
    """

    __slots__ = ("_highest", "_mask")

    MEMORY = 1024

    def __init__(self) -> None:
        self._highest = -1
        self._mask = 0

    def add(self, stream: int) -> bool:
        """Note ``stream``; False if it was used before, or may have been."""
        # All of one side's numbers have the same parity: bit n stands for highest - 2n.
        ahead = (stream - self._highest) >> 1
        if stream > self._highest:
            kept = self._mask << ahead if ahead < self.MEMORY else 0
            self._mask = (kept | 1) & ((1 << self.MEMORY) - 1)
            self._highest = stream
            return True
        if stream in self:
            return False
        self._mask |= 1 << -ahead
        return True

    def __contains__(self, stream: int) -> bool:
        behind = (self._highest - stream) >> 1
        return behind >= 0 and (behind >= self.MEMORY or bool(self._mask >> behind & 1))


class StreamTable:
    """All open streams by number, those of the peer and ours, under their limits."""

    __slots__ = ("_inbound", "_limits", "_next", "_outbound", "_seen", "_waiting", "open")

    def __init__(self, limits: ConnectionLimits, *, dialer: bool) -> None:
        self.open: dict[int, YamuxStream] = {}
        self._limits = limits
        self._next = 1 if dialer else 2
        self._seen = SeenNumbers()
        self._waiting: dict[int, None] = {}
        self._inbound = 0
        self._outbound = 0

    @property
    def full(self) -> bool:
        """Whether no more streams of ours can be opened for now."""
        return self._outbound >= self._limits.streams_outbound or self._next > LARGEST_UINT32

    def next_number(self) -> int:
        """A number for a stream of ours, used up by asking."""
        number = self._next
        self._next += 2
        return number

    def add_ours(self) -> YamuxStream:
        """A new stream of ours."""
        self._outbound += 1
        return self._add(self.next_number(), inbound=False)

    def note_theirs(self, number: int) -> None:
        """The peer begins a stream; :class:`RemoteProtocolError` if it may not use this number."""
        if self._is_ours(number):
            raise RemoteProtocolError("bad_stream_number", f"{number} is for us to use")
        if not self._seen.add(number):
            raise RemoteProtocolError("stream_number_reused", f"stream {number}")

    def add_theirs(self, number: int) -> YamuxStream | None:
        """A new stream of the peer, which waits to be accepted; None if there are too many."""
        if (
            self._inbound >= self._limits.streams_inbound
            or len(self._waiting) >= self._limits.inbound_backlog
        ):
            return None
        self._inbound += 1
        self._waiting[number] = None
        return self._add(number, inbound=True)

    def accept(self, number: int) -> None:
        """A stream of the peer no longer waits."""
        self._waiting.pop(number, None)

    def remove(self, stream: YamuxStream) -> None:
        """A stream is over."""
        stream.closed = True
        del self.open[stream.number]
        self._waiting.pop(stream.number, None)
        if stream.inbound:
            self._inbound -= 1
        else:
            self._outbound -= 1

    def existed(self, number: int) -> bool:
        """Whether there is or may have been a stream of this number."""
        return number < self._next if self._is_ours(number) else number in self._seen

    def _is_ours(self, number: int) -> bool:
        return (number ^ self._next) & 1 == 0

    def _add(self, number: int, *, inbound: bool) -> YamuxStream:
        stream = YamuxStream(number, inbound=inbound, window_size=self._limits.receive_window)
        self.open[number] = stream
        return stream
