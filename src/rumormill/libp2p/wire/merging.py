"""How control that waits for a peer merges: it is kept as what the peer should learn.

Not as a list of packets: a word that was overtaken before it left is never sent, and an id is told
once. So what waits cannot grow beyond the topics and ids that there are, and is bounded all the
same, because some of them are the peer's choice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, Self

from rumormill.libp2p.wire.control import ControlKind, MergeRule, Piece, Waiting

ID_COST = 32
"""What an id costs beside its own bytes."""

ID_HEAD = 4
"""Bytes of tag and length before an id on the wire."""


class AboutTopic(Protocol):
    """An entry that is one word about one topic."""

    @property
    def topic(self) -> str:
        """Which topic."""
        ...


class WithIds(Protocol):
    """A named tuple that carries ids."""

    @property
    def message_ids(self) -> tuple[bytes, ...]:
        """The ids."""
        ...

    def _replace(self, **changed: Any) -> Self: ...


def newest_of_topic() -> MergeRule:
    """The newest word on a topic replaces the older, of whichever kind with this very rule."""
    return lambda: _Newest()


def each_id_once(most_bytes: int) -> MergeRule:
    """Ids gather in one entry for all that are alike in everything else; long ones are cut."""
    return lambda: _Ids(most_bytes)


def _only_newest() -> Waiting:
    return _Only()


IN_FIRST_RPC: MergeRule = _only_newest
"""Of kinds with this rule the last entry waits, and leaves in the first RPC that leaves: what has
to be said before all else on a stream."""


class _Only:
    """The last entry that was added."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[Piece] = []

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, kind: ControlKind[Any], entry: Any) -> int:
        self._pieces = [Piece(kind.piece(entry))]
        return 0

    def pieces(self, most_bytes: int, most_ids: int) -> list[Piece]:
        return self._pieces


class _Newest:
    """The last entry of each topic."""

    __slots__ = ("_counts", "_entries")

    def __init__(self) -> None:
        self._entries: dict[str, tuple[ControlKind[Any], AboutTopic]] = {}
        self._counts: dict[int, int] = {}
        """How many there are of each kind that is bounded."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, kind: ControlKind[Any], entry: AboutTopic) -> int:
        before, _ = self._entries.pop(entry.topic, (None, None))
        if before is not None and before.most_waiting is not None:
            self._counts[before.number] -= 1
        if kind.most_waiting is not None:
            count = self._counts.get(kind.number, 0)
            if count >= kind.most_waiting:
                return 1
            self._counts[kind.number] = count + 1
        self._entries[entry.topic] = (kind, entry)
        return 0

    def pieces(self, most_bytes: int, most_ids: int) -> list[Piece]:
        return [Piece(kind.piece(entry)) for kind, entry in self._entries.values()]


class _Ids:
    """Ids by the entry that they belong to, which is kept without any."""

    __slots__ = ("_bytes", "_ids", "_most_bytes")

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._ids: dict[WithIds, tuple[ControlKind[Any], dict[bytes, None]]] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, kind: ControlKind[Any], entry: WithIds) -> int:
        bare = entry._replace(message_ids=())
        _, waiting = self._ids.get(bare) or (kind, {})
        lost = self._add_ids(waiting, entry.message_ids)
        if waiting:
            self._ids[bare] = (kind, waiting)
        return lost

    def _add_ids(self, waiting: dict[bytes, None], message_ids: tuple[bytes, ...]) -> int:
        lost = 0
        for message_id in message_ids:
            if message_id in waiting:
                continue
            cost = len(message_id) + ID_COST
            if self._bytes + cost > self._most_bytes:
                lost += 1
            else:
                waiting[message_id] = None
                self._bytes += cost
        return lost

    def pieces(self, most_bytes: int, most_ids: int) -> list[Piece]:
        pieces: list[Piece] = []
        for bare, (kind, ids) in self._ids.items():
            most = min(most_ids, kind.most_ids or most_ids)
            # Where peers read fewer of a kind, each of its ids takes more of what an RPC may hold.
            weight = -(-most_ids // most)
            pieces += [
                Piece(kind.piece(bare._replace(message_ids=group)), len(group) * weight)
                for group in _groups(ids, most_bytes, most)
            ]
        return pieces


def _groups(ids: Iterable[bytes], most_bytes: int, most_ids: int) -> list[tuple[bytes, ...]]:
    """Ids in groups of about ``most_bytes`` on the wire, none of more than ``most_ids``."""
    groups: list[tuple[bytes, ...]] = []
    current: list[bytes] = []
    size = 0
    for message_id in ids:
        if current and (size + len(message_id) > most_bytes or len(current) >= most_ids):
            groups.append(tuple(current))
            current, size = [], 0
        current.append(message_id)
        size += len(message_id) + ID_HEAD
    if current:
        groups.append(tuple(current))
    return groups
