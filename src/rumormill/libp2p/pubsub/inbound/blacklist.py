"""Peers that a node has nothing to do with, by its user's choice: for good, or for a time."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.libp2p.stack.peer_id import from_text, to_text

BLACKLIST_ENDED = "blacklist_ended"
"""Trace event: the time of a peer on the list is over."""

MOST_ENDING = 16_384
"""Peers that are listed for a time: a program may list them by itself, and must not fill memory.
Those that are listed for good have no such bound, as somebody named each of them."""

NEVER = float("inf")


class BlacklistedPeers:
    """The list: as names, for connections, and as bytes, for the authors of messages.

    >>> peers = BlacklistedPeers()
    >>> peers.add("ann", until=60.0)
    >>> "ann" in peers, peers.next_end, peers.end(now=60.0), "ann" in peers
    (True, 60.0, ['ann'], False)
    """

    __slots__ = ("_ending", "_peers", "authors", "next_end")

    def __init__(self, peers: Iterable[Peer] = ()) -> None:
        self._peers: dict[Peer, float] = {}
        """Each with its end."""
        self.authors: set[bytes] = set()
        """The same as messages name them: looked up for every message, if there are any."""
        self._ending: list[tuple[float, Peer]] = []
        """Those that have an end, the next first."""
        self.next_end = NEVER
        """When :meth:`end` has something to do."""
        for peer in peers:
            self.add(peer)

    def __contains__(self, peer: Peer) -> bool:
        return peer in self._peers

    def __len__(self) -> int:
        return len(self._peers)

    def add(self, peer: Peer, until: float = NEVER) -> Peer | None:
        """One more, however its id is spelled; of two ends the later one counts.

        Returns who had to leave the list early to make room, if anybody had to.
        """
        name, author = _both(peer)
        before = self._peers.get(name, -NEVER)
        if before >= until:
            return None
        self._forget_end(name, before)
        self._peers[name] = until
        self.authors.add(author)
        early = None
        if until < NEVER:
            if len(self._ending) >= MOST_ENDING:
                early = self._ending[0][1]
                self.remove(early)
            insort(self._ending, (until, name))
            self._look_ahead()
        return early

    def remove(self, peer: Peer) -> None:
        """One less."""
        name, author = _both(peer)
        self._forget_end(name, self._peers.pop(name, NEVER))
        self.authors.discard(author)

    def end(self, now: float) -> list[Peer]:
        """Take off the list whose time is over; returns them."""
        over = [peer for _, peer in self._ending[: bisect_left(self._ending, (now, _LAST))]]
        for peer in over:
            self.remove(peer)
        return over

    def _forget_end(self, name: Peer, end: float) -> None:
        place = bisect_left(self._ending, (end, name))
        if self._ending[place : place + 1] == [(end, name)]:
            del self._ending[place]
            self._look_ahead()

    def _look_ahead(self) -> None:
        self.next_end = self._ending[0][0] if self._ending else NEVER


_LAST = "\U0010ffff"
"""Sorted behind every name."""


def _both(peer: Peer) -> tuple[Peer, bytes]:
    """The peer as connections name it, and as messages do; in simulations names are no ids."""
    try:
        raw = from_text(peer)
    except LocalProtocolError:
        return peer, peer.encode()
    return to_text(raw), raw
