"""A lookup: ask peers who is closer to a place, and go on with these, until nobody is closer.

What peers name is hearsay. A liar names peers that do not exist, ever closer ones and without an
end: so only so many are asked in all, only so many wait, and who named several that could not be
reached is not believed any more.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from rumormill.core.machine import Peer

MOST_ASKED = 100
"""Peers that one lookup asks. In a network of a million about 40 are asked."""

MOST_WAITING = 256
"""Peers that one lookup keeps in mind; past it the farthest are forgotten."""

MOST_NAMED = 20
"""Peers that are taken of one answer: the closest ones."""

MOST_LIES = 6
"""Peers that somebody may have named that could not be reached, before the rest of what it named is
forgotten, if these are more than half of those that were tried."""


class Candidate(NamedTuple):
    """A peer that may be asked."""

    peer: Peer
    place: int
    addresses: tuple[str, ...]
    named_by: Peer = ""
    """Who told us of it; empty if we knew it."""


class Lookup:
    """One approach to a place, as its owner goes on with it: :meth:`next`, :meth:`answered`,
    :meth:`failed`, until it is :attr:`over`.
    """

    def __init__(
        self,
        place: int,
        seeds: Iterable[Candidate],
        *,
        own: Peer,
        concurrency: int,
        resilience: int,
    ) -> None:
        self.place = place
        self.over = False
        self.asked = 0
        self.failures = 0
        self._own = own
        self._concurrency = concurrency
        self._resilience = resilience
        self._waiting: dict[Peer, Candidate] = {}
        self._asking: dict[Peer, Candidate] = {}
        self._answered: dict[Peer, Candidate] = {}
        self._failed: set[Peer] = set()
        self._tried: Counter[Peer] = Counter()
        self._lies: Counter[Peer] = Counter()
        self._add(seeds)

    # ---- whom to ask

    def next(self) -> list[Candidate]:
        """Whom to ask now; afterwards the lookup may be :attr:`over`."""
        chosen: list[Candidate] = []
        while len(self._asking) < self._concurrency and self.asked < MOST_ASKED:
            candidate = self._closest_waiting()
            if candidate is None or not self._worth_asking(candidate):
                break
            del self._waiting[candidate.peer]
            self._asking[candidate.peer] = candidate
            self.asked += 1
            chosen.append(candidate)
        if not self._asking:
            self.over = True
        return chosen

    def _closest_waiting(self) -> Candidate | None:
        place = self.place
        return min(self._waiting.values(), key=lambda each: each.place ^ place, default=None)

    def _worth_asking(self, candidate: Candidate) -> bool:
        """Whether too few peers that are closer have answered, or may do so yet.

        While a close one is slow to answer, as one that must be dialed first, it is not for those
        that are near at hand, and far from the place, to be asked all in the meantime.
        """
        place = self.place
        distance = candidate.place ^ place
        answered = sum(each.place ^ place < distance for each in self._answered.values())
        asking = sum(each.place ^ place < distance for each in self._asking.values())
        if not asking:
            return answered < self._resilience
        return answered + asking < self._resilience + self._concurrency

    # ---- what comes of it

    def answered(self, peer: Peer, named: Iterable[Candidate]) -> bool:
        """A peer that was asked has named others; False if it was not asked."""
        candidate = self._asking.pop(peer, None)
        if candidate is None:
            return False
        self._tried[candidate.named_by] += 1
        self._answered[peer] = candidate
        place = self.place
        self._add(heapq.nsmallest(MOST_NAMED, named, key=lambda each: each.place ^ place))
        return True

    def failed(self, peer: Peer) -> bool:
        """A peer that was asked did not answer; False if it was not asked."""
        candidate = self._asking.pop(peer, None)
        if candidate is None:
            return False
        self.failures += 1
        self._failed.add(peer)
        source = candidate.named_by
        self._tried[source] += 1
        if source:
            self._lies[source] += 1
            if self._is_liar(source):
                for each in [each for each in self._waiting.values() if each.named_by == source]:
                    del self._waiting[each.peer]
        return True

    def _is_liar(self, peer: Peer) -> bool:
        lies = self._lies[peer]
        return lies >= MOST_LIES and lies * 2 > self._tried[peer]

    def _add(self, candidates: Iterable[Candidate]) -> None:
        for each in candidates:
            peer = each.peer
            if peer == self._own or peer in self._failed or self._is_liar(each.named_by):
                continue
            if peer in self._answered or peer in self._asking or peer in self._waiting:
                continue
            self._waiting[peer] = each
        if len(self._waiting) > MOST_WAITING:
            place = self.place
            kept = heapq.nsmallest(
                MOST_WAITING, self._waiting.values(), key=lambda each: each.place ^ place
            )
            self._waiting = {each.peer: each for each in kept}

    # ---- the result

    def closest(self, count: int) -> list[Candidate]:
        """The closest peers that are known now, whether they were asked or would have been next."""
        place = self.place
        known = [*self._answered.values(), *self._waiting.values()]
        return heapq.nsmallest(count, known, key=lambda each: each.place ^ place)
