"""How many peers each of our topics has, and how many it wants: the question that decides whether
to look for more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rumormill.libp2p.pubsub.pubsub import Pubsub


class Census(Protocol):
    """Who knows about our topics."""

    def topics(self) -> Iterable[str]:
        """The topics that we take part in."""
        ...

    def peers(self, topic: str) -> int:
        """How many connected peers take part in it."""
        ...

    def wanted(self, topic: str) -> int:
        """How many it should have."""
        ...

    def lacks_mesh(self, topic: str) -> int:
        """How many peers its mesh lacks, though it may have enough that take part."""
        ...


class PubsubCensus:
    """As pubsub and its router see it."""

    __slots__ = ("_pubsub", "_wanted")

    def __init__(self, pubsub: Pubsub, wanted: int | None = None) -> None:
        """``wanted`` is for all topics; by default each has what the router says."""
        self._pubsub = pubsub
        self._wanted = wanted

    def topics(self) -> Iterable[str]:
        """Those that we subscribe to or relay."""
        return self._pubsub.listening

    def peers(self, topic: str) -> int:
        """Those that said so."""
        return len(self._pubsub.subscribers(topic))

    def wanted(self, topic: str) -> int:
        """So many as the user, or else the router, wants."""
        return self._wanted or self._pubsub.router.wanted_peers(topic)

    def lacks_mesh(self, topic: str) -> int:
        """As the router says."""
        return self._pubsub.router.lacks_mesh(topic)
