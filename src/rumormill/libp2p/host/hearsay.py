"""Hearsay: addresses of peers that others told us of, tried in turn and only so many at once.

Anyone may have made them up. So a peer's addresses are tried one after the other, each once, and
only so many peers are tried at a time; the others wait, and past a bound they are refused.
"""

from __future__ import annotations

from collections import OrderedDict, deque

MOST_ADDRESSES = 8
"""Addresses of one peer that are tried."""

MOST_AT_ONCE = 16
"""Peers that are dialed by hearsay at a time."""

MOST_WAITING = 128
"""Peers that wait for their turn, as in go."""


class Hearsay:
    """Who is to be dialed by hearsay: some are being tried, the others wait."""

    __slots__ = ("_trying", "_waiting")

    def __init__(self) -> None:
        self._trying: dict[str, deque[str]] = {}
        self._waiting: OrderedDict[str, deque[str]] = OrderedDict()

    def __len__(self) -> int:
        """How many peers are tried or wait."""
        return len(self._trying) + len(self._waiting)

    def __contains__(self, peer: str) -> bool:
        return peer in self._trying or peer in self._waiting

    def add(self, peer: str, addresses: tuple[str, ...]) -> bool:
        """Let the peer wait for its turn; False if too many do."""
        if len(self._waiting) >= MOST_WAITING:
            return False
        self._waiting[peer] = deque(addresses[:MOST_ADDRESSES])
        return True

    def begin(self) -> str | None:
        """The next peer whose turn it is; None if nobody waits, or too many are being tried."""
        if not self._waiting or len(self._trying) >= MOST_AT_ONCE:
            return None
        peer, addresses = self._waiting.popitem(last=False)
        self._trying[peer] = addresses
        return peer

    def next_address(self, peer: str) -> str | None:
        """The peer's next address; after its last, None, and its turn is over."""
        addresses = self._trying.get(peer)
        if addresses:
            return addresses.popleft()
        self.end(peer)
        return None

    def end(self, peer: str) -> None:
        """The peer need not be tried any more."""
        self._trying.pop(peer, None)
        self._waiting.pop(peer, None)

    def clear(self) -> None:
        """Nobody is to be dialed any more."""
        self._trying.clear()
        self._waiting.clear()
