"""What is remembered of messages: who brought the newest ones (P3), and which were bad (P4)."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from rumormill.core.machine import Peer

Brought: TypeAlias = dict[Peer, float]
"""Who has brought a valid message, and when; the first when it was found to be valid. Each counts
once, however often it sends the message. A dict of plain values, since there is one for every
message: the garbage collector has nothing to look for in it."""


class Deliveries:
    """Of valid messages the newest, as long as a copy can count; of bad ones all for a while.

    Both are bounded. What is forgotten early costs a peer nothing: a copy that nobody knows counts
    neither for nor against it.
    """

    __slots__ = ("_invalid_for", "_most", "forgotten", "invalid", "valid")

    def __init__(self, invalid_for: float, most: int) -> None:
        self._invalid_for = invalid_for
        self._most = most
        # Ordered, as a plain dict looks for its first entry among all that were taken out before.
        self.valid: OrderedDict[bytes, Brought] = OrderedDict()
        """To look up in the midst of much work; not to be changed from outside."""
        self.invalid: OrderedDict[bytes, float] = OrderedDict()
        """The same: the ids of bad messages, and when they were found to be so."""
        self.forgotten = 0
        """Messages that had to go before their time since this was last set to 0."""

    def add_valid(self, message_id: bytes, first: Peer, now: float) -> None:
        """A message is valid, and copies of it may count."""
        self.valid[message_id] = {first: now}
        if len(self.valid) > self._most:
            self.valid.popitem(last=False)
            self.forgotten += 1

    def add_invalid(self, message_id: bytes, now: float) -> None:
        """A message is bad, and whoever brings it again is to blame, too."""
        self.invalid[message_id] = now
        if len(self.invalid) > self._most:
            self.invalid.popitem(last=False)
            self.forgotten += 1

    def expire(self, now: float, window: float) -> None:
        """Forget what is too old. Both are in the order in which they came.

        ``window`` is the longest time in which a copy of a valid message counts.
        """
        outdated = now - window
        while self.valid and validated(next(iter(self.valid.values()))) < outdated:
            self.valid.popitem(last=False)
        outdated = now - self._invalid_for
        while self.invalid and next(iter(self.invalid.values())) < outdated:
            self.invalid.popitem(last=False)


def validated(brought: Brought) -> float:
    """When a message was found to be valid.

    >>> validated({"alice": 1.0, "bob": 1.2})
    1.0
    """
    return next(iter(brought.values()))
