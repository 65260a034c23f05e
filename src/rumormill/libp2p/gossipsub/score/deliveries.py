"""What is remembered of messages: who brought the newest ones (P3), and which were bad (P4)."""

from __future__ import annotations

from rumormill.core.machine import Peer


class Delivery:
    """A valid message: when it was found to be so, and who has brought it."""

    __slots__ = ("peers", "validated")

    def __init__(self, validated: float, first: Peer) -> None:
        self.validated = validated
        self.peers = {first}
        """Each is counted once, however often it sends the message."""


class Deliveries:
    """Of valid messages the newest, as long as a copy can count; of bad ones all for a while.

    Both are bounded. What is forgotten early costs a peer nothing: a copy that nobody knows counts
    neither for nor against it.
    """

    __slots__ = ("_invalid_for", "_most", "forgotten", "invalid", "valid")

    def __init__(self, invalid_for: float, most: int) -> None:
        self._invalid_for = invalid_for
        self._most = most
        self.valid: dict[bytes, Delivery] = {}
        """To look up in the midst of much work; not to be changed from outside."""
        self.invalid: dict[bytes, float] = {}
        """The same: the ids of bad messages, and when they were found to be so."""
        self.forgotten = 0
        """Messages that had to go before their time since this was last set to 0."""

    def add_valid(self, message_id: bytes, first: Peer, now: float) -> None:
        """A message is valid, and copies of it may count."""
        self.valid[message_id] = Delivery(now, first)
        if len(self.valid) > self._most:
            del self.valid[next(iter(self.valid))]
            self.forgotten += 1

    def add_invalid(self, message_id: bytes, now: float) -> None:
        """A message is bad, and whoever brings it again is to blame, too."""
        self.invalid[message_id] = now
        if len(self.invalid) > self._most:
            del self.invalid[next(iter(self.invalid))]
            self.forgotten += 1

    def expire(self, now: float, window: float) -> None:
        """Forget what is too old. Both are in the order in which they came.

        ``window`` is the longest time in which a copy of a valid message counts.
        """
        outdated = now - window
        while self.valid and next(iter(self.valid.values())).validated < outdated:
            del self.valid[next(iter(self.valid))]
        outdated = now - self._invalid_for
        while self.invalid and next(iter(self.invalid.values())) < outdated:
            del self.invalid[next(iter(self.invalid))]
