"""Relayed messages: each is passed on once, however often and from wherever it comes."""

from __future__ import annotations

from collections import OrderedDict

MOST_REMEMBERED = 100_000
REMEMBERED_FOR = 120.0
"""Seconds: longer than a message can be on its way through any net of nodes."""


class Relay:
    """A memory of message ids, bounded in number and in time.

    >>> relay = Relay()
    >>> relay.seen(b"m1", now=0.0), relay.seen(b"m1", now=1.0), relay.seen(b"m1", now=500.0)
    (False, True, False)
    """

    __slots__ = ("_most", "_until")

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self._most = most
        self._until: OrderedDict[bytes, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._until)

    def seen(self, message_id: bytes, now: float) -> bool:
        """Whether it was here before; it is remembered from now on."""
        until = self._until
        while until and (next(iter(until.values())) <= now or len(until) > self._most):
            until.popitem(last=False)
        if message_id in until:
            return True
        until[message_id] = now + REMEMBERED_FOR
        return False
