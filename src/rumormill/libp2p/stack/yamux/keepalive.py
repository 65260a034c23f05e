"""Pings of yamux: answering the peer's, in reason, and asking a silent peer for a sign of life."""

from __future__ import annotations

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.limits import Allowance
from rumormill.libp2p.stack.limits import ConnectionLimits
from rumormill.libp2p.stack.yamux.frames import ACK, LARGEST_UINT32, PING, SYN, encode_header


class KeepAlive:
    """Knows when the peer was last heard of, and what to ask it."""

    __slots__ = ("_allowance", "_limits", "_ping", "_ping_sent_at", "heard_at", "wake_at")

    def __init__(self, limits: ConnectionLimits, now: float) -> None:
        self.heard_at = now
        """To be set to the time whenever anything comes in."""
        self.wake_at = now + limits.keepalive_interval
        """When :meth:`wake` has something to do."""
        self._limits = limits
        self._allowance = Allowance(limits.pings_rate, limits.pings_burst)
        self._ping = 0
        self._ping_sent_at: float | None = None

    def answer(self, value: int, now: float) -> bytes:
        """The frame that answers a ping; nothing if there were too many."""
        return encode_header(PING, ACK, 0, value) if self._allowance.take(1, now) else b""

    def on_answer(self, value: int, now: float) -> float | None:
        """The round trip, if ``value`` answers the ping that is under way."""
        if self._ping_sent_at is None or value != self._ping:
            return None
        round_trip = now - self._ping_sent_at
        self._ping_sent_at = None
        self.wake_at = now + self._limits.keepalive_interval
        return round_trip

    def wake(self, now: float) -> bytes:
        """A ping for a peer that is silent; :class:`RemoteProtocolError` if it stays silent."""
        if now < self.wake_at:
            return b""
        if self._ping_sent_at is not None:
            if self.heard_at < self._ping_sent_at:
                raise RemoteProtocolError("keepalive_timeout", "no sign of life after our ping")
            # Busy sending, with its answer somewhere behind that: alive.
            self._ping_sent_at = None
        due = self.heard_at + self._limits.keepalive_interval
        if now < due:
            self.wake_at = due
            return b""
        self._ping = (self._ping + 1) & LARGEST_UINT32
        self._ping_sent_at = now
        self.wake_at = now + self._limits.keepalive_timeout
        return encode_header(PING, SYN, 0, self._ping)
