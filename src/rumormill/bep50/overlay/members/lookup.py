"""An iterative search on the main DHT: whom to ask next, and who is nearest in the end.

>>> lookup = Lookup(bytes(20), closest=2, width=1, most_queries=10)
>>> lookup.add("10.0.0.1:6881", bytes([9] * 20)); lookup.add("10.0.0.2:6881", bytes([3] * 20))
>>> lookup.to_ask()
['10.0.0.2:6881']
>>> lookup.answered("10.0.0.2:6881", bytes([3] * 20)).token = b"token"
>>> lookup.to_ask(), lookup.failed("10.0.0.1:6881"), lookup.finished
(['10.0.0.1:6881'], None, True)
>>> [found.peer for found in lookup.nearest()]
['10.0.0.2:6881']
"""

from __future__ import annotations

from bisect import bisect_left, insort

from rumormill.bep50.wire.node_ids import is_exempt

UNKNOWN = 1 << 160
"""The distance of a node whose id nobody has told: behind all others."""

MOST_CANDIDATES = 128
"""Nodes that one search keeps in mind; the farthest that were not asked are forgotten."""

MOST_PER_HOST = 2
"""Nodes at one address of the Internet that a search takes: one host must not fill it."""


class Candidate:
    """A node that a search knows of."""

    __slots__ = (
        "asked", "counts", "distance", "gone", "held_seq", "id", "peer", "replied", "token",
    )  # fmt: skip

    def __init__(self, peer: str, distance: int) -> None:
        self.peer = peer
        self.distance = distance
        self.id = b""
        self.asked = False
        self.replied = False
        self.gone = False
        self.counts = True
        """Whether it is one of those searched for; False if it cannot do what it is needed for."""
        self.token = b""
        """What a put to this node must carry; empty if it gave none."""
        self.held_seq: int | None = None
        """The number of the value that the node has, if it has one."""

    @property
    def order(self) -> tuple[int, str]:
        """Nearest first; the address decides between equals, so that two runs are alike."""
        return self.distance, self.peer


class Lookup:
    """One search for the ``closest`` nodes to ``target``, with ``width`` queries on the way."""

    __slots__ = (
        "_by_peer", "_closest", "_hosts", "_most_queries", "_on_the_way", "_order", "_queries",
        "_target", "_width", "replies",
    )  # fmt: skip

    def __init__(self, target: bytes, *, closest: int, width: int, most_queries: int) -> None:
        self._target = int.from_bytes(target, "big")
        self._closest = closest
        self._width = width
        self._most_queries = most_queries
        self._order: list[Candidate] = []
        self._by_peer: dict[str, Candidate] = {}
        self._hosts: dict[str, int] = {}
        self._queries = 0
        self._on_the_way = 0
        self.replies = 0
        """How many nodes answered."""

    def __len__(self) -> int:
        """How many nodes the search knows of."""
        return len(self._by_peer)

    def add(self, peer: str, id: bytes | None = None) -> None:
        """Somebody told of a node; ``id`` is not known of those that the user gave."""
        if peer in self._by_peer or not self._room_for_host(peer):
            return
        candidate = Candidate(peer, UNKNOWN if id is None else self._distance(id))
        if len(self._by_peer) >= MOST_CANDIDATES and not self._make_room(candidate):
            return
        self._by_peer[peer] = candidate
        insort(self._order, candidate, key=_order)

    def to_ask(self) -> list[str]:
        """Whom to ask now; they count as asked."""
        peers = []
        for candidate in self._nearest_alive():
            if self._on_the_way >= self._width or self._queries >= self._most_queries:
                break
            if not candidate.asked:
                candidate.asked = True
                self._on_the_way += 1
                self._queries += 1
                peers.append(candidate.peer)
        return peers

    def answered(self, peer: str, id: bytes) -> Candidate:
        """The node that was asked has answered; returns what to note of it."""
        candidate = self._by_peer[peer]
        self._on_the_way -= 1
        self.replies += 1
        candidate.replied = True
        candidate.id = id
        # It knows its own id best: others may have told an old or a wrong one.
        distance = self._distance(id)
        if distance != candidate.distance:
            del self._order[self._place(candidate)]
            candidate.distance = distance
            insort(self._order, candidate, key=_order)
        return candidate

    def failed(self, peer: str) -> None:
        """The node that was asked gave no answer, or a useless one."""
        self._by_peer[peer].gone = True
        self._on_the_way -= 1

    @property
    def finished(self) -> bool:
        """Whether there is nobody left to ask and nobody to wait for."""
        if self._on_the_way:
            return False
        if self._queries >= self._most_queries:
            return True
        return all(candidate.replied for candidate in self._nearest_alive())

    def nearest(self) -> list[Candidate]:
        """The nodes that answered, nearest first."""
        return [candidate for candidate in self._order if candidate.replied]

    # ---- inside

    def _nearest_alive(self) -> list[Candidate]:
        found = []
        for candidate in self._order:
            if not candidate.gone and candidate.counts:
                found.append(candidate)
                if len(found) == self._closest:
                    break
        return found

    def _distance(self, id: bytes) -> int:
        return int.from_bytes(id, "big") ^ self._target

    def _place(self, candidate: Candidate) -> int:
        return bisect_left(self._order, candidate.order, key=_order)

    def _room_for_host(self, peer: str) -> bool:
        host = peer[: peer.rindex(":")].strip("[]")
        if is_exempt(host):
            return True
        count = self._hosts.get(host, 0)
        if count < MOST_PER_HOST:
            self._hosts[host] = count + 1
        return count < MOST_PER_HOST

    def _make_room(self, newcomer: Candidate) -> bool:
        """Forget the farthest node that was not asked, if the newcomer is nearer."""
        for place in range(len(self._order) - 1, -1, -1):
            farthest = self._order[place]
            if farthest.order <= newcomer.order:
                return False
            if not farthest.asked:
                del self._order[place]
                del self._by_peer[farthest.peer]
                return True
        return False


def _order(candidate: Candidate) -> tuple[int, str]:
    return candidate.order
