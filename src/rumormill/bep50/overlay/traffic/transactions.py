"""Queries on their way: which answer belongs to which of them, and which are overdue.

An answer counts only if it comes from the address that was asked and carries the transaction id of
that query. The ids are drawn at random, four bytes each: who does not see our packets cannot answer
in another's name.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from random import Random
from typing import Generic, NamedTuple, TypeVar

from rumormill.core.machine import Peer

ID_BYTES = 4
"""The length of a transaction id."""

_DRAWN_AT_ONCE = 64  # ids: a system call for each would cost more than the rest of a query

Context = TypeVar("Context")


class Pending(NamedTuple, Generic[Context]):
    """A query that has no answer yet."""

    transaction: bytes
    peer: Peer
    kind: str
    context: Context
    deadline: float


class Transactions(Generic[Context]):
    """The queries of one overlay that wait for an answer, never more than ``most``.

    ``random`` makes the ids. Live it has to be the system's entropy: from a Mersenne twister a peer
    that is asked often enough could foretell the ids that others are sent.

    >>> transactions: Transactions[str] = Transactions(Random(1))
    >>> transaction = transactions.begin("10.0.0.1:6881", "ping", "a note of ours", deadline=2.0)
    >>> transactions.finish("10.0.0.2:6881", transaction) is None  # another address
    True
    >>> transactions.finish("10.0.0.1:6881", transaction).context
    'a note of ours'
    """

    __slots__ = ("_deadlines", "_ids", "_most", "_pending", "_random")

    def __init__(self, random: Random, most: int = 4096) -> None:
        self._random = random
        self._most = most
        self._ids: list[bytes] = []
        self._pending: dict[bytes, Pending[Context]] = {}
        # What was answered stays here until its time has come or there is too much of it.
        self._deadlines: list[tuple[float, bytes]] = []

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def full(self) -> bool:
        """Whether :meth:`begin` would refuse."""
        return len(self._pending) >= self._most

    def begin(self, peer: Peer, kind: str, context: Context, deadline: float) -> bytes | None:
        """The transaction id for a query to ``peer``; None if too many wait for an answer."""
        pending = self._pending
        if len(pending) >= self._most:
            return None
        transaction = self._new_id()
        pending[transaction] = Pending(transaction, peer, kind, context, deadline)
        deadlines = self._deadlines
        heappush(deadlines, (deadline, transaction))
        if len(deadlines) > 2 * len(pending) + 64:
            self._forget_answered()
        return transaction

    def finish(self, peer: Peer, transaction: bytes) -> Pending[Context] | None:
        """The query that this answer of ``peer`` belongs to, which is over now; None if none."""
        found = self._pending.get(transaction)
        if found is None or found.peer != peer:
            return None
        del self._pending[transaction]
        return found

    def awaits(self, peer: Peer, transaction: bytes) -> bool:
        """Whether an answer of ``peer`` with this id would belong to a query."""
        found = self._pending.get(transaction)
        return found is not None and found.peer == peer

    def expired(self, now: float) -> list[Pending[Context]]:
        """The queries whose deadline has come, in that order; they are over."""
        deadlines = self._deadlines
        overdue: list[Pending[Context]] = []
        while deadlines and deadlines[0][0] <= now:
            deadline, transaction = heappop(deadlines)
            found = self._pending.get(transaction)
            # The id of an answered query may have been drawn again: then this is the old deadline.
            if found is not None and found.deadline == deadline:
                del self._pending[transaction]
                overdue.append(found)
        return overdue

    def next_deadline(self) -> float | None:
        """When the next of them is overdue."""
        deadlines = self._deadlines
        while deadlines:
            deadline, transaction = deadlines[0]
            found = self._pending.get(transaction)
            if found is not None and found.deadline == deadline:
                return deadline
            heappop(deadlines)
        return None

    def clear(self) -> list[Pending[Context]]:
        """Give up on all of them: the topic is left."""
        given_up = list(self._pending.values())
        self._pending.clear()
        self._deadlines.clear()
        return given_up

    def _new_id(self) -> bytes:
        while True:
            if not self._ids:
                drawn = self._random.randbytes(ID_BYTES * _DRAWN_AT_ONCE)
                self._ids = [drawn[at : at + ID_BYTES] for at in range(0, len(drawn), ID_BYTES)]
            transaction = self._ids.pop()
            if transaction not in self._pending:
                return transaction

    def _forget_answered(self) -> None:
        pending = self._pending.values()
        self._deadlines = [(each.deadline, each.transaction) for each in pending]
        heapify(self._deadlines)
