"""Whom the ways have found: who is being dialed on whose word, and who could not be reached."""

from __future__ import annotations

import random
from collections import OrderedDict

from rumormill.core.machine import Peer
from rumormill.libp2p.discovery.way import Way

MOST_DIALED = 128
"""Peers that were found and are being dialed, all ways together."""

MOST_FAILED = 1024
"""Peers that could not be reached and are remembered for it."""

PATIENCE = 60.0
"""Seconds after which a dial that nothing was heard of counts as over."""

FIRST_REST, LONGEST_REST = 15.0, 600.0
"""Seconds that a peer which could not be reached is not dialed again; doubles with each failure."""


class FoundPeers:
    """Remembers dials of peers that were found, by peer."""

    __slots__ = ("_dialed", "_failed", "_random")

    def __init__(self, random: random.Random) -> None:
        self._random = random
        self._dialed: OrderedDict[Peer, tuple[Way, float]] = OrderedDict()
        self._failed: OrderedDict[Peer, tuple[int, float]] = OrderedDict()
        """How often in a row, and until when it rests."""

    def dialing(self, peer: Peer) -> bool:
        """Whether the peer is being dialed."""
        return peer in self._dialed

    def room(self, now: float) -> bool:
        """Whether one more may be dialed."""
        dialed = self._dialed
        while dialed and next(iter(dialed.values()))[1] + PATIENCE < now:
            dialed.popitem(last=False)
        return len(dialed) < MOST_DIALED

    def dialed(self, peer: Peer, way: Way, now: float) -> None:
        """The peer is dialed now."""
        self._dialed[peer] = (way, now)
        if len(self._dialed) > 2 * MOST_DIALED:  # whom the user named is dialed without room, too
            self._dialed.popitem(last=False)

    def arrived(self, peer: Peer) -> Way | None:
        """The peer is there; returns who has found it."""
        self._failed.pop(peer, None)
        found = self._dialed.pop(peer, None)
        return None if found is None else found[0]

    def failed(self, peer: Peer, now: float) -> Way | None:
        """The peer could not be reached; returns who has found it."""
        found = self._dialed.pop(peer, None)
        if found is None:
            return None
        times = self._failed.pop(peer, (0, 0.0))[0] + 1
        rest = min(FIRST_REST * 2.0 ** min(times - 1, 16), LONGEST_REST)
        self._failed[peer] = (times, now + rest * (0.75 + 0.5 * self._random.random()))
        if len(self._failed) > MOST_FAILED:
            self._failed.popitem(last=False)
        return found[0]

    def failed_lately(self, peer: Peer, now: float) -> bool:
        """Whether the peer rests after it could not be reached."""
        failed = self._failed.get(peer)
        return failed is not None and now < failed[1]

    def sizes(self) -> dict[str, int]:
        """How many are being dialed, and how many failed."""
        return {"discovery_dialed": len(self._dialed), "discovery_failed": len(self._failed)}
