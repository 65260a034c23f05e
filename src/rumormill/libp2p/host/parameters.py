"""Parameters of a host: how many connections, how long to wait, how often to try again."""

from __future__ import annotations

from pydantic import Field, model_validator

from rumormill.core.parameters import Parameters, not_above
from rumormill.libp2p.stack.limits import ConnectionLimits


class HostParameters(Parameters):
    """The limits of a node; a wrong value raises :class:`ConfigError` that names the key.

    >>> HostParameters(max_connections=8).dial_timeout
    10.0
    >>> HostParameters(dial_timeout=-1)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: dial_timeout: input should be greater than 0 (got -1)
    """

    max_connections: int = Field(default=256, ge=1)
    """Connections in all, dialed ones included; handshakes under way have a room of their own. When
    it is full, the least useful connection of a stranger makes room for the next one."""
    dialed_share: float = Field(default=0.125, ge=0, lt=1)
    """Part of ``max_connections`` that is kept for peers that we dial; others may open the rest."""
    protected_share: float = Field(default=0.5, ge=0, lt=1)
    """Part of the room for strangers that makes room for nobody: one half of it is for those of the
    most use, the other for those of any use that have been there the longest."""
    eviction_grace: float = Field(default=5.0, ge=0, allow_inf_nan=False)
    """Seconds that a stranger has to do something before it is the first to make room."""
    max_connections_per_address: int = Field(default=32, ge=1)
    """Connections that one remote address may open to us, and as many handshakes; of IPv6 the first
    64 bits count. With one more, another of the same address makes room."""
    limit_loopback: bool = True
    """Whether ``max_connections_per_address`` holds for loopback too."""
    max_half_open: int = Field(default=64, ge=1)
    """Connections opened to us whose handshake is not finished. With one more, the one that has
    made no progress makes room, of the network that has the most."""
    max_connections_per_peer: int = Field(default=2, ge=1)
    """Two, because two nodes that dial each other at the same moment make two."""
    max_told_connections: int = Field(default=32, ge=0)
    """Connections to peers that others told us of: whoever names peers must not fill the room."""

    dial_timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds until a TCP connection must stand; the handshake has a time-out of its own."""
    redial_first_delay: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """Seconds before an address to be kept is dialed again; doubles with every failure."""
    redial_longest_delay: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds between two dials of an address at most, jitter included."""
    redial_jitter: float = Field(default=0.5, ge=0, le=1)
    """Part of a delay that is added at random, so that peers do not come back all at once."""
    stable_after: float = Field(default=30.0, ge=0, allow_inf_nan=False)
    """Seconds that a connection or stream must have lived for the delays to begin anew."""

    send_high_water: int = Field(default=256 * 1024, ge=1)
    """Bytes held back by a peer's window above which pubsub is told to wait."""
    stall_timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """Seconds without progress, with bytes waiting, after which a peer is dropped."""
    stream_attempts: int = Field(default=5, ge=1)
    """How often the pubsub stream to a connected peer is tried before we do without it."""
    streams_per_connection: int = Field(default=4, ge=1)
    """Pubsub streams to a peer, one after the other, before its connection is made anew: rust goes
    deaf with the fifth, in both directions and until the connection ends."""
    nudge_interval: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """Seconds between pings of a peer whose stream to us went with one of its connections, until it
    opens another: rust does not see that it has something to say before something comes in."""
    stream_retry_delay: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """Seconds before the second try; doubles with every further one."""

    max_peer_records: int = Field(default=1024, ge=1)
    """Peers whose signed record of where they are is kept; who was not heard of for the longest
    time goes first. It is what peer exchange passes on."""

    max_service_streams: int = Field(default=8, ge=1)
    """Streams of identify and ping on one connection at a time, and as many of each other service:
    Kademlia, rendezvous."""
    service_timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds that one exchange of identify may take."""
    ping_idle_timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds that a ping stream may be silent: rust keeps one open and pings every 15 s."""

    max_questions: int = Field(default=16, ge=1)
    """Questions of ours to one peer, of services such as Kademlia, that wait for an answer."""
    question_timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds that a question of ours may take, dialing included."""
    questions_rate: float = Field(default=20.0, gt=0, allow_inf_nan=False)
    """Questions a second that one connection may put to us, on the long run."""
    questions_burst: float = Field(default=200.0, gt=0, allow_inf_nan=False)
    """Questions that one connection may put to us at once."""
    service_idle_timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds that a peer may keep a stream of a service open between two questions, as go does."""
    max_visits: int = Field(default=64, ge=1)
    """Peers that are connected, or being dialed, only to be asked something."""
    visit_lingers: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds after which such a peer is left again, unless it shares a topic with us by then."""

    connection: ConnectionLimits = Field(default_factory=ConnectionLimits)
    """Limits of each connection: handshake, streams, windows, keep-alive."""

    @model_validator(mode="after")
    def _consistent(self) -> HostParameters:
        not_above(
            "redial_first_delay", self.redial_first_delay,
            "redial_longest_delay", self.redial_longest_delay,
        )  # fmt: skip
        not_above(
            "max_connections_per_peer", self.max_connections_per_peer,
            "max_connections", self.max_connections,
        )  # fmt: skip
        return self

    @property
    def inbound_room(self) -> int:
        """How many connections others may open: at least one."""
        return self.max_connections - int(self.max_connections * self.dialed_share)
