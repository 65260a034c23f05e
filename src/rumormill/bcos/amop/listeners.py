"""Who listens on this node: the subscribers of each topic, and what the other nodes are told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, KeysView

from rumormill.bcos.amop.ports import Board, Subscriber
from rumormill.bcos.wire.verification import NEED_VERIFY, PUSH_CHANNEL
from rumormill.core import trace
from rumormill.core.turn import Turn

PUBLISHERS_OF = PUSH_CHANNEL + NEED_VERIFY


class Listeners:
    """All subscribers of one node; the :class:`~.ports.Subscribers` of AMOP."""

    def __init__(self, turn: Turn, board: Board) -> None:
        self._turn = turn
        self._board = board
        self._by_topic: dict[str, dict[Subscriber, None]] = {}
        self._topics: dict[Subscriber, dict[str, None]] = {}
        self._private: dict[str, None] = {}
        self.on_unpublished: Callable[[str], None] = lambda topic: None
        """Told of each private topic whose last publisher has left."""

    def of(self, topic: str) -> list[Subscriber]:
        """Those who listen to a topic, who came first first."""
        return list(self._by_topic.get(topic, ()))

    def listens(self, subscriber: Subscriber, topic: str) -> bool:
        """Whether one of them does."""
        return subscriber in self._by_topic.get(topic, ())

    @property
    def private(self) -> KeysView[str]:
        """Names of the private topics that have a publisher here."""
        return self._private.keys()

    def set(self, subscriber: Subscriber, topics: Iterable[str]) -> tuple[list[str], int]:
        """A subscriber listens to these topics now: which are new, and how many are gone."""
        wanted = dict.fromkeys(topics)
        current = self._topics.get(subscriber, {})
        gone = [topic for topic in current if topic not in wanted]
        new = [topic for topic in wanted if topic not in current]
        for topic in gone:
            self._leave(subscriber, topic)
            self._turn.trace(trace.PEER_UNSUBSCRIBED, topic, peer=subscriber.peer)
        for topic in new:
            self._join(subscriber, topic)
            self._turn.trace(trace.PEER_SUBSCRIBED, topic, peer=subscriber.peer)
        self._topics[subscriber] = wanted
        self._board.set(subscriber.name, list(wanted))
        return new, len(gone)

    def remove(self, subscriber: Subscriber) -> None:
        """A subscriber is gone."""
        for topic in self._topics.pop(subscriber, ()):
            self._leave(subscriber, topic)
            self._turn.trace(trace.PEER_UNSUBSCRIBED, topic, peer=subscriber.peer)
        self._board.remove(subscriber.name)

    def add(self, subscriber: Subscriber, topic: str) -> None:
        """One topic more, of the application, which names them one by one.

        Each is told by itself, so that the next costs no more after many than after few.
        """
        self._join(subscriber, topic)
        self._board.set((subscriber.name, topic), (topic,))

    def take_away(self, subscriber: Subscriber, topic: str) -> None:
        """One topic less of the application."""
        self._leave(subscriber, topic)
        self._board.remove((subscriber.name, topic))

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of its bounds."""
        return {
            "listeners": len(self._topics),
            "topics": len(self._by_topic),
            "subscriptions": sum(map(len, self._by_topic.values())),
            "private_topics": len(self._private),
        }

    def _join(self, subscriber: Subscriber, topic: str) -> None:
        self._by_topic.setdefault(topic, {})[subscriber] = None
        if topic.startswith(PUBLISHERS_OF):
            self._private[topic.removeprefix(PUSH_CHANNEL)] = None

    def _leave(self, subscriber: Subscriber, topic: str) -> None:
        listeners = self._by_topic[topic]
        del listeners[subscriber]
        if not listeners:
            del self._by_topic[topic]
            if topic.startswith(PUBLISHERS_OF):
                private = topic.removeprefix(PUSH_CHANNEL)
                del self._private[private]
                self.on_unpublished(private)
