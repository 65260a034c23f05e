"""Parameters of Kademlia."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from rumormill.core.parameters import Parameters

KAD_PROTOCOL = "/ipfs/kad/1.0.0"


class KademliaParameters(Parameters):
    """How a node takes part in a DHT.

    >>> KademliaParameters(kademlia_protocol="kad")
    Traceback (most recent call last):
    ...
    rumormill.core.errors.ConfigError: kademlia_protocol: a protocol id begins with a slash \
(got 'kad')
    """

    kademlia_mode: Literal["client", "server"] = "client"
    """``server``: others may ask us, and we keep for them who provides what; for nodes that others
    can dial. ``client``: we only ask."""
    kademlia_protocol: str = Field(default=KAD_PROTOCOL, max_length=256)
    """The protocol id, and so the DHT: that of IPFS, or one of a network's own, such as
    ``/ipfs/lan/kad/1.0.0``. Nodes of different ones never meet."""
    kademlia_bucket_size: int = Field(default=20, ge=1, le=64)
    """k: peers of each distance in the table, peers in an answer, and how many are told what we
    provide."""
    kademlia_concurrency: int = Field(default=3, ge=1, le=32)
    """alpha: questions of one lookup that are under way at once; 3 as in rust and js. The 10 of go
    is faster where many peers are gone, and asks three times as many."""
    kademlia_resilience: int = Field(default=3, ge=1, le=20)
    """beta: a lookup is over when so many of the closest have answered, as in go."""
    kademlia_refresh: float = Field(default=600.0, gt=0, allow_inf_nan=False)
    """Seconds between two looks at our own neighbourhood and at a random place."""
    kademlia_advertise: float = Field(default=1800.0, gt=0, allow_inf_nan=False)
    """Seconds after which the peers closest to a topic are told again that we take part; at first
    it is sooner, as the table still grows."""
    kademlia_provider_ttl: float = Field(default=172_800.0, gt=0, allow_inf_nan=False)
    """Seconds that a server keeps what others provide: two days, as everybody does."""

    @field_validator("kademlia_protocol")
    @classmethod
    def _protocol(cls, value: str) -> str:
        if not value.startswith("/"):
            raise ValueError("a protocol id begins with a slash")
        return value
