"""The way of memory: peers that were of use before a restart are tried again.

It keeps who was connected, speaks our pubsub and can be dialed, and when that was last so. Whoever
makes it gives it what was kept, and writes down what it knows now and then
(:mod:`rumormill.libp2p.live.peers_file`). Only addresses are kept: that a peer is the one it
claims to be, its handshake proves anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import ClassVar, NamedTuple

from rumormill.core.machine import Peer
from rumormill.core.timers import NEVER
from rumormill.libp2p.discovery.events import DISCOVERY_LOST
from rumormill.libp2p.discovery.way import Acquaintance, Way

MOST_PEERS = 256
"""Peers that are remembered; who was there longest ago is forgotten first."""
LONGEST_MEMORY = 30 * 24 * 3600.0
"""Seconds since a peer was there, after which it is forgotten."""
MOST_FAILURES = 5
"""Times in a row that a peer could not be reached, after which it is forgotten."""
TRIED_AT_ONCE = 8
"""Peers that are dialed at a time: a file full of dead addresses must not cost us a storm."""
BOOTSTRAP_FIRST = 3.0
"""Seconds that the addresses of the user have to bring us peers before memory is asked."""


class RememberedPeer(NamedTuple):
    """A peer that was of use."""

    peer: Peer
    addresses: tuple[str, ...]
    """Without its name."""
    last_seen: float
    """Seconds since the epoch."""
    failures: int = 0
    """Times in a row that it could not be reached since."""


class Remembered(Way):
    """Peers of former days, and those of today for tomorrow.

    ``useful`` are the protocols of which a peer must speak one to be worth remembering; ``delay``
    is how long to wait before anybody is tried.
    """

    name: ClassVar[str] = "remembered"

    def __init__(
        self,
        peers: Iterable[RememberedPeer] = (),
        *,
        useful: Collection[str] = (),
        delay: float = 0.0,
        most: int = MOST_PEERS,
    ) -> None:
        self._useful = frozenset(useful)
        self._delay = delay
        self._most = most
        self._peers = {each.peer: each for each in peers}
        self._trying: dict[Peer, None] = {}
        self._due: float = 0.0
        """When to look for the first time: at once it is found out when that is."""
        self._began = False

    def sizes(self) -> dict[str, int]:
        """See :class:`Way`."""
        return {"remembered": len(self._peers), "remembered_tried": len(self._trying)}

    def state(self, now: float) -> tuple[RememberedPeer, ...]:
        """What is worth keeping, the latest first."""
        for peer in self.node.acquaintances:
            known = self._peers.get(peer)
            if known is not None:
                self._peers[peer] = known._replace(last_seen=now)
        self._forget_oldest()
        return tuple(sorted(self._peers.values(), key=lambda each: (-each.last_seen, each.peer)))

    # ---- trying

    def next_wake(self) -> float | None:
        """See :class:`Way`."""
        return None if self._due == NEVER else self._due

    def wake(self, now: float) -> None:
        """Find out when to begin; then begin."""
        if self._due > now:
            return
        if not self._began:
            self._began = True
            self._forget_outdated(now)
            self._due = now + self._delay
            if self._delay:
                return
        self._due = NEVER
        if self.node.lacks_peers():
            self._try_some()

    def seek(self, topic: str, lacking: int, now: float) -> bool:
        """Whoever was there before may be of the topic."""
        if not self._began or self._due != NEVER:
            return False  # the user's own addresses come first
        return self._try_some()

    def _try_some(self) -> bool:
        """Dial those that were there last, and seldom failed, as many as may be tried at once."""
        began = False
        connected = self.node.acquaintances
        order = sorted(self._peers.values(), key=lambda each: (each.failures, -each.last_seen))
        for each in order:
            if len(self._trying) >= TRIED_AT_ONCE:
                break
            if each.peer in connected or each.peer in self._trying:
                continue
            if self.node.found(self, each.peer, each.addresses):
                self._trying[each.peer] = None
                began = True
        return began

    def unreached(self, peer: Peer, reason: str, now: float) -> None:
        """Try the next one; who fails again and again is forgotten."""
        self._trying.pop(peer, None)
        known = self._peers.get(peer)
        if known is not None:
            if known.failures + 1 >= MOST_FAILURES:
                self._forget(peer, "unreached")
            else:
                self._peers[peer] = known._replace(failures=known.failures + 1)
        if self.node.lacks_peers():
            self._try_some()

    # ---- remembering

    def connected(self, acquaintance: Acquaintance, now: float) -> None:
        """It was reached, whoever dialed whom."""
        self._trying.pop(acquaintance.peer, None)
        known = self._peers.get(acquaintance.peer)
        if known is not None:
            self._peers[acquaintance.peer] = known._replace(last_seen=now, failures=0)

    def identified(self, acquaintance: Acquaintance, now: float) -> None:
        """Remember it, if it is of use and can be dialed."""
        peer, addresses = acquaintance.peer, acquaintance.addresses
        if addresses and not self._useful.isdisjoint(acquaintance.protocols):
            self._peers[peer] = RememberedPeer(peer, addresses, now)
            if len(self._peers) > self._most:
                self._forget_oldest()

    def disconnected(self, peer: Peer, now: float) -> None:
        """It was there until now."""
        known = self._peers.get(peer)
        if known is not None:
            self._peers[peer] = known._replace(last_seen=now)

    # ---- forgetting

    def _forget_outdated(self, now: float) -> None:
        for each in list(self._peers.values()):
            if each.last_seen > now:  # a clock was wrong, now or then
                self._peers[each.peer] = each._replace(last_seen=now)
            elif now - each.last_seen > LONGEST_MEMORY:
                self._forget(each.peer, "expired")
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        while len(self._peers) > self._most:
            oldest = min(self._peers.values(), key=lambda each: each.last_seen)
            self._forget(oldest.peer, "too_many")

    def _forget(self, peer: Peer, reason: str) -> None:
        del self._peers[peer]
        self.node.emit(self, DISCOVERY_LOST, peer=peer, reason=reason)
