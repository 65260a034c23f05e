"""The topics of this node, as other nodes are told: who listens to what, and what has changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import NamedTuple

from rumormill.bcos.wire.topic_state import can_travel

MOST_CHANGES = 1024
"""Steps of the seq that are remembered."""

MOST_NAMES = 16_384
"""Names in all of them: beyond that, the whole list is no longer to tell than its changes."""


class Change(NamedTuple):
    """What one step of the seq brought."""

    added: tuple[str, ...]
    removed: tuple[str, ...]


class TopicBoard:
    """Our own topics, by owner, and the seq that tells others that they may have changed.

    >>> board = TopicBoard()
    >>> board.set("sdk-1", ["b", "a"]); board.set("sdk-2", ["b", "c"]); board.remove("sdk-1")
    >>> board.seq, list(board.topics), board.holds("a"), board.changes_since(1)
    (3, ['b', 'c'], False, Change(added=('c',), removed=('a',)))
    """

    __slots__ = ("_counts", "_listeners", "_log", "_log_names", "_owners", "_sorted", "seq")

    def __init__(self) -> None:
        self.seq = 0
        """Moves by one with everything that owners say, also when nothing comes of it."""
        self._owners: dict[Hashable, frozenset[str]] = {}
        self._counts: dict[str, int] = {}
        self._sorted: tuple[str, ...] | None = ()
        self._log: deque[Change] = deque()
        self._log_names = 0
        self._listeners: list[Callable[[], None]] = []

    def __len__(self) -> int:
        """How many topics there are."""
        return len(self._counts)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever the seq has moved."""
        self._listeners.append(listener)

    # ---- what owners say

    def set(self, owner: Hashable, topics: Collection[str]) -> None:
        """These are the owner's topics from now on. Names that cannot travel are left out."""
        before = self._owners.get(owner, frozenset())
        after = frozenset(filter(can_travel, topics))
        self._owners[owner] = after
        self._step(before, after)

    def remove(self, owner: Hashable) -> None:
        """The owner is gone; harmless if it was not there."""
        before = self._owners.pop(owner, None)
        if before is not None:
            self._step(before, frozenset())

    def _step(self, before: frozenset[str], after: frozenset[str]) -> None:
        added = tuple(sorted(name for name in after - before if self._count(name, 1) == 1))
        removed = tuple(sorted(name for name in before - after if self._count(name, -1) == 0))
        if added or removed:
            self._sorted = None
        self.seq += 1
        self._remember(Change(added, removed))
        for listener in self._listeners:
            listener()

    def _count(self, name: str, by: int) -> int:
        count = self._counts.get(name, 0) + by
        if count:
            self._counts[name] = count
        else:
            del self._counts[name]
        return count

    def _remember(self, change: Change) -> None:
        self._log.append(change)
        self._log_names += len(change.added) + len(change.removed)
        while len(self._log) > MOST_CHANGES or self._log_names > MOST_NAMES:
            oldest = self._log.popleft()
            self._log_names -= len(oldest.added) + len(oldest.removed)

    # ---- what others are told

    @property
    def topics(self) -> Sequence[str]:
        """All topics of all owners, sorted."""
        if self._sorted is None:
            self._sorted = tuple(sorted(self._counts))
        return self._sorted

    def holds(self, topic: str) -> bool:
        """Whether some owner has the topic."""
        return topic in self._counts

    def changes_since(self, seq: int) -> Change | None:
        """What is different from what it was at ``seq``; None if that is not known any more."""
        steps = self.seq - seq
        if not 0 <= steps <= len(self._log):
            return None
        first: dict[str, bool] = {}
        last: dict[str, bool] = {}
        for index in range(len(self._log) - steps, len(self._log)):
            change = self._log[index]
            for names, there in ((change.removed, False), (change.added, True)):
                for name in names:
                    first.setdefault(name, there)
                    last[name] = there
        # A name whose first and last step are opposite is as it was.
        return Change(_ending(first, last, True), _ending(first, last, False))

    def sizes(self) -> dict[str, int]:
        """How much is kept, for tests of memory."""
        return {
            "board_owners": len(self._owners),
            "board_topics": len(self._counts),
            "board_changes": len(self._log),
            "board_names": self._log_names,
        }


def _ending(first: dict[str, bool], last: dict[str, bool], there: bool) -> tuple[str, ...]:
    names: Iterable[str] = (name for name in last if first[name] is last[name] is there)
    return tuple(sorted(names))
