"""Parameters of the overlay: every choice that the specification leaves open, with its default."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from rumormill.core.errors import ConfigError
from rumormill.core.limits import WorkLimits
from rumormill.core.parameters import Parameters

SHORTEST_REST = 1.0
"""Seconds for which a source's packets are dropped at least: one event in the trace for each."""


class OverlayParameters(Parameters):
    """How the nodes of all topics behave.

    >>> OverlayParameters().nodes_in_answer
    8
    >>> OverlayParameters(keepalive_interval=400)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: keepalive_interval: must not be above token_rotation ...
    """

    # ---- the routing table

    bucket_size: int = Field(default=1, ge=1, le=64)
    """K: entries of a bucket that is neither our own nor its sibling."""
    home_capacity: int = Field(default=8, ge=1, le=256)
    """Entries of our own bucket and of its sibling."""
    replacement: Literal["reservoir", "oldest"] = "reservoir"
    """Who stays when a bucket is full: each contact with equal chance, or the oldest. With
    ``oldest`` everybody comes to hold the same few nodes."""
    replacement_cache: int = Field(default=4, ge=0, le=64)
    """Nodes that each bucket keeps in case that an entry leaves."""
    most_failures: int = Field(default=2, ge=1)
    """Queries without an answer, one after the other, that cost an entry its place."""
    most_per_ip: int | None = Field(default=None, ge=1)
    """Entries with the same IP address; not limited by default, for there are shared ones."""
    enforce_bep42: bool = False
    """Keep only nodes whose id fits their IP address (BEP 42)."""
    nodes_in_answer: int = Field(default=8, ge=1, le=16)
    """Nodes in an answer to find_node and get: the closest, more than K."""
    refresh_interval: float = Field(default=900.0, gt=0)
    """Seconds without a new contact after which a bucket is looked through anew."""

    # ---- joining

    lookup_width: int = Field(default=3, ge=1, le=16)
    """Queries of one search that are on their way at once."""
    join_retry: float = Field(default=2.0, gt=0)
    """Seconds until contacts are tried again while nobody has answered; doubled each time..."""
    join_retry_most: float = Field(default=30.0, gt=0)
    """... up to this."""

    # ---- staying

    keepalive_interval: float = Field(default=240.0, gt=0)
    """Seconds after which an entry is asked for its value (``get`` with ours): that tells whether
    it lives, renews the token, and finds out who of the two is behind."""
    poll_interval: float = Field(default=15.0, gt=0)
    """The same for a read-only node: nobody sends it anything, so it has to ask."""
    query_timeout: float = Field(default=2.0, gt=0)
    """Seconds to wait for an answer."""

    # ---- passing on

    forward: Literal["adaptive", "put", "get_first"] = "adaptive"
    """``put`` sends the value to every entry; ``get_first`` asks first whether it lacks it;
    ``adaptive`` does the one with small values and the other with large ones."""
    put_at_once_bytes: int = Field(default=300, ge=0)
    """Bytes of a value that ``adaptive`` takes for small."""
    put_retries: int = Field(default=1, ge=0, le=8)
    """How often a put without an answer is sent again."""
    most_in_flight: int = Field(default=256, ge=1)
    """Puts to one entry that may wait for their answer; past it the entry gets only the newest
    value, when it has answered."""
    deliver_own: bool = True
    """Deliver our own messages to our own subscriptions."""

    # ---- answering

    token_rotation: float = Field(default=300.0, gt=0)
    """Seconds that a secret for tokens is in use: a token is good for once to twice as long."""
    work_share: float = Field(default=0.02, gt=0, le=1)
    """Of one core: how much work one source (an IPv4 address, an IPv6 /64) may make us do for
    nothing; 0.02 are 200 answers a second. Beyond it its packets are dropped before they are read,
    until time has paid for it. Answers to our queries and new values with a good signature cost
    nothing."""
    work_burst: float = Field(default=0.1, gt=0, allow_inf_nan=False)
    """Seconds of such work that a source may make us do at once; 0.1 are 1000 answers, 20 packets
    that cannot be read, or 10 values with a wrong signature."""
    work_patience: float = Field(default=5.0, gt=0, allow_inf_nan=False)
    """Seconds that the packets of a source may be dropped for what no honest node sends, and a
    tenth of a second more with each that passes; then none is read for a minute."""
    strangers_share: float = Field(default=0.5, gt=0, le=1)
    """Of one core: how much work all sources together may make us do that have not shown that they
    are at their own address. Beyond it those that we know are served, and strangers wait."""
    unproven_nodes: int = Field(default=2, ge=0, le=16)
    """Nodes in an answer to an address that has not proven yet that it is the sender's own; such an
    answer has no value either, only its number."""
    proof_lifetime: float = Field(default=600.0, gt=0)
    """Seconds for which an address that answered us counts as proven."""
    ping_back_rate: float = Field(default=50.0, gt=0)
    """Unproven addresses a second that we ping to see whether they answer, in all."""
    read_only: bool = False
    """Ask, but answer nothing and be in nobody's table (BEP 43): for nodes behind a NAT."""

    # ---- bounds

    most_topics: int = Field(default=10_000, ge=1)
    """Topics that we take part in."""
    most_contacts: int = Field(default=1024, ge=1)
    """Addresses to begin with that are kept, in all and for each topic."""
    most_checks: int = Field(default=4096, ge=1)
    """Items that may be under check at once."""
    most_copies: int = Field(default=64, ge=1)
    """Copies of an item under check whose senders wait for the same verdict."""
    most_queries: int = Field(default=4096, ge=1)
    """Queries of one topic that may wait for an answer."""
    most_addresses: int = Field(default=65_536, ge=1)
    """Addresses whose account and whose proof are kept."""
    trace_packets: bool = False
    """Trace every packet."""

    @property
    def work_limits(self) -> WorkLimits:
        """How much work one source may make us do for nothing."""
        return WorkLimits(self.work_share, self.work_burst, self.work_patience, SHORTEST_REST)

    @model_validator(mode="after")
    def _consistent(self) -> OverlayParameters:
        if self.keepalive_interval > self.token_rotation:
            raise ConfigError(
                "keepalive_interval",
                f"must not be above token_rotation ({self.keepalive_interval:g} > "
                f"{self.token_rotation:g})",
            )
        if self.join_retry > self.join_retry_most:
            raise ConfigError(
                "join_retry",
                f"must not be above join_retry_most ({self.join_retry:g} > "
                f"{self.join_retry_most:g})",
            )
        return self
