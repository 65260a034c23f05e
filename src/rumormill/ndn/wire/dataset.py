"""Status of a forwarder, as NFD tells it: rows of records, in one content or in segments.

``/localhost/nfd/status/general`` is one record; ``faces/list``, ``fib/list``, ``rib/list`` and
``strategy-choice/list`` are lists, each row in an element of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, TypeVar

from rumormill.core.errors import RemoteProtocolError
from rumormill.ndn.wire.name import Name
from rumormill.ndn.wire.records import (
    Layout,
    elements,
    list_field,
    name_field,
    number_field,
    strategy_field,
    text_field,
)
from rumormill.ndn.wire.tlv import skip, tlv

ROW: Final = 0x80
"""The element that each row of a list is in."""

Row = TypeVar("Row")


# ---- status/general


class GeneralStatus(NamedTuple):
    """The forwarder as a whole. Times are milliseconds since 1970."""

    version: str
    start: int
    now: int
    name_tree_entries: int = 0
    fib_entries: int = 0
    pit_entries: int = 0
    measurement_entries: int = 0
    cs_entries: int = 0
    in_interests: int = 0
    in_data: int = 0
    in_nacks: int = 0
    out_interests: int = 0
    out_data: int = 0
    out_nacks: int = 0
    satisfied: int = 0
    unsatisfied: int = 0


_GENERAL: Final = Layout(
    GeneralStatus,
    text_field("version", 0x80),
    number_field("start", 0x81),
    number_field("now", 0x82),
    number_field("name_tree_entries", 0x83),
    number_field("fib_entries", 0x84),
    number_field("pit_entries", 0x85),
    number_field("measurement_entries", 0x86),
    number_field("cs_entries", 0x87),
    number_field("in_interests", 0x90),
    number_field("in_data", 0x91),
    number_field("in_nacks", 0x97),
    number_field("out_interests", 0x92),
    number_field("out_data", 0x93),
    number_field("out_nacks", 0x98),
    number_field("satisfied", 0x99),
    number_field("unsatisfied", 0x9A),
)


def encode_general_status(status: GeneralStatus) -> bytes:
    """The whole content."""
    return _GENERAL.write(status)


def decode_general_status(content: bytes) -> GeneralStatus:
    """Read the whole content."""
    return _GENERAL.read(content)


# ---- faces/list


class FaceScope:
    """Whether the other end of a face is on this machine."""

    NON_LOCAL: Final = 0
    LOCAL: Final = 1


class FacePersistency:
    """How long a face stays."""

    PERSISTENT: Final = 0
    ON_DEMAND: Final = 1
    PERMANENT: Final = 2


class FaceStatus(NamedTuple):
    """One face."""

    face_id: int
    uri: str
    local_uri: str
    expiration: int | None = None
    scope: int = FaceScope.NON_LOCAL
    persistency: int = FacePersistency.PERSISTENT
    link_type: int = 0
    congestion_interval: int | None = None
    congestion_threshold: int | None = None
    mtu: int | None = None
    in_interests: int = 0
    in_data: int = 0
    in_nacks: int = 0
    out_interests: int = 0
    out_data: int = 0
    out_nacks: int = 0
    in_bytes: int = 0
    out_bytes: int = 0
    flags: int = 0


_FACE: Final = Layout(
    FaceStatus,
    number_field("face_id", 0x69),
    text_field("uri", 0x72),
    text_field("local_uri", 0x81),
    number_field("expiration", 0x6D),
    number_field("scope", 0x84),
    number_field("persistency", 0x85),
    number_field("link_type", 0x86),
    number_field("congestion_interval", 0x87),
    number_field("congestion_threshold", 0x88),
    number_field("mtu", 0x89),
    number_field("in_interests", 0x90),
    number_field("in_data", 0x91),
    number_field("in_nacks", 0x97),
    number_field("out_interests", 0x92),
    number_field("out_data", 0x93),
    number_field("out_nacks", 0x98),
    number_field("in_bytes", 0x94),
    number_field("out_bytes", 0x95),
    number_field("flags", 0x6C),
)


def encode_faces(faces: Iterable[FaceStatus]) -> bytes:
    """All rows."""
    return _rows(_FACE, faces)


def decode_faces(content: bytes) -> list[FaceStatus]:
    """Read all rows."""
    return _read_rows(_FACE, content)


# ---- fib/list


class NextHop(NamedTuple):
    """Where a route leads."""

    face_id: int
    cost: int


class FibEntry(NamedTuple):
    """All routes of a prefix."""

    name: Name
    next_hops: tuple[NextHop, ...] = ()


_FIB: Final = Layout(
    FibEntry,
    name_field("name"),
    list_field(
        "next_hops",
        0x81,
        Layout(NextHop, number_field("face_id", 0x69), number_field("cost", 0x6A)),
    ),
)


def encode_fib(entries: Iterable[FibEntry]) -> bytes:
    """All rows."""
    return _rows(_FIB, entries)


def decode_fib(content: bytes) -> list[FibEntry]:
    """Read all rows."""
    return _read_rows(_FIB, content)


# ---- rib/list


class Route(NamedTuple):
    """A route as it was registered."""

    face_id: int
    origin: int
    cost: int
    flags: int
    expiration: int | None = None
    """Milliseconds that are left; None if it does not end by itself."""


class RibEntry(NamedTuple):
    """All routes that were registered for a prefix."""

    name: Name
    routes: tuple[Route, ...] = ()


_RIB: Final = Layout(
    RibEntry,
    name_field("name"),
    list_field(
        "routes",
        0x81,
        Layout(
            Route,
            number_field("face_id", 0x69),
            number_field("origin", 0x6F),
            number_field("cost", 0x6A),
            number_field("flags", 0x6C),
            number_field("expiration", 0x6D),
        ),
    ),
)


def encode_rib(entries: Iterable[RibEntry]) -> bytes:
    """All rows."""
    return _rows(_RIB, entries)


def decode_rib(content: bytes) -> list[RibEntry]:
    """Read all rows."""
    return _read_rows(_RIB, content)


# ---- strategy-choice/list


class StrategyChoice(NamedTuple):
    """The strategy of a prefix."""

    name: Name
    strategy: Name


_CHOICE: Final = Layout(StrategyChoice, name_field("name"), strategy_field())


def encode_strategies(choices: Iterable[StrategyChoice]) -> bytes:
    """All rows."""
    return _rows(_CHOICE, choices)


def decode_strategies(content: bytes) -> list[StrategyChoice]:
    """Read all rows."""
    return _read_rows(_CHOICE, content)


# ---- cs/info


class StoreInfo(NamedTuple):
    """The content store."""

    capacity: int
    flags: int
    entries: int
    hits: int
    misses: int


_STORE: Final = Layout(
    StoreInfo,
    number_field("capacity", 0x83),
    number_field("flags", 0x6C),
    number_field("entries", 0x87),
    number_field("hits", 0x81),
    number_field("misses", 0x82),
)


def encode_store_info(info: StoreInfo) -> bytes:
    """The whole content."""
    return tlv(ROW, _STORE.write(info))


def decode_store_info(content: bytes) -> StoreInfo:
    """Read the whole content."""
    rows = _read_rows(_STORE, content)
    if len(rows) != 1:
        raise RemoteProtocolError("bad_record", f"{len(rows)} stores")
    return rows[0]


# ---- rows


def _rows(layout: Layout[Any], records: Iterable[Any]) -> bytes:
    return b"".join([tlv(ROW, layout.write(record)) for record in records])


def _read_rows(layout: Layout[Row], content: bytes) -> list[Row]:
    rows = []
    for type, value in elements(content):
        if type == ROW:
            rows.append(layout.read(value))
        else:
            skip(type, "a dataset")
    return rows
