"""A vector: what can be reached at which cost, with a digest that two sides compare."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple

from rumormill.ndn.routing.messages import DIGEST_SIZE
from rumormill.ndn.routing.parameters import UNREACHABLE
from rumormill.ndn.wire.name import Name


class Destination(NamedTuple):
    """A prefix at the node that it is registered at.

    The same prefix at two nodes is two destinations: one node leaves, and the way to the other is
    found by what is known of it alone.
    """

    node: Name
    prefix: Name


class Vector:
    """Costs by destination; what is unreachable is not in it.

    >>> one, other = Vector(), Vector()
    >>> here, there = Destination(b"n", b"a"), Destination(b"n", b"b")
    >>> one.set(here, 1); one.set(there, 2); other.set(there, 2); one.digest == other.digest
    False
    >>> other.set(here, 1); one.digest == other.digest
    True
    """

    __slots__ = ("_costs", "_digest")

    def __init__(self) -> None:
        self._costs: dict[Destination, int] = {}
        self._digest = 0

    def __len__(self) -> int:
        return len(self._costs)

    def __iter__(self) -> Iterator[Destination]:
        return iter(self._costs)

    def __contains__(self, destination: object) -> bool:
        return destination in self._costs

    @property
    def digest(self) -> bytes:
        """Of all destinations and costs, in whatever order they were set."""
        return self._digest.to_bytes(DIGEST_SIZE, "big")

    def cost(self, destination: Destination) -> int:
        """The cost, or :data:`UNREACHABLE`."""
        return self._costs.get(destination, UNREACHABLE)

    def set(self, destination: Destination, cost: int) -> None:
        """Something is reached at another cost from now on, or no more."""
        costs = self._costs
        former = costs.pop(destination, UNREACHABLE)
        if former < UNREACHABLE:
            self._digest ^= _digest_of(destination, former)
        if cost < UNREACHABLE:
            costs[destination] = cost
            self._digest ^= _digest_of(destination, cost)

    def newest(self) -> Destination:
        """What was set last."""
        return next(reversed(self._costs))

    def clear(self) -> None:
        """Reach nothing."""
        self._costs.clear()
        self._digest = 0


def _digest_of(destination: Destination, cost: int) -> int:
    # Not against forgers: a neighbour that wants us to hold something wrong just tells it.
    node, prefix = destination
    size = len(node).to_bytes(2, "big")
    return int.from_bytes(
        blake2b(bytes((cost,)) + size + node + prefix, digest_size=DIGEST_SIZE).digest(), "big"
    )
