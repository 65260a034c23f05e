"""When to look for peers of which topic: only while it lacks some, and ever more seldom."""

from __future__ import annotations

import random
from collections.abc import Iterator

from rumormill.libp2p.discovery.census import Census
from rumormill.libp2p.discovery.parameters import DiscoveryParameters

LOOK_EVERY = 1.0
"""Seconds between two looks at how many peers our topics have."""


MOST_PASSING = 100
"""Topics that we only want to publish on, and look for at a time; one more takes the place of the
oldest."""

MESH_PATIENCE = 2.0
"""Seconds that a mesh may be short of peers, though the topic has enough, before that counts: it
takes a heartbeat or two to form."""

MOST_FOR_MESH = 4
"""Times as many peers as a topic wants, from which on a mesh that is short is no reason to look for
more."""


class _Need:
    """How the search for peers of one topic goes."""

    __slots__ = ("looks", "next_look", "passing_until", "short_since")

    def __init__(self, passing_until: float | None = None) -> None:
        self.passing_until = passing_until
        """Of a topic that we take no part in: until when we want peers of it all the same."""
        self.looks = 0
        """Since the topic had enough."""
        self.next_look = 0.0
        self.short_since: float | None = None
        """Since when its mesh lacks peers, though the topic has enough."""


class Looking:
    """Keeps for each topic when to look next.

    Its owner asks :meth:`due` at :attr:`next_wake` and tells by :meth:`looked` what came of it.
    """

    def __init__(
        self, census: Census, parameters: DiscoveryParameters, random: random.Random
    ) -> None:
        self._census = census
        self._parameters = parameters
        self._random = random
        self._needs: dict[str, _Need] = {}
        self._hurried = False
        self._now = 0.0
        self.next_wake: float | None = None
        """When to ask again; None while there are no topics."""

    def __len__(self) -> int:
        """How many topics there are."""
        return len(self._needs)

    @property
    def topics(self) -> dict[str, _Need]:
        """The topics as they were when they were looked at last."""
        return self._needs

    def changes(self) -> tuple[list[str], list[str]]:
        """The topics that were joined and those that were left since the last time."""
        topics = dict.fromkeys(self._census.topics())
        ours = [topic for topic, need in self._needs.items() if need.passing_until is None]
        joined = [topic for topic in topics if topic not in ours]
        left = [topic for topic in ours if topic not in topics]
        for topic in joined:
            self._needs[topic] = _Need()
        for topic in left:
            del self._needs[topic]
        return joined, left

    def want(self, topics: tuple[str, ...], until: float, now: float) -> None:
        """Look for peers of topics that we may take no part in, for a while."""
        for topic in topics:
            need = self._needs.setdefault(topic, _Need(until))
            if need.passing_until is not None:
                need.passing_until = max(need.passing_until, until)
        passing = self._passing()
        for topic in passing[: max(0, len(passing) - MOST_PASSING)]:
            del self._needs[topic]
        self.soon(now)

    def _passing(self) -> list[str]:
        needs = self._needs.items()
        return [topic for topic, need in needs if need.passing_until is not None]

    def lacking(self, topic: str) -> int:
        """How many peers the topic lacks; 0 if it has enough, or is none of ours."""
        need = self._needs.get(topic)
        if need is None:
            return 0
        wanted, peers = self._census.wanted(topic), self._census.peers(topic)
        if peers < wanted or need.passing_until is not None:
            return max(0, wanted - peers)
        # All of them may have full meshes: then it takes others.
        lasting = need.short_since is not None and self._now - need.short_since >= MESH_PATIENCE
        if lasting and peers < MOST_FOR_MESH * wanted:
            return self._census.lacks_mesh(topic)
        return 0

    def has_plenty(self, topic: str) -> bool:
        """Whether the topic has more than twice as many peers as it wants."""
        if self._census.lacks_mesh(topic):
            return False
        return self._census.peers(topic) > 2 * self._census.wanted(topic)

    def due(self, now: float) -> Iterator[tuple[str, int]]:
        """The topics to look for now, and how many peers each lacks."""
        for topic in self._passing():
            if (self._needs[topic].passing_until or 0.0) <= now:
                del self._needs[topic]
        hurried, self._hurried = self._hurried, False
        self.next_wake = now + LOOK_EVERY if self._needs else None
        self._now = now
        for topic, need in list(self._needs.items()):
            if not self._census.lacks_mesh(topic):
                need.short_since = None
            elif need.short_since is None:
                need.short_since = now
            lacking = self.lacking(topic)
            if not lacking:
                need.looks = 0
                need.next_look = 0.0
            elif hurried or now >= need.next_look:
                yield topic, lacking

    def looked(self, topic: str, began: bool, now: float) -> None:
        """Some way has begun to look; or none could, so that nothing is lost by trying soon."""
        need = self._needs[topic]
        parameters = self._parameters
        delay = parameters.discovery_first_delay
        if began:
            delay *= 2.0 ** min(need.looks, 32)
            need.looks += 1
        delay = min(delay, parameters.discovery_longest_delay)
        need.next_look = now + delay * (1.0 - parameters.discovery_jitter * self._random.random())

    def soon(self, now: float) -> None:
        """Look at the topics at once."""
        self.next_wake = now

    def hurry(self, now: float) -> None:
        """Look for every topic that lacks peers at once, whenever its turn would be."""
        self._hurried = True
        for need in self._needs.values():
            need.looks = 0
        self.soon(now)
