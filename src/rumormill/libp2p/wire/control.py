"""Control: what peers say about messages instead of sending them, in kinds that can be added.

A kind is one :class:`ControlKind`: its number on the wire, how an entry is read and written, and
how entries that wait for a peer merge. Whoever speaks a kind registers it
(:meth:`~rumormill.libp2p.pubsub.router.PubsubServices.on_control`); decoder, encoder, queue and
outbox know none by name. :mod:`~rumormill.libp2p.wire.gossip` has those of gossipsub 1.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, MOST_FIELDS, bytes_field, fields, raw_field
from rumormill.libp2p.wire.limits import RpcLimits

Entry: TypeAlias = tuple[Any, ...]
"""One control message, a named tuple; its type says of which kind it is."""

EntryType = TypeVar("EntryType", bound=Entry)

UNKNOWN_FIELDS = 1024
"""Fields of no kind that the control of one RPC may have, beside those that its limits allow."""


class Budget:
    """How many entries and ids may still come in this RPC; a kind's reader spends the ids."""

    __slots__ = ("_entries", "_ids", "limits")

    def __init__(self, limits: RpcLimits) -> None:
        self.limits = limits
        self._ids = limits.message_ids
        self._entries = limits.control_messages

    @property
    def ids(self) -> int:
        """How many ids came."""
        return self.limits.message_ids - self._ids

    @property
    def entries(self) -> int:
        """How many entries came."""
        return self.limits.control_messages - self._entries

    def spend_id(self) -> None:
        """One more id; raises :class:`RemoteProtocolError` if that is one too many."""
        self._ids -= 1
        if self._ids < 0:
            raise RemoteProtocolError(
                "too_many_message_ids", f"more than {self.limits.message_ids} in one RPC"
            )

    def spend_entry(self) -> None:
        """One more entry; raises :class:`RemoteProtocolError` if that is one too many."""
        self._entries -= 1
        if self._entries < 0:
            raise RemoteProtocolError(
                "too_many_control_messages", f"more than {self.limits.control_messages} in one RPC"
            )


class Piece(NamedTuple):
    """An entry as it goes on the wire, and what it takes of the reader's limits."""

    raw: bytes
    ids: int = 0


class Waiting(Protocol):
    """Entries of the kinds of one merge rule that wait for one peer."""

    def __len__(self) -> int:
        """How many."""
        ...

    def add(self, kind: ControlKind[Any], entry: Any) -> int:
        """Let an entry wait; returns how much of it (ids, or 1) found no room."""
        ...

    def pieces(self, most_bytes: int, most_ids: int) -> list[Piece]:
        """All that waits, ready to be sent, no piece above these limits where it can be cut."""
        ...


MergeRule: TypeAlias = Callable[[], Waiting]
"""Makes the place where entries wait; kinds with the very same rule share it, peer by peer."""


class ControlKind(NamedTuple, Generic[EntryType]):
    """One kind of control message."""

    name: str
    """For counters and traces, such as ``graft``."""
    number: int
    """Its field in the control message."""
    entry: type[EntryType]
    """The named tuple that an entry is."""
    decode: Callable[[bytes, Budget], EntryType]
    """Reads the inside of an entry; raises :class:`RemoteProtocolError` for what is malformed."""
    encode: Callable[[EntryType], bytes]
    """Writes the inside of an entry."""
    merge: MergeRule
    """What becomes of entries that wait: see :mod:`~rumormill.libp2p.wire.merging`."""
    most_waiting: int | None = None
    """Topics with such an entry that may wait for one peer; None where they are no more than we
    have."""
    urgent: bool = False
    """Whether it leaves before what is not."""
    most_ids: int | None = None
    """Ids of this kind that one RPC may carry, where peers read fewer of them than of others."""

    def piece(self, entry: EntryType) -> bytes:
        """The entry as a field of the control message."""
        return bytes_field(self.number, self.encode(entry))


class Control(NamedTuple):
    """The control part of an RPC, entry by entry as it came; ``other`` is what no kind claimed."""

    entries: tuple[Entry, ...] = ()
    other: bytes = b""

    def of(self, kind: type[EntryType]) -> tuple[EntryType, ...]:
        """The entries of one kind."""
        return tuple([each for each in self.entries if type(each) is kind])


class ControlKinds:
    """The kinds that a node speaks."""

    __slots__ = ("_by_entry", "_by_number")

    def __init__(self, *kinds: ControlKind[Any]) -> None:
        self._by_number: dict[int, ControlKind[Any]] = {}
        self._by_entry: dict[type, ControlKind[Any]] = {}
        for kind in kinds:
            self.add(kind)

    def __iter__(self) -> Iterator[ControlKind[Any]]:
        return iter(self._by_number.values())

    def add(self, kind: ControlKind[Any]) -> None:
        """Speak one more; its field and its type of entry must not be another's."""
        if kind.number in self._by_number or kind.entry in self._by_entry:
            raise LocalProtocolError(f"control field {kind.number} ({kind.name}) is taken")
        self._by_number[kind.number] = self._by_entry[kind.entry] = kind

    def of(self, entry: EntryType) -> ControlKind[EntryType]:
        """The kind of an entry."""
        kind = self._by_entry.get(type(entry))
        if kind is None:
            raise LocalProtocolError(f"no kind of control is registered for {entry!r}")
        return kind

    def decode(self, raw: bytes, budget: Budget) -> Control:
        """Read the inside of the field ``control``."""
        limits = budget.limits
        entries: list[Entry] = []
        other: list[bytes] = []
        most = limits.control_messages + UNKNOWN_FIELDS
        for number, wire_type, start, end in fields(raw, 0, len(raw), max(most, MOST_FIELDS)):
            kind = self._by_number.get(number) if wire_type == LENGTH_DELIMITED else None
            if kind is None:
                other.append(raw_field(raw, number, wire_type, start, end))
            else:
                budget.spend_entry()
                entries.append(kind.decode(raw[start:end], budget))
        return Control(tuple(entries), b"".join(other))


def decode_ids(
    raw: bytes, topic_field: int, ids_field: int, budget: Budget
) -> tuple[bytes, tuple[bytes, ...], bytes]:
    """An entry made of a topic, ids, or both, and unknown fields; 0 is the number of no field."""
    topic = b""
    ids: list[bytes] = []
    other: list[bytes] = []
    most = max(budget.limits.message_ids + UNKNOWN_FIELDS, MOST_FIELDS)
    for number, wire_type, start, end in fields(raw, 0, len(raw), most):
        if wire_type != LENGTH_DELIMITED:
            other.append(raw_field(raw, number, wire_type, start, end))
        elif number == ids_field:
            budget.spend_id()
            ids.append(raw[start:end])
        elif number == topic_field:
            topic = raw[start:end]
        else:
            other.append(raw_field(raw, number, wire_type, start, end))
    return topic, tuple(ids), b"".join(other)
