"""Of how much use each peer is: what is asked when there is no room for all of them.

=========== =========================================================
usefulness  the peer
=========== =========================================================
3           has brought a message lately that was new and valid, or a copy of
            one while it was being checked
2           is in a mesh of ours: it gets every message from us
1           listens to a topic that we listen to, or publish on
0           is there, and nothing else
=========== =========================================================

Anybody can have 1 for a word, so it protects nobody from others who have it; there is room for few
with 2; and 3 takes messages that our validators accept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping

from rumormill.core.machine import Peer
from rumormill.libp2p.pubsub.part import Part
from rumormill.libp2p.pubsub.peers import PeerState

BROUGHT_MESSAGES, IN_MESH, SHARES_TOPIC, IDLE = 3, 2, 1, 0

MOST_TOPICS = 1000
"""Topics of our own messages that are remembered, the latest."""

LOOK_INTERVAL = 1.0
"""Seconds that what we know of meshes and listeners may be old: this is asked much only while
strangers come in large numbers, and then there is no time to look at all topics for each."""


class Usefulness(Part):
    """Hears who begins to listen, and looks up the rest when it is asked.

    ``peers`` are those that are there, and when each brought its last message; ``listening`` are
    our own topics, ``subscribers`` says who listens to a topic and ``mesh`` who is in its mesh. A
    peer counts as one that brings messages for ``useful_for`` seconds after each.
    """

    def __init__(
        self,
        *,
        useful_for: float,
        peers: Mapping[Peer, PeerState],
        listening: Mapping[str, None],
        subscribers: Callable[[str], Iterable[Peer]],
        mesh: Callable[[str], Iterable[Peer]],
    ) -> None:
        self._useful_for = useful_for
        self._peers = peers
        self._listening = listening
        self._subscribers = subscribers
        self._mesh = mesh
        self._published: OrderedDict[str, None] = OrderedDict()
        """Topics of our own messages that we did not listen to, the latest last."""
        self.last_topics: tuple[str, ...] = ()
        """Of our last message: nothing new, if the next has the same."""
        self._in_mesh: frozenset[Peer] = frozenset()
        self._sharing: frozenset[Peer] = frozenset()
        self._looked_at: float | None = None
        self._came: set[Peer] = set()
        """Who has begun to listen to a topic since we looked: it is looked at again."""

    def of(self, peer: Peer, now: float) -> int:
        """Of how much use the peer is; 0 of one that is not there."""
        state = self._peers.get(peer)
        if state is not None and now - state.brought < self._useful_for:
            return BROUGHT_MESSAGES
        if self._looked_at is None or now - self._looked_at >= LOOK_INTERVAL:
            self._look(now)
        elif peer in self._came:
            return self._of_one(peer)
        if peer in self._in_mesh:
            return IN_MESH
        return SHARES_TOPIC if peer in self._sharing else IDLE

    def _look(self, now: float) -> None:
        topics = self._listening.keys() | self._published.keys()
        self._in_mesh = frozenset().union(*map(self._mesh, self._listening))
        self._sharing = frozenset().union(*map(self._subscribers, topics))
        self._looked_at = now
        self._came.clear()

    def _of_one(self, peer: Peer) -> int:
        if any(peer in self._mesh(topic) for topic in self._listening):
            return IN_MESH
        topics = self._listening.keys() | self._published.keys()
        return SHARES_TOPIC if any(peer in self._subscribers(each) for each in topics) else IDLE

    # ---- what happens

    def publish_on(self, topics: tuple[str, ...]) -> None:
        """What we publish on matters to us."""
        self.last_topics = topics
        for topic in topics:
            if topic not in self._listening:
                self._published[topic] = None
                self._published.move_to_end(topic)
        while len(self._published) > MOST_TOPICS:
            self._published.popitem(last=False)

    def leave(self, topic: str, quietly: bool, now: float) -> None:
        """We may go on to publish on it."""
        self.last_topics = ()

    def peer_subscribed(self, peer: Peer, topic: str, now: float) -> None:
        """A newcomer that does so is one of those who are of use, and at once."""
        self._came.add(peer)

    def remove_peer(self, peer: Peer, now: float) -> None:
        """Forget what the peer has said."""
        self._came.discard(peer)

    def sizes(self) -> dict[str, int]:
        """Of how many topics something is kept."""
        return {"published_topics": len(self._published)}
