"""Whom not to graft again yet.

The first version of the protocol has no backoff, and two nodes that disagree about a mesh link then
graft and prune each other at every heartbeat. Peers of today keep one even towards 1.0.0 peers, and
so do we; the number of seconds travels in PRUNE, a field that 1.1 brought and 1.0 skips.
"""

from __future__ import annotations

from collections import OrderedDict

from rumormill.core.machine import Peer

LONGEST = 3600
"""Seconds. A larger number from a peer counts as this: it must not overflow, nor lock us out."""

MOST = 100_000
"""Pairs on record. Peers with ever new names can bring in any number; past this the oldest go, and
the worst that comes of it is a GRAFT that is refused."""


class Backoffs:
    """Until when each pair of topic and peer has to stay apart.

    The other side counts too, from the moment it heard of it. A GRAFT at the first moment allowed
    may be faster than the PRUNE was, and would be refused; so we let ``slack`` seconds more pass.
    """

    __slots__ = ("_slack", "_until")

    def __init__(self, slack: float) -> None:
        self._slack = slack
        # Ordered: a plain dict walks over all that it has lost to find its oldest entry.
        self._until: OrderedDict[tuple[str, Peer], float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._until)

    def add(self, topic: str, peer: Peer, seconds: float, now: float) -> None:
        """Stay apart for so many seconds from now; a longer time that stands already remains."""
        until = now + max(0, min(seconds, LONGEST))
        key = (topic, peer)
        self._until[key] = max(until, self._until.get(key, until))
        if len(self._until) > MOST:
            self._until.popitem(last=False)

    def active(self, topic: str, peer: Peer, now: float) -> bool:
        """Whether the pair still has to stay apart: a GRAFT of the peer would be refused."""
        until = self._until.get((topic, peer))
        return until is not None and now < until

    def until(self, topic: str, peer: Peer) -> float:
        """When the backoff of the pair ends; long ago if there is none."""
        return self._until.get((topic, peer), float("-inf"))

    def too_early(self, topic: str, peer: Peer, now: float) -> bool:
        """Whether we had better not send a GRAFT yet."""
        return self.active(topic, peer, now - self._slack)

    def expire(self, now: float) -> None:
        """Forget what is over."""
        now -= self._slack
        for key in [key for key, until in self._until.items() if until <= now]:
            del self._until[key]
