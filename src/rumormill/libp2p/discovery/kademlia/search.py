"""A lookup with its purpose: the neighbours of a place, or the providers of a topic."""

from __future__ import annotations

import random

from rumormill.core.machine import Peer
from rumormill.libp2p.discovery.kademlia.lookup import Candidate, Lookup
from rumormill.libp2p.discovery.kademlia.message import Kind

TOPIC = "topic"
"""To find the providers of a topic, and those that we are to tell that we are one."""

NEIGHBOURS = "neighbours"
"""To fill the table."""

MOST_PROVIDERS = 256
"""Providers that one search keeps in mind."""

DIALED_FOR_EACH = 2
"""Providers that are dialed for each peer that is lacking: some are gone, some will not have us."""


class Search:
    """What is looked for, and what was found."""

    __slots__ = ("began", "key", "lacking", "lookup", "name", "providers", "purpose")

    def __init__(
        self, name: str, key: bytes, purpose: str, lookup: Lookup, lacking: int, began: float
    ) -> None:
        self.name = name
        self.key = key
        self.purpose = purpose
        self.lookup = lookup
        self.lacking = lacking
        self.began = began
        self.providers: dict[Peer, Candidate] = {}

    @property
    def kind(self) -> Kind:
        """What is asked."""
        return Kind.GET_PROVIDERS if self.purpose == TOPIC else Kind.FIND_NODE

    def found(self, provider: Candidate) -> None:
        """Somebody provides it, as another one says; where it is, the first who knows says."""
        known = self.providers.get(provider.peer)
        if known is None and len(self.providers) >= MOST_PROVIDERS:
            return
        if known is None or not known.addresses:
            self.providers[provider.peer] = provider

    def chosen(self, random: random.Random) -> list[Candidate]:
        """Whom to dial: by chance, so that nobody is dialed for being told of first."""
        found = list(self.providers.values())
        return random.sample(found, min(len(found), DIALED_FOR_EACH * self.lacking))
