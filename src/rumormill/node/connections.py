"""Who may be connected to the HTTP side: bounds, and who has to go when they are met.

A newcomer is let in, and for it goes who has kept us waiting longest without having shown the
token: whoever is let in first and does nothing cannot keep the others out. How long somebody has
kept us waiting is counted from the last request that was whole, so a byte now and then helps
nobody. Who has shown the token goes only when there is nobody else, and never amid a request.

Where no token is asked for, on loopback, nobody has shown one, and all are treated alike.

Nothing here reads a clock or a socket; :mod:`rumormill.node.http_connection` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rumormill.node.tally import CLOSED, Tally

FREE_BYTES: Final = 64 << 10
"""Of each body: they are never refused for what the others hold, the bound on connections bounds
them, too."""


class Caller:
    """One connection."""

    __slots__ = ("_connections", "address", "close", "held", "refused", "shown", "working")

    def __init__(self, connections: Connections, close: Callable[[], None]) -> None:
        self._connections = connections
        self.close = close
        """Ends it, without another word."""
        self.address = ""
        """Who it belongs to, as far as can be seen (``owner_of`` the host)."""
        self.shown = False
        """Whether it has shown the token."""
        self.refused = False
        """Whether it has asked without the token: it is closed after its answer."""
        self.working = False
        """Whether we owe it an answer."""
        self.held = 0
        """Bytes of its body that we keep."""

    def has_shown_token(self) -> None:
        """It has: from now on it is no stranger."""
        self._connections.has_shown_token(self)

    def hold(self, size: int) -> bool:
        """Keep so many more bytes of its body; False if there is no room for them."""
        return self._connections.hold(self, size)


class Connections:
    """All connections of the HTTP side."""

    def __init__(self, most: int, per_address: int, body_bytes: int, tally: Tally) -> None:
        self.most = most
        self._per_address = per_address
        self._body_bytes = body_bytes
        self._tally = tally
        self._all: set[Caller] = set()
        # Each in the order of who waits longest: a dict keeps it.
        self._strangers: dict[Caller, None] = {}
        self._by_address: dict[str, dict[Caller, None]] = {}
        self._resting: dict[Caller, None] = {}
        self._held = 0

    def __len__(self) -> int:
        return len(self._all)

    def sizes(self) -> dict[str, int]:
        """How many there are, how many of them have to go first, and the bytes of their bodies."""
        return {
            "connections": len(self._all),
            "strangers": len(self._strangers),
            "addresses": len(self._by_address),
            "body_bytes": self._held,
        }

    # ---- coming and going

    def admit(self, caller: Caller, address: str) -> bool:
        """Somebody has connected; False if everybody who is there is being answered."""
        caller.address = address
        mine = self._by_address.get(address)
        if mine is not None and len(mine) >= self._per_address:
            self.evict(next(iter(mine)), "evicted_of_address")
        if len(self._all) >= self.most and not self.make_room():
            self._tally.add(CLOSED, "no_room", address)
            return False
        self._all.add(caller)
        self._wait(caller)
        return True

    def make_room(self) -> bool:
        """Close who is missed least; False if all are being answered."""
        for waiting in (self._strangers, self._resting):
            for caller in waiting:
                self.evict(caller, "evicted")
                return True
        return False

    def evict(self, caller: Caller, reason: str) -> None:
        """Close a connection that did nothing wrong."""
        self._tally.add(CLOSED, reason, caller.address)
        self.gone(caller)
        caller.close()

    def gone(self, caller: Caller) -> None:
        """A connection is over; again is no matter."""
        if caller in self._all:
            self._all.discard(caller)
            self._leave(caller)
            self._let_go(caller)

    def close(self) -> None:
        """End all of them."""
        for caller in list(self._all):
            self.gone(caller)
            caller.close()

    # ---- what they do

    def begins(self, caller: Caller) -> None:
        """A request is whole: an answer is owed."""
        self._leave(caller)
        caller.working = True

    def has_shown_token(self, caller: Caller) -> None:
        """A request with the token has come, whole or not."""
        caller.shown = True
        self.begins(caller)

    def waits(self, caller: Caller) -> None:
        """The answer is given, the next request may come."""
        self._let_go(caller)
        self._leave(caller)
        if caller in self._all:
            self._wait(caller)

    def hold(self, caller: Caller, size: int) -> bool:
        """Keep bytes of a body; the largest unfinished ones of strangers go for it."""
        caller.held += size
        self._held += size
        if caller.held <= FREE_BYTES:
            return True
        while self._held > self._body_bytes:
            largest = max(self._strangers, key=lambda each: each.held, default=caller)
            if largest is caller or largest.held <= FREE_BYTES:
                return False
            self.evict(largest, "evicted_body")
        return True

    # ---- the tables

    def _wait(self, caller: Caller) -> None:
        caller.working = False
        if caller.shown:
            self._resting[caller] = None
        else:
            self._strangers[caller] = None
            self._by_address.setdefault(caller.address, {})[caller] = None

    def _leave(self, caller: Caller) -> None:
        self._resting.pop(caller, None)
        if caller in self._strangers:
            del self._strangers[caller]
            mine = self._by_address[caller.address]
            del mine[caller]
            if not mine:
                del self._by_address[caller.address]

    def _let_go(self, caller: Caller) -> None:
        self._held -= caller.held
        caller.held = 0


def most_connections(descriptors: int, wanted: int) -> int:
    """A quarter of the descriptors that the process may have, and not more than wanted: the rest
    is for peers, files and whoever they are on their way to.

    >>> most_connections(1024, 512), most_connections(64, 512), most_connections(1 << 20, 512)
    (256, 16, 512)
    """
    return max(4, min(wanted, descriptors // 4))
