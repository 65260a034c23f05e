"""Whether two tables are the same, and where they differ if not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from tests.helpers.second_opinion.oracle import Row

KEYS: Mapping[str, tuple[str, ...]] = {
    "counters": ("minute", "network", "node", "peer", "event"),
    "reasons": ("minute", "network", "node", "peer", "topic", "event", "reason"),
    "scored": ("network", "node", "peer", "time", "score"),
    "runs": ("network", "node", "since"),
    "sightings": ("network", "witness", "node"),
    "subscriptions": ("network", "topic", "node", "since"),
    "mesh": ("network", "topic", "node", "peer", "since"),
    "publications": ("minute", "network", "topic", "message_id", "time"),
    "deliveries": ("minute", "network", "topic", "message_id", "published_at", "node"),
    "ways": ("minute", "network", "node", "peer"),
    "latencies": ("minute", "network", "topic", "promise", "hop", "bin"),
    "topics": ("minute", "network", "topic", "promise"),
    "links": ("minute", "network", "node", "peer"),
    "peers": ("minute", "network", "node"),
    "publishers": ("minute", "network", "topic", "publisher"),
    "mesh_minutes": ("minute", "network", "topic"),
    "events": ("minute", "network", "event"),
    "causes": ("minute", "network", "topic", "event", "reason"),
    "scores": ("minute", "network", "node", "peer"),
    "lifetimes": ("minute", "network", "topic", "kind", "bin"),
    "slowest": ("minute", "network", "topic"),
    "values": ("network", "topic", "node"),
    "clocks": ("network", "node"),
    "alerts": ("minute", "network", "topic", "kind", "node", "detail"),
    "problems": ("network", "topic", "kind"),
    "nodes": ("network", "node"),
}
"""What a row is about, by table: no two rows are about the same."""

MAY_BE_EMPTY = frozenset(
    {"latencies", "topics", "links", "peers", "publishers", "events", "causes", "lifetimes"}
)
"""Tables in which a row that counts nothing may be there or not."""

SAID_ONCE = frozenset({"detail"})
"""Words for people that nobody says a second time; those of alerts are, since one peer may be told
of twice in a minute."""

SHOWN = 8
TOLERANCE = 1e-6


def assert_same(
    found: Iterable[Row],
    wanted: Iterable[Row],
    keys: Sequence[str],
    tolerance: float = TOLERANCE,
    name: str = "table",
    may_be_empty: bool = False,
) -> None:
    """Fails with the first few rows that differ. ``tolerance`` is a share of floats."""
    differences = list(_differences(found, wanted, keys, tolerance, may_be_empty))
    shown = "\n".join(differences[:SHOWN])
    assert not differences, f"{name}: {len(differences)} differences\n{shown}"


def assert_same_tables(
    found: Mapping[str, Iterable[Row]],
    wanted: Mapping[str, Iterable[Row]],
    names: Iterable[str] = KEYS,
) -> None:
    """All tables, and all that differ are told at once."""
    wrong = []
    for name in names:
        try:
            assert_same(
                found[name], wanted[name], KEYS[name], name=name, may_be_empty=name in MAY_BE_EMPTY
            )
        except AssertionError as failure:
            wrong.append(str(failure))
    assert not wrong, "\n\n".join(wrong)


def _differences(
    found: Iterable[Row],
    wanted: Iterable[Row],
    keys: Sequence[str],
    tolerance: float,
    may_be_empty: bool,
) -> Iterable[str]:
    ours, theirs = (_by_key(rows, keys, may_be_empty) for rows in (found, wanted))
    for side, table in (("found", ours), ("wanted", theirs)):
        counted = Counter(key for key, _ in table)
        yield from (
            f"  {side} {count} times: {_shown(keys, key)}"
            for key, count in counted.items()
            if count > 1
        )
    mine, yours = dict(ours), dict(theirs)
    for key in sorted(mine.keys() | yours.keys(), key=_order):
        if key not in yours:
            yield f"  too much: {_shown(keys, key)} {_filled(mine[key])}"
        elif key not in mine:
            yield f"  lacking: {_shown(keys, key)} {_filled(yours[key])}"
        else:
            yield from _columns(keys, key, mine[key], yours[key], tolerance)


def _columns(
    keys: Sequence[str], key: tuple[Any, ...], mine: Row, yours: Row, tolerance: float
) -> Iterable[str]:
    wrong = [
        f"{column} is {mine.get(column, '(no such column)')!s}, not {yours.get(column)!s}"
        for column in sorted(mine.keys() | yours.keys())
        if column not in SAID_ONCE
        and (
            (column in mine) != (column in yours)
            or not _equal(mine[column], yours[column], tolerance)
        )
    ]
    if wrong:
        yield f"  {_shown(keys, key)}: {', '.join(wrong)}"


def _by_key(
    rows: Iterable[Row], keys: Sequence[str], may_be_empty: bool
) -> list[tuple[tuple[Any, ...], Row]]:
    table = []
    for row in rows:
        plain = {name: _plain(value) for name, value in row.items()}
        rest = {name: value for name, value in plain.items() if name not in keys}
        if not may_be_empty or any(rest.values()):
            table.append((tuple(plain[name] for name in keys), rest))
    return table


def _plain(value: Any) -> Any:
    """Times in UTC and without a zone, maps as dicts: as both sides can say it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
            return {name: _plain(each) for name, each in value}
        return [_plain(each) for each in value]
    return value


def _equal(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=tolerance, abs_tol=tolerance)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(
            _equal(a, b, tolerance) for a, b in zip(one, other, strict=True)
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(
            _equal(one[name], other[name], tolerance) for name in one
        )
    return bool(one == other)


def _order(key: tuple[Any, ...]) -> tuple[tuple[bool, str], ...]:
    return tuple((part is not None, str(part)) for part in key)


def _shown(keys: Sequence[str], key: tuple[Any, ...]) -> str:
    return " ".join(f"{name}={value!s}" for name, value in zip(keys, key, strict=True))


def _filled(row: Row) -> dict[str, Any]:
    return {name: str(value) for name, value in row.items() if value}
