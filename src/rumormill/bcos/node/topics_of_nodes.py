"""Which topics the other nodes have, and so which nodes have a topic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class TopicsOfNodes:
    """Topics by node and nodes by topic; the number of all of them is bounded by who adds them.

    >>> topics = TopicsOfNodes()
    >>> topics.change("node-b", added=["news", "weather"], removed=[])
    >>> topics.holders("news"), topics.of("node-b")
    (['node-b'], ('news', 'weather'))
    """

    __slots__ = ("_by_node", "_holders", "_sorted", "total")

    def __init__(self) -> None:
        self._by_node: dict[str, set[str]] = {}
        self._sorted: dict[str, tuple[str, ...]] = {}
        self._holders: dict[str, dict[str, None]] = {}
        self.total = 0
        """Pairs of a node and a topic."""

    def count(self, node: str) -> int:
        """How many topics a node has."""
        return len(self._by_node.get(node, ()))

    def has(self, node: str, topic: str) -> bool:
        """Whether a node has a topic."""
        return topic in self._by_node.get(node, ())

    def of(self, node: str) -> Sequence[str]:
        """The topics of a node, sorted."""
        names = self._sorted.get(node)
        if names is None:
            names = tuple(sorted(self._by_node.get(node, ())))
            if names:
                self._sorted[node] = names
        return names

    def holders(self, topic: str) -> list[str]:
        """The nodes that have a topic."""
        return list(self._holders.get(topic, ()))

    def differences(self, node: str, topics: Iterable[str]) -> tuple[list[str], list[str]]:
        """What a list adds to the topics of a node, and what it takes away; both sorted."""
        before, after = self._by_node.get(node, set()), set(topics)
        return sorted(after - before), sorted(before - after)

    def change(self, node: str, added: Iterable[str], removed: Iterable[str]) -> None:
        """A node has other topics now; names that are there already, or are not, are harmless."""
        names = self._by_node.setdefault(node, set())
        before = len(names)
        for topic in removed:
            if topic in names:
                names.discard(topic)
                self._remove_holder(topic, node)
        for topic in added:
            if topic not in names:
                names.add(topic)
                self._holders.setdefault(topic, {})[node] = None
        self.total += len(names) - before
        self._sorted.pop(node, None)

    def forget(self, node: str) -> None:
        """The node is gone."""
        names = self._by_node.pop(node, set())
        self._sorted.pop(node, None)
        self.total -= len(names)
        for topic in names:
            self._remove_holder(topic, node)

    def _remove_holder(self, topic: str, node: str) -> None:
        holders = self._holders[topic]
        del holders[node]
        if not holders:
            del self._holders[topic]

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "topics_of_nodes": self.total,
            "topics_held": len(self._holders),
            "nodes_with_topics": len(self._by_node),
        }
