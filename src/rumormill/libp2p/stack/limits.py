"""What one connection may cost us: every bound in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields

from rumormill.core.errors import ConfigError

KIB = 1024
MIB = 1024 * KIB

INITIAL_WINDOW = 256 * KIB
"""The window that yamux gives each stream in each direction before anyone grants more."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """The bounds of one connection; a value that cannot work is a :class:`ConfigError`.

    >>> ConnectionLimits(streams_inbound=8).streams_inbound
    8
    >>> ConnectionLimits(receive_window=1000)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: receive_window: must be from 262144 to 16777216, not 1000
    """

    handshake_timeout: float = 10.0
    """Seconds from the first byte to an agreed muxer."""
    negotiation_timeout: float = 10.0
    """Seconds for one stream to agree on a protocol."""
    streams_inbound: int = 256
    """Streams that the peer may have open at once; one more is reset."""
    streams_outbound: int = 256
    """Streams that we may have open at once; one more is refused."""
    inbound_backlog: int = 32
    """Inbound streams that may be without a protocol at once; one more is reset."""
    receive_window: int = INITIAL_WINDOW
    """Bytes that the peer may send on a stream before we grant more. yamux starts with 256 KiB."""
    held_bytes: int = 4 * MIB
    """Bytes received on held streams; a peer that sends more on all of them together is dropped."""
    send_backlog: int = 16 * MIB
    """Bytes queued for the peer, all streams together; past it the connection fails."""
    empty_frames_rate: int = 10_000
    """Frames without payload that a peer may send per second, on the long run."""
    empty_frames_burst: int = 20_000
    """Frames without payload that a peer may send at once."""
    pings_rate: int = 10
    """Pings answered per second, on the long run. More are read and not answered."""
    pings_burst: int = 32
    """Pings answered at once."""
    keepalive_interval: float = 30.0
    """Seconds of silence before we ping."""
    keepalive_timeout: float = 20.0
    """Seconds that the peer has to show a sign of life after our ping."""

    def __post_init__(self) -> None:
        """Refuse values that cannot work, by name."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ConfigError(field.name, f"must be above 0, not {value}")
        if not INITIAL_WINDOW <= self.receive_window <= 16 * MIB:
            raise ConfigError(
                "receive_window",
                f"must be from {INITIAL_WINDOW} to {16 * MIB}, not {self.receive_window}",
            )
        if self.streams_outbound > 256:
            # More could stand unacknowledged than the yamux specification wants a peer to bear.
            raise ConfigError(
                "streams_outbound", f"must be at most 256, not {self.streams_outbound}"
            )


DEFAULT_LIMITS = ConnectionLimits()
