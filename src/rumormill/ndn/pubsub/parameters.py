"""What can be set on publishing and subscribing."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field, field_validator

from rumormill.core.errors import ConfigError, LocalProtocolError
from rumormill.core.parameters import Parameters
from rumormill.ndn.wire.name import name_from_uri
from rumormill.ndn.wire.tlv import MOST_PACKET

LINK_HEADER: Final = 48
"""Bytes that a link header may take around a packet: its own head and that of the fragment (4 bytes
each), and a PIT token of up to 32 bytes with its head, rounded up. Forwarders count them."""


class PubSubParameters(Parameters):
    """Retries, memory, and what strangers may make us do.

    >>> PubSubParameters().patience
    3.0
    >>> PubSubParameters(forwarding_hint="far")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: forwarding_hint: 'far' is no name: it does not begin with /
    """

    # ---- publishing

    notify_lifetime: float = Field(default=1.0, ge=0.01, le=3600)
    """Seconds that one notification waits for its acknowledgement before it is sent again."""
    notify_attempts: int = Field(default=3, ge=1, le=100)
    """How often a notification is sent before a message is given up."""
    nack_delay: float = Field(default=0.1, gt=0, le=60)
    """Seconds before something is sent again that a forwarder or subscriber could not take; doubles
    each time, and up to half of it is added at random."""
    longest_nack_delay: float = Field(default=1.0, gt=0, le=3600)
    """Seconds of that delay at most."""
    nonce_size: int = Field(default=8, ge=4, le=32)
    """Random bytes that tell our messages apart. The original takes 4, of which two are the same
    too soon; it reads any number."""
    forwarding_hint: str = ""
    """Where the network finds us, if nobody has a route to our prefix; sent with notifications."""
    announce_hint: bool = True
    """Whether the forwarder is asked for a route to the hint, too, as other implementations do.
    Not if the hint is a region that forwarders know by themselves."""
    register_at_start: bool = True
    """Whether our prefix is announced as soon as there is a forwarder, and not with the first
    message: then routes to it have spread when that comes."""
    linger: float = Field(default=4.0, ge=0, le=3600)
    """Seconds that a message can still be fetched after one subscriber has acknowledged it: where
    notifications go to all subscribers, others fetch it later."""
    max_publications: int = Field(default=4096, ge=1)
    """Messages of ours whose end is open; further ones are not sent."""
    max_publication_bytes: int = Field(default=64 * 1024 * 1024, ge=1024)
    """Bytes of those messages; one alone may have more."""
    max_lingering: int = Field(default=16_384, ge=0)
    """Messages whose end is known and that can still be fetched; then the oldest is forgotten."""
    max_lingering_bytes: int = Field(default=64 * 1024 * 1024, ge=0)
    """Bytes of those messages."""
    largest_packet: int = Field(default=MOST_PACKET, ge=512, le=MOST_PACKET)
    """Bytes of the largest packet that forwarders carry, link header included."""
    verify_acknowledgements: bool = False
    """Whether the trust policy must believe the signature of an acknowledgement. Otherwise only
    plain digests are checked, since rules about publishers' keys say nothing of subscribers."""
    reaches: Literal["one", "all"] = "one"
    """Whom forwarders bring a notification to: the nearest subscriber, or all (the strategy
    "multicast"). It changes nothing but what the trace says of a message, and so the tables."""

    # ---- subscribing

    fetch_lifetime: float = Field(default=1.0, ge=0.01, le=3600)
    """Seconds that one Interest for a message waits before it is sent again."""
    fetch_attempts: int = Field(default=3, ge=1, le=100)
    """How often a message is asked for before it is given up."""
    deduplication_seconds: float = Field(default=120.0, ge=0, le=86_400)
    """Seconds that a message is remembered after its delivery: a notification that comes again is
    acknowledged again, and nothing is delivered twice."""
    max_remembered: int = Field(default=131_072, ge=1)
    """Messages that are remembered; then the oldest is forgotten, counted."""
    max_acknowledgements: int = Field(default=8, ge=1)
    """How often one message is acknowledged: each time costs a signature."""
    max_topics: int = Field(default=10_000, ge=1)
    """Topics that we may listen to."""
    largest_notify: int = Field(default=2048, ge=256, le=MOST_PACKET)
    """Bytes of a notification; larger ones are refused. Each is kept until its message is there."""
    max_held: int = Field(default=1024, ge=0)
    """Messages whose notifications wait while the application is behind; the publishers of further
    ones are told that we are congested."""

    # ---- whom we fetch from: a notification names its publisher, and anybody may send one

    max_fetches: int = Field(default=1024, ge=1)
    """Messages that we may be fetching or checking at once."""
    max_fetches_per_publisher: int = Field(default=256, ge=1)
    """Those of one publisher's prefix."""
    max_fetches_per_topic: int = Field(default=768, ge=1)
    """Those of one topic."""
    publisher_failures: int = Field(default=32, ge=1)
    """Fetches from a publisher that may fail, of those that we have had a message of. Past it, and
    until time has paid for them, each further one is tried once, and few at a time."""
    publisher_failure_rate: float = Field(default=2.0, gt=0)
    """Failures of one publisher that time pays for each second."""
    stranger_failures: int = Field(default=256, ge=1)
    """The same for all publishers together that we have had no message of yet; what is being
    fetched from them counts as if it had failed. This bounds the Interests that others can make us
    send to somebody who never asked for it: past it, we send no more than we get."""
    stranger_failure_rate: float = Field(default=20.0, gt=0)
    """Failures of strangers that time pays for each second."""
    strained_fetches: int = Field(default=16, ge=1)
    """Fetches at once of a publisher, or of strangers, with too many failures."""
    max_publishers: int = Field(default=4096, ge=1)
    """Publishers that are remembered as ones that we have had a message of."""

    # ---- messages above one packet, between nodes of our own make

    segments: bool = False
    """Whether messages that do not fit into a packet are sent in segments, and taken. Other
    implementations cannot read them."""
    segment_size: int = Field(default=8000, ge=64, le=MOST_PACKET)
    """Bytes of a segment, or as many as fit into a packet beside its name."""
    segment_window: int = Field(default=16, ge=1, le=1024)
    """Segments of one message that may be asked for at once; fewer after losses."""
    largest_segmented: int = Field(default=16 * 1024 * 1024, ge=1, le=1 << 30)
    """Bytes of the largest message in segments."""
    max_segmented_bytes: int = Field(default=64 * 1024 * 1024, ge=1)
    """Bytes of all messages whose segments are being fetched."""
    segments_timeout: float = Field(default=60.0, gt=0, le=3600)
    """Seconds that a message in segments may take, however steadily it comes."""

    # ---- texts

    max_names: int = Field(default=4096, ge=1)
    """Names whose texts are remembered."""

    @field_validator("forwarding_hint")
    @classmethod
    def _check_hint(cls, value: str) -> str:
        try:
            if value and not name_from_uri(value):
                raise ConfigError("forwarding_hint", "the root is no hint")
        except LocalProtocolError as error:
            raise ConfigError("forwarding_hint", str(error)) from None
        return value

    @property
    def patience(self) -> float:
        """Seconds that a message waits for its acknowledgement in all, at least."""
        return self.notify_lifetime * self.notify_attempts

    @property
    def largest_data(self) -> int:
        """Bytes of a Data that forwarders carry whatever link header is around it."""
        return self.largest_packet - LINK_HEADER
