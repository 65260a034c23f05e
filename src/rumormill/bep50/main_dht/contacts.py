"""Nodes of the main DHT that a search can begin with."""

from __future__ import annotations

from collections import OrderedDict
from heapq import nsmallest
from typing import NamedTuple

MOST_FAILURES = 3
"""Queries in a row without an answer, after which a node that we only heard of is forgotten."""


class KnownNode(NamedTuple):
    """A node; ``id`` is empty until it has answered."""

    peer: str
    id: bytes


class MainContacts:
    """Addresses that the user gave, which stay, and nodes that have answered us.

    >>> contacts = MainContacts(most=2)
    >>> contacts.given("10.0.0.1:6881"); contacts.answered("10.0.0.2:6881", bytes(20))
    >>> [contact.peer for contact in contacts.nearest(bytes(20), 8)]
    ['10.0.0.2:6881', '10.0.0.1:6881']
    """

    __slots__ = ("_failures", "_given", "_ids", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._given: OrderedDict[str, None] = OrderedDict()
        # In the order of their last answer.
        self._ids: OrderedDict[str, bytes] = OrderedDict()
        self._failures: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._given) + len(self._ids)

    def given(self, peer: str) -> None:
        """The user, or the main DHT's own client, named a node."""
        self._given.pop(peer, None)
        self._given[peer] = None
        if len(self._given) > self._most:
            self._given.popitem(last=False)

    def answered(self, peer: str, id: bytes) -> None:
        """A node answered."""
        self._failures.pop(peer, None)
        self._ids.pop(peer, None)
        self._ids[peer] = id
        if len(self._ids) > self._most:
            oldest, _ = self._ids.popitem(last=False)
            self._failures.pop(oldest, None)

    def failed(self, peer: str) -> None:
        """A node did not answer."""
        if peer not in self._ids:
            return
        self._failures[peer] = self._failures.get(peer, 0) + 1
        if self._failures[peer] >= MOST_FAILURES:
            del self._failures[peer], self._ids[peer]

    def nearest(self, target: bytes, count: int) -> list[KnownNode]:
        """The nearest to ``target`` of those that answered before, then those given."""
        place = int.from_bytes(target, "big")
        known = nsmallest(
            count, self._ids.items(), key=lambda each: int.from_bytes(each[1], "big") ^ place
        )
        found = [KnownNode(peer, id) for peer, id in known]
        # The newest first: what the user said last is the likeliest to be right.
        others = [KnownNode(peer, b"") for peer in reversed(self._given) if peer not in self._ids]
        return found + others[:count]
