"""Who listens to what: our own topics, and those of our peers as far as they told us.

A set that becomes empty is removed at once: peers that come and go, or that name a thousand topics
and take them back, leave nothing behind.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from rumormill.core.errors import ConfigError
from rumormill.core.machine import Peer

SubscriptionFilter: TypeAlias = Callable[[str], bool]
"""Whether we keep record of peers that listen to this topic, and may join it ourselves."""


def allow_all(topic: str) -> bool:
    """The filter that lets every topic pass."""
    return True


def allow_list(topics: Iterable[str]) -> SubscriptionFilter:
    """Only these topics.

    >>> allow_list(["weather"])("news")
    False
    """
    allowed = frozenset(topics)
    return allowed.__contains__


def allow_pattern(pattern: str) -> SubscriptionFilter:
    """Only topics that the regular expression matches from beginning to end.

    >>> allow_pattern("weather/.*")("weather/north")
    True
    """
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ConfigError(
            "allowed_topic_pattern", f"{pattern!r} is no regular expression: {error}"
        ) from None
    return lambda topic: compiled.fullmatch(topic) is not None


class SubscriptionTable:
    """Topics of each peer and peers of each topic, in the order in which they came.

    Ordered dicts stand in for sets: the order of a set of texts differs from run to run, and a
    simulation must not.
    """

    __slots__ = ("_by_peer", "_by_topic", "_most")

    def __init__(self, most_per_peer: int) -> None:
        self._most = most_per_peer
        self._by_topic: dict[str, dict[Peer, None]] = {}
        self._by_peer: dict[Peer, dict[str, None]] = {}

    def peers(self, topic: str) -> dict[Peer, None]:
        """Who listens to the topic; an empty dict if nobody does. Not to be changed."""
        return self._by_topic.get(topic, _NOBODY)

    def topics(self, peer: Peer) -> tuple[str, ...]:
        """What the peer listens to."""
        return tuple(self._by_peer.get(peer, ()))

    def add(self, peer: Peer, topic: str) -> bool | None:
        """Note that ``peer`` listens; False if we knew, None if it already names too many."""
        topics = self._by_peer.setdefault(peer, {})
        if topic in topics:
            return False
        if len(topics) >= self._most:
            return None
        topics[topic] = None
        self._by_topic.setdefault(topic, {})[peer] = None
        return True

    def remove(self, peer: Peer, topic: str) -> bool:
        """Note that ``peer`` no longer listens; False if it never did."""
        topics = self._by_peer.get(peer)
        if topics is None or topic not in topics:
            return False
        del topics[topic]
        if not topics:
            del self._by_peer[peer]
        self._forget(peer, topic)
        return True

    def remove_peer(self, peer: Peer) -> tuple[str, ...]:
        """Forget the peer; returns what it listened to."""
        topics = tuple(self._by_peer.pop(peer, ()))
        for topic in topics:
            self._forget(peer, topic)
        return topics

    def _forget(self, peer: Peer, topic: str) -> None:
        peers = self._by_topic[topic]
        del peers[peer]
        if not peers:
            del self._by_topic[topic]

    def __len__(self) -> int:
        """How many pairs of peer and topic are on record."""
        return sum(map(len, self._by_peer.values()))

    def sizes(self) -> dict[str, int]:
        """How many pairs, and how many peers and topics these are of."""
        return {
            "peer_topics": len(self),
            "topics_with_peers": len(self._by_topic),
            "peers_with_topics": len(self._by_peer),
        }


_NOBODY: dict[Peer, None] = {}
