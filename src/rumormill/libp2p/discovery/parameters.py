"""Parameters of discovery: which ways, for how many peers, how often to look."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from rumormill.core.parameters import Parameters, not_above

WayName = Literal["kademlia", "rendezvous", "mdns"]
"""The ways that can be asked for by name."""


class DiscoveryParameters(Parameters):
    """When and how peers are looked for.

    >>> DiscoveryParameters(discovery=["kademlia"]).discovery
    ('kademlia',)
    >>> DiscoveryParameters(discovery_peers=0)
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: discovery_peers: input should be greater than or equal to 1 \
(got 0)
    """

    discovery: tuple[WayName, ...] = ()
    """Ways to find peers of our topics beyond ``bootstrap`` and peer exchange: ``kademlia``,
    ``rendezvous``, ``mdns``; see docs/discovery.md."""
    discovery_peers: int | None = Field(default=None, ge=1)
    """Peers of a topic below which others are looked for; by default what the router wants, in
    gossipsub ``D``."""
    discovery_first_delay: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """Seconds between the first and the second look for peers of a topic; doubles with every one
    that leaves it without enough."""
    discovery_longest_delay: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds between two looks at most."""
    discovery_jitter: float = Field(default=0.5, ge=0, le=1)
    """Part of a delay that is taken off at random, so that nodes do not look all at once."""
    discovery_only_public: bool = False
    """Whether only addresses that are reachable from everywhere are dialed on the word of others,
    and told to them: for nodes in the open Internet."""

    @field_validator("discovery", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _consistent(self) -> DiscoveryParameters:
        not_above(
            "discovery_first_delay", self.discovery_first_delay,
            "discovery_longest_delay", self.discovery_longest_delay,
        )  # fmt: skip
        return self
