"""The parameters of gossipsub, under the names that its specification gives them."""

from __future__ import annotations

from pydantic import Field, model_validator

from rumormill.core.errors import ConfigError
from rumormill.core.parameters import Parameters


class GossipsubParameters(Parameters):
    """How the mesh and the gossip behave.

    >>> GossipsubParameters(D=8).D_lazy
    8
    >>> GossipsubParameters(D_low=7)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: D_low: must not be above D (7 > 6)
    """

    D: int = Field(default=6, ge=0)
    """How many peers a mesh should have."""
    D_low: int = Field(default=4, ge=0)
    """With fewer than this, the heartbeat adds peers up to ``D``."""
    D_high: int = Field(default=12, ge=0)
    """With more than this, the heartbeat removes peers down to ``D``."""
    D_lazy: int = Field(default=-1, ge=-1)
    """How many peers outside the mesh are told about recent messages; by default ``D``."""
    heartbeat_interval: float = Field(default=1.0, gt=0, le=3600)
    """Seconds between two heartbeats."""
    heartbeat_delay: float = Field(default=0.1, ge=0)
    """Seconds before the first one."""
    fanout_ttl: float = Field(default=60.0, gt=0)
    """Seconds after which the fanout of a topic that we no longer publish on is forgotten."""
    mcache_len: int = Field(default=5, ge=1)
    """Heartbeats for which a message can be asked for."""
    mcache_gossip: int = Field(default=3, ge=1)
    """Heartbeats for which a message is told about."""
    mcache_bytes: int = Field(default=64 * 1024 * 1024, ge=1)
    """Bytes of messages kept at most, whatever their age; the oldest go first, counted."""
    prune_backoff: float = Field(default=60.0, gt=0, le=3600)
    """Seconds that two peers stay out of each other's mesh after a PRUNE."""
    unsubscribe_backoff: float = Field(default=10.0, gt=0, le=3600)
    """The same after we left the topic."""
    graft_on_subscribe: bool = True
    """Take a peer into a mesh of fewer than ``D`` when it subscribes, before the heartbeat."""
    answer_unknown_graft: bool = False
    """Answer GRAFT of a topic we are not in by PRUNE, as the first specification says. Peers of
    today keep silent, because an answer would let anyone ask for any topic."""
    max_ihave_messages: int = Field(default=10, ge=1)
    """RPCs with IHAVE that one peer may send between two heartbeats."""
    max_ihave_ids: int = Field(default=5000, ge=1)
    """Ids that we ask of one peer between two heartbeats, and tell one peer at once."""
    max_iwant_sends: int = Field(default=3, ge=1)
    """How often we send the same message to the same peer on its request."""
    test_extension: bool = False
    """Have the test extension of gossipsub 1.3, which does nothing but show that they work."""
    partial_messages: bool = False
    """Have the extension that sends large messages in parts, on topics that are opened for it."""
    partial_group_ttl: int = Field(default=5, ge=1)
    """Heartbeats after the last news of a message in parts for which it is kept."""
    partial_groups: int = Field(default=1024, ge=1)
    """Messages in parts of one topic that are kept; those without news go first, counted."""
    partial_groups_per_topic: int = Field(default=255, ge=1)
    """Those of a topic that peers may begin, all together, before they bring something of worth."""
    partial_groups_per_peer: int = Field(default=8, ge=1)
    """Those of a topic that one peer may begin before they bring something of worth."""
    partial_metadata_bytes: int = Field(default=4096, ge=1)
    """Bytes in which a peer may say which parts of one message it has."""
    partial_bytes_per_peer: int = Field(default=256 * 1024, ge=1024)
    """Bytes of that which are kept of one peer."""
    partial_rpc_bytes: int = Field(default=32 * 1024, ge=1)
    """Bytes of parts that we put into one RPC, unless a single part is larger: rust reads RPCs of
    64 KiB by default."""

    @model_validator(mode="before")
    @classmethod
    def _lazy_like_D(cls, values: dict[str, object]) -> dict[str, object]:
        if values.get("D_lazy") in (None, -1):
            values = {**values, "D_lazy": values.get("D", cls.model_fields["D"].default)}
        return values

    @model_validator(mode="after")
    def _consistent(self) -> GossipsubParameters:
        _not_above("D_low", self.D_low, "D", self.D)
        _not_above("D", self.D, "D_high", self.D_high)
        _not_above("mcache_gossip", self.mcache_gossip, "mcache_len", self.mcache_len)
        _not_above(
            "unsubscribe_backoff", self.unsubscribe_backoff, "prune_backoff", self.prune_backoff
        )
        return self


def _not_above(small: str, value: float, large: str, limit: float) -> None:
    if value > limit:
        raise ConfigError(small, f"must not be above {large} ({value:g} > {limit:g})")
