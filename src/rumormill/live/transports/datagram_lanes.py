"""Datagrams that wait for their turn, in a lane for each source: no flood is in another's way.

There is one queue of the system for all who send. So when more comes than is worth handing on at
once, all of it is taken out, and sources have their turns: whoever sends a datagram now and then
waits for one of each other, not for all of them.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache

from rumormill.core.addresses import owner_of
from rumormill.core.machine import Received
from rumormill.live.transports.names import Place

MOST_IN_LANE = 512
"""Datagrams of one source that wait; past it its newest are lost, counted: those of others that
came behind them must be seen."""

REMEMBERED = 1 << 12
"""IPv6 addresses whose owner is kept at hand."""

MOST_WAITING_IN = 8192
"""Datagrams that wait in all; past it the rest stays with the system."""


class DatagramLanes:
    """What has come and had no turn yet.

    >>> lanes = DatagramLanes()
    >>> for number in range(3):
    ...     _ = lanes.add(("10.0.0.1", 1), Received("10.0.0.1:1", b"flood %d" % number))
    >>> lanes.add(("10.0.0.2", 1), Received("10.0.0.2:1", b"now and then"))
    True
    >>> [lanes.take().packet for _ in range(len(lanes))]
    [b'flood 0', b'now and then', b'flood 1', b'flood 2']
    """

    __slots__ = ("_by_source", "_count", "_turns")

    def __init__(self) -> None:
        self._by_source: dict[Place | str, deque[Received]] = {}
        self._turns: deque[tuple[Place | str, deque[Received]]] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def room(self) -> int:
        """How many more may wait here."""
        return MOST_WAITING_IN - self._count

    def add(self, place: Place, datagram: Received) -> bool:
        """Let one wait behind those of its source; False if these are too many."""
        source = _source(place)
        lane = self._by_source.get(source)
        if lane is None:
            lane = self._by_source[source] = deque()
            self._turns.append((source, lane))
        elif len(lane) >= MOST_IN_LANE:
            return False
        lane.append(datagram)
        self._count += 1
        return True

    def take(self) -> Received:
        """The next, of the source whose turn it is."""
        source, lane = self._turns.popleft()
        datagram = lane.popleft()
        if lane:
            self._turns.append((source, lane))
        else:
            del self._by_source[source]
        self._count -= 1
        return datagram

    def clear(self) -> None:
        """Forget all of them."""
        self._by_source.clear()
        self._turns.clear()
        self._count = 0


def _source(place: Place) -> Place | str:
    """Whose lane it is: ports are free to choose. On loopback they tell programs apart."""
    host: str = place[0]
    if host.startswith("127.") or host == "::1":
        return place
    return _owner(host) if ":" in host else host


_owner = lru_cache(REMEMBERED)(owner_of)
