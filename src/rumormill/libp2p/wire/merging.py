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
    reader = _Reader()
    return lambda: _Ids(most_bytes, reader)


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


class _Told:
    """The ids of one entry, told to one peer or, as they are, to many: then written once."""

    __slots__ = ("_limits", "_pieces", "bare", "cost", "ids", "kind", "shared")

    def __init__(
        self, kind: ControlKind[Any], bare: WithIds, ids: dict[bytes, None], shared: bool
    ) -> None:
        self.kind = kind
        self.bare = bare
        """The entry without its ids: those with an equal one gather."""
        self.ids = ids
        self.shared = shared
        """Whether others are told the same, so that it must not be changed."""
        self.cost = sum(map(len, ids)) + ID_COST * len(ids) if shared else 0
        self._limits: tuple[int, int] | None = None
        self._pieces: list[Piece] = []

    def own(self) -> _Told:
        """For one peer alone, which is told more than others."""
        return _Told(self.kind, self.bare, dict(self.ids), False) if self.shared else self

    def pieces(self, most_bytes: int, most_ids: int) -> list[Piece]:
        """Ready to be sent. Not to be changed."""
        limits = most_bytes, most_ids
        if not self.shared or self._limits != limits:
            self._pieces, self._limits = self._written(most_bytes, most_ids), limits
        return self._pieces

    def _written(self, most_bytes: int, most_ids: int) -> list[Piece]:
        kind, bare = self.kind, self.bare
        most = min(most_ids, kind.most_ids or most_ids)
        # Where peers read fewer of a kind, each of its ids takes more of what an RPC may hold.
        weight = -(-most_ids // most)
        return [
            Piece(kind.piece(bare._replace(message_ids=group)), len(group) * weight)
            for group in _groups(self.ids, most_bytes, most)
        ]


class _Reader:
    """Reads entries, and the very same entry only once: many peers are told it in a row."""

    __slots__ = ("last",)

    def __init__(self) -> None:
        self.last: tuple[WithIds, _Told] | None = None
        """The entry that was read last, and what was read."""

    def read(self, kind: ControlKind[Any], entry: WithIds) -> _Told:
        bare, ids = entry._replace(message_ids=()), dict.fromkeys(entry.message_ids)
        told = _Told(kind, bare, ids, True)
        self.last = entry, told
        return told


class _Ids:
    """Ids by the entry that they belong to."""

    __slots__ = ("_bytes", "_most_bytes", "_reader", "_told")

    def __init__(self, most_bytes: int, reader: _Reader) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._reader = reader
        self._told: dict[WithIds, _Told] = {}

    def __len__(self) -> int:
        return len(self._told)

    def add(self, kind: ControlKind[Any], entry: WithIds) -> int:
        last = self._reader.last
        # The question that `read` begins with, asked here: there may be thousands in a row.
        told = last[1] if last is not None and last[0] is entry else self._reader.read(kind, entry)
        waiting = self._told.get(told.bare)
        size = self._bytes + told.cost
        if waiting is not None or size > self._most_bytes:
            own = _Told(kind, told.bare, {}, False) if waiting is None else waiting.own()
            return self._merge(own, entry.message_ids)
        if told.ids:
            self._told[told.bare] = told
            self._bytes = size
        return 0

    def _merge(self, own: _Told, message_ids: tuple[bytes, ...]) -> int:
        lost = 0
        for message_id in message_ids:
            if message_id in own.ids:
                continue
            cost = len(message_id) + ID_COST
            if self._bytes + cost > self._most_bytes:
                lost += 1
            else:
                own.ids[message_id] = None
                self._bytes += cost
        if own.ids:
            self._told[own.bare] = own
        return lost

    def pieces(self, most_bytes: int, most_ids: int) -> list[Piece]:
        pieces: list[Piece] = []
        for told in self._told.values():
            pieces += told.pieces(most_bytes, most_ids)
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
