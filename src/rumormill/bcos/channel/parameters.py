"""What can be set on a node's side towards SDKs."""

from __future__ import annotations

from pydantic import Field

from rumormill.bcos.wire.frames import MOST_BYTES
from rumormill.core.parameters import Parameters


class ChannelParameters(Parameters):
    """Sessions of SDKs, and how their messages find their way."""

    max_sessions: int = Field(default=1000, ge=1)
    """SDKs that may be connected at once."""
    max_session_topics: int = Field(default=10_000, ge=1)
    """Topics that one SDK may subscribe to; who wants more is dropped."""
    max_session_requests: int = Field(default=10_000, ge=1)
    """Messages of one SDK that may wait for their answer; further ones are refused with 103."""
    max_session_request_bytes: int = Field(default=128 * 1024 * 1024, ge=1024)
    """Bytes of one SDK's messages, or of another node's, that may wait for their answer."""
    max_request_bytes: int = Field(default=512 * 1024 * 1024, ge=1024)
    """Bytes of all messages that may wait for their answer."""
    largest_channel_packet: int = Field(default=MOST_BYTES, ge=1024, le=MOST_BYTES)
    """Bytes of a packet of an SDK; who sends a larger one is dropped."""
    max_unfinished_bytes: int = Field(default=256 * 1024 * 1024, ge=1024)
    """Bytes of packets of all SDKs that have not come to their end; beyond it the SDK with most of
    them is dropped."""
    session_queue_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Bytes that may wait for an SDK that is slower than we are."""
    max_queued_bytes: int = Field(default=256 * 1024 * 1024, ge=1024)
    """Bytes that may wait for all SDKs together."""
    session_timeout: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds without a byte of an SDK, or without room for one to it, after which its session is
    dropped."""
    node_timeout: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """Seconds that another node has to answer a message; then another is tried."""
    subscriber_timeout: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds that a subscriber has to answer a message; then another is tried."""
    check_issuer: bool = True
    """Only SDKs whose certificate was issued by the issuer of the node's own."""
    groups: tuple[int, ...] = ()
    """Group ids that the node names when an SDK asks; there is no chain behind them."""
    chain_id: str = "1"
    """What SDKs are told; those that check it must be set to the same."""
