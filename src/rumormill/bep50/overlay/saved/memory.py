"""What a node remembers of an earlier run, until the topic that it is about is joined again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rumormill.bep50.overlay.members.joining import Joining
from rumormill.bep50.overlay.saved import saved_state
from rumormill.bep50.overlay.saved.saved_state import SavedTopic
from rumormill.bep50.overlay.topic_node import TopicNode
from rumormill.bep50.overlay.values.item_checks import ItemChecks
from rumormill.bep50.wire.addresses import NodeInfo
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError


class Memory:
    """Saved topics; nodes have to answer, and items to pass their check, before they count."""

    __slots__ = ("_checks", "_id", "_joining", "_most", "_saved")

    def __init__(self, own_id: bytes, joining: Joining, checks: ItemChecks, most: int) -> None:
        self._id = own_id
        self._joining = joining
        self._checks = checks
        self._most = most
        self._saved: dict[bytes, SavedTopic] = {}

    def __len__(self) -> int:
        return len(self._saved)

    def dump(self, topics: Iterable[TopicNode]) -> bytes:
        """What to remember in the next run."""
        return saved_state.dump(self._id, topics, self._saved)

    def load(self, state: bytes, topics: Mapping[bytes, TopicNode], now: float) -> None:
        """Take what an earlier run dumped, for topics that are joined now or later."""
        try:
            saved = saved_state.load(state)
        except RemoteProtocolError as error:
            raise LocalProtocolError(f"the saved state cannot be used: {error}") from None
        for target, topic in saved.topics.items():
            joined = topics.get(target)
            if joined is not None:
                self._resume(joined, topic, now)
            elif len(self._saved) < self._most:
                self._saved[target] = topic

    def joined(self, topic: TopicNode, now: float) -> None:
        """A topic was joined: go on with what is remembered of it."""
        saved = self._saved.pop(topic.target, None)
        if saved is not None:
            self._resume(topic, saved, now)

    def _resume(self, topic: TopicNode, saved: SavedTopic, now: float) -> None:
        by_family: dict[bool, list[NodeInfo]] = {}
        for node in saved.nodes:
            by_family.setdefault(node.peer[0] == "[", []).append(node)
        for family in by_family.values():
            overlay = topic.overlay(family[0].peer)
            self._joining.begin(overlay)
            overlay.table.load(family)
            overlay.table_changed(now)
        item = saved.item
        if item is not None and item.target == topic.target and item.seq > topic.seq:
            self._checks.offered(topic, item, restored=True)
