"""The parameters of the main DHT: how items are read and put, and when."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from rumormill.bep50.wire.addresses import parse_address
from rumormill.core.errors import LocalProtocolError
from rumormill.core.parameters import Parameters


class MainParameters(Parameters):
    """How items are searched for and put on the main DHT."""

    main_width: int = Field(default=3, ge=1, le=64)
    """Queries that one search has on the way at once (Kademlia's alpha)."""
    main_closest: int = Field(default=8, ge=1, le=64)
    """Nodes that an item is put on: the nearest to its target (Kademlia's k)."""
    main_query_timeout: float = Field(default=2.0, gt=0, allow_inf_nan=False)
    """Seconds after which a node that does not answer is left out."""
    main_most_queries: int = Field(default=100, ge=1)
    """Queries after which a search takes what it has."""
    main_searches: int = Field(default=4, ge=1)
    """Searches that are under way at once; the others wait for their turn."""
    main_most_waiting: int = Field(default=1000, ge=1)
    """Searches that may wait; those above are given up at once, and counted."""
    main_most_contacts: int = Field(default=128, ge=1)
    """Nodes of the main DHT that are remembered to begin a search with."""


class SessionParameters(Parameters):
    """Whether and how the main DHT is used; see docs/bep50.md."""

    main_dht: bool = False
    """Find members of a topic on the main DHT, and put what is published there too."""
    main_dht_listen: str | None = None
    """HOST:PORT of our node on the main DHT; by default on the host that we listen on, any port."""
    main_dht_nodes: tuple[str, ...] = ()
    """HOST:PORT of nodes to join the main DHT by, and no others: a private one. By default the
    public one, by libtorrent's own list."""
    announce_interval: float = Field(default=1200.0, gt=0, allow_inf_nan=False)
    """Seconds between two announcements of a topic, at most; nodes forget them after 45 minutes."""
    republish_interval: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    """Seconds after which the newest value is put on the main DHT again; nodes forget it after two
    hours."""
    main_dht_pause: float = Field(default=5.0, ge=0, allow_inf_nan=False)
    """Seconds between two puts of one topic on the main DHT: of several values that are published
    meanwhile, the newest is put."""

    @field_validator("main_dht_nodes", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("main_dht_nodes", "main_dht_listen")
    @classmethod
    def _addresses(cls, value: Any) -> Any:
        for address in (value,) if isinstance(value, str) else value or ():
            try:
                parse_address(address)
            except LocalProtocolError as error:
                raise ValueError(str(error)) from None
        return value
