"""The parameters of our client on the main DHT."""

from __future__ import annotations

from pydantic import Field

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
