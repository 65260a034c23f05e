"""What can be set on an SDK."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rumormill.bcos.wire.channel_packet import HEADER_SIZE
from rumormill.bcos.wire.frames import MOST_BYTES
from rumormill.core.limits import WorkLimits
from rumormill.core.parameters import Parameters


class SdkParameters(Parameters):
    """Connections to nodes, and the limits of what waits for them.

    >>> SdkParameters(heartbeat_interval=2).silence_timeout
    15.0
    """

    dial_timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds until a connection to a node must stand."""
    greeting_timeout: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Seconds that a node has to answer the handshake."""
    redial_first_delay: float = Field(default=0.5, gt=0, allow_inf_nan=False)
    """Seconds before a node to be kept is dialed again; doubles with every failure."""
    redial_longest_delay: float = Field(default=20.0, gt=0, allow_inf_nan=False)
    """Seconds between two dials of a node at most."""
    redial_jitter: float = Field(default=0.5, ge=0, le=1)
    """Part of a delay that is added at random, so that SDKs do not come back all at once."""
    stable_after: float = Field(default=10.0, ge=0, allow_inf_nan=False)
    """Seconds that a connection must have lived for the delays to begin anew."""
    heartbeat_interval: float = Field(default=3.0, gt=0, allow_inf_nan=False)
    """Seconds between two heartbeats."""
    silence_timeout: float = Field(default=15.0, gt=0, allow_inf_nan=False)
    """Seconds without a byte of a node after which its connection is dropped."""
    largest_sdk_packet: int = Field(default=MOST_BYTES, ge=1024, le=MOST_BYTES)
    """Bytes of a packet; a node that sends a larger one is dropped, and we send none."""
    sdk_queue_bytes: int = Field(default=16 * 1024 * 1024, ge=1024)
    """Bytes that may wait for a node that is slower than we are."""
    max_sdk_requests: int = Field(default=10_000, ge=1)
    """Messages of ours that may wait for their answer; further ones are refused with 103."""
    max_sdk_request_bytes: int = Field(default=256 * 1024 * 1024, ge=1024)
    """Bytes of those messages; one alone may have more."""
    max_checks: int = Field(default=8192, ge=1)
    """Messages that may wait for validators; further ones are dropped, counted."""
    max_check_bytes: int = Field(default=256 * 1024 * 1024, ge=1024)
    """Bytes of the messages that wait for validators."""
    max_answers: int = Field(default=1024, ge=1)
    """Unicast messages that the application may be answering at once."""
    answer_timeout: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds that the application has for an answer: nodes of other make wait no longer."""
    max_ids: int = Field(default=65_536, ge=1)
    """Ids of multicast messages that are remembered, so that each is delivered once."""
    max_sdk_topics: int = Field(default=10_000, ge=1)
    """Topics that we may listen to."""
    max_known_topics: int = Field(default=64, ge=1)
    """Topics whose subscribers are asked for again and again: those used last."""
    subscribers_interval: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds between two questions for the subscribers of a topic."""
    watch_interval: float = Field(default=0.25, gt=0, allow_inf_nan=False)
    """The same, while somebody waits for them."""
    challenge: Literal["keccak256", "sha256", "sha1"] = "keccak256"
    """How a publisher of private topics asks for a proof: as SDKs of today do, as the protocol's
    document has it, or as the web3sdk does. A reader answers in each of them."""
    work_share: float = Field(default=0.05, gt=0, le=1)
    """Part of one core that a node may make us work for nothing; then it has to wait."""
    work_burst: float = Field(default=0.25, gt=0, allow_inf_nan=False)
    """Seconds of such work at once."""

    @property
    def work_limits(self) -> WorkLimits:
        """How much work one node may make us do for nothing."""
        return WorkLimits(self.work_share, self.work_burst)

    def largest_message(self, topic_bytes: int) -> int:
        """Bytes of data that fit into a packet beside a topic of so many bytes."""
        return self.largest_sdk_packet - HEADER_SIZE - 1 - topic_bytes
