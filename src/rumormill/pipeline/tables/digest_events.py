"""One look at many events: counted, the rare ones picked out, the copies of messages packed.

What Python workers do for ``digest.py``. Names are codes here, each taken once for thousands of
events; and a packed copy is 36 bytes, so it is cheap to bring those of one message together.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from rumormill.pipeline.tables import columns
from rumormill.pipeline.tables.codes import (
    NOWHERE,
    Booleans,
    Coded,
    Groups,
    Integers,
    coded,
    coded_numbers,
)
from rumormill.pipeline.tables.columns import CONTROL, MINUTE_US
from rumormill.pipeline.tables.gathered import batch_of
from rumormill.pipeline.tables.keys import Keyed, keyed, topic_keys
from rumormill.pipeline.tables.packed import KIND_OF, pack
from rumormill.pipeline.tables.propagation import DUPLICATE, KINDS

COUNT: Final = 0
RARE: Final = 1
PACKED: Final = 2
NAME: Final = 3
"""Kinds of rows that come out."""

NAMES: Final = ("network", "node", "event", "topic", "message_id", "peer", "reason", "fields")
"""Columns that have few values for many rows."""

COLUMNS: Final = ("time", *NAMES, "size", "count")
"""What is read of each event."""

OUTPUT: Final = pa.schema(
    [
        ("kind", pa.int32()),
        ("event", pa.string()),
        # RARE
        ("time", pa.int64()),
        ("network", pa.string()),
        ("node", pa.string()),
        ("topic", pa.string()),
        ("message_id", pa.binary()),
        ("peer", pa.string()),
        ("size", pa.int64()),
        ("reason", pa.string()),
        ("fields", pa.string()),
        # COUNT
        ("node_key", pa.int64()),
        ("peer_key", pa.int64()),
        ("minute", pa.int64()),
        ("count", pa.int64()),
        ("bytes", pa.int64()),
        ("lost", pa.int64()),
        ("uncaptured", pa.int64()),
        *[(name, pa.int64()) for name in CONTROL],
        ("first_at", pa.int64()),
        ("last_at", pa.int64()),
        # PACKED
        ("bucket", pa.int32()),
        ("packed", pa.binary()),
    ]
)
"""Times are in microseconds."""

_RARE: Final = OUTPUT.names[1:11]

CAPTURED: Final = "captured_"
"""So begins what was dropped, if it was a record on its way to a spool (``capture.losses``)."""

MOST_COPIES: Final = 100_000
"""That one event may stand for: more than a node gets of one message from one peer in a second."""

Range = tuple[int, int]
"""Of times in microseconds, the second not included."""


@dataclass(frozen=True)
class Look:
    """What to look for."""

    kinds: frozenset[int] = frozenset({COUNT, RARE, PACKED, NAME})
    buckets: int = 8
    """For packed copies: all of one message are in one."""
    counted: Range | None = None
    followed: Range | None = None
    rare: Range | None = None
    """Which events are counted, which copies packed, and which rare events picked out; all of them,
    if none is given."""
    ahead: Mapping[int, int] = field(default_factory=dict)
    """By how many microseconds the clocks of nodes (by their numbers) are ahead."""


def digest_events(table: pa.Table, look: Look) -> Iterator[pa.RecordBatch]:
    """From a table with :data:`COLUMNS` to batches of :data:`OUTPUT`."""
    events = _Events(table, look)
    if COUNT in look.kinds:
        yield events.counts()
    if RARE in look.kinds:
        yield events.rare()
    if PACKED in look.kinds:
        yield from events.packed()
    if NAME in look.kinds:
        yield from events.names()


class _Events:
    """The columns of a table of events, and what becomes of them."""

    def __init__(self, table: pa.Table, look: Look) -> None:
        self.table = table
        self._look = look
        self.kinds = coded(table["event"])
        self.nodes = self._keys("node")
        self.time: Integers = table["time"].to_numpy()
        if look.ahead:
            keys = self.nodes.keys.tolist()
            ahead = np.array([look.ahead.get(key, 0) for key in keys], np.int64)
            self.time = self.time - ahead[self.nodes.codes]

    @cached_property
    def _networks(self) -> Coded:
        return coded(self.table["network"])

    @cached_property
    def stands_for(self) -> Integers:
        """How many happenings each event stands for."""
        count: Integers = self.table["count"].fill_null(1).to_numpy()
        return count

    @cached_property
    def peers(self) -> Keyed:
        return self._keys("peer")

    def _keys(self, name: str) -> Keyed:
        return keyed(self._networks, coded(self.table[name]))

    def are(self, *events: str) -> Booleans:
        """Which rows are events of these kinds."""
        wanted = np.isin(self.kinds.values.to_pylist(), events)
        return np.append(wanted, False)[self.kinds.codes]  # the code of null is -1

    def _within(self, limits: Range | None) -> Booleans | None:
        if limits is None:
            return None
        return (self.time >= limits[0]) & (self.time < limits[1])

    # ---- counting

    def counts(self) -> pa.RecordBatch:
        """How often each kind of event happened on each link in each minute."""
        return _Counting(self, self._within(self._look.counted)).batch()

    # ---- rare events

    def rare(self) -> pa.RecordBatch:
        """Those that tables need from all time, as they are."""
        chosen = self.are(*columns.RARE)
        within = self._within(self._look.rare)
        rows = pa.array(np.flatnonzero(chosen if within is None else chosen & within))
        taken = self.table.select(_RARE).take(rows)
        found = {name: taken[name].cast(OUTPUT.field(name).type) for name in _RARE}
        return batch_of(OUTPUT, RARE, len(rows), found)

    # ---- copies

    def packed(self) -> Iterator[pa.RecordBatch]:
        """The copies of messages, by buckets."""
        ids = self._keys("message_id")
        kind = self._copy_kinds()
        rows = np.flatnonzero((kind >= 0) & (ids.codes >= 0))
        if not len(rows):
            return
        # Copies that were summed up become as many again as they were.
        copies = np.where(kind[rows] == DUPLICATE, self.stands_for[rows], 1)
        rows = np.repeat(rows, np.clip(copies, 1, MOST_COPIES))
        buckets = _Buckets(ids.keys, self._look.buckets)
        bucket = buckets.of_key[ids.codes[rows]]
        rows = rows[np.argsort(bucket, kind="stable")]
        stamps = self.time[rows] * KINDS + kind[rows]
        places = buckets.place_of_key[ids.codes[rows]]
        others = {
            name: (column.codes[rows], column.values)
            for name, column in (
                ("topic", self._topics),
                ("node_key", self.nodes.coded),
                ("peer_key", self.peers.coded),
            )
        }
        used, begins = np.unique(np.sort(bucket), return_index=True)
        packs = []
        for number, begin, end in zip(used, begins, [*begins[1:], len(rows)], strict=True):
            part = slice(begin, end)
            numbers = {name: (codes[part], values) for name, (codes, values) in others.items()}
            numbers["id"] = (places[part], buckets.keys(number))
            packs.append(pack(stamps[part], numbers))
        found = {"bucket": pa.array(used.astype(np.int32)), "packed": pa.array(packs, pa.binary())}
        yield batch_of(OUTPUT, PACKED, len(used), found)

    def _copy_kinds(self) -> Integers:
        """For each event the number of its kind; NOWHERE for those that are not followed."""
        names = [*self.kinds.values.to_pylist(), None]
        kinds = np.array([KIND_OF.get(name, NOWHERE) for name in names])[self.kinds.codes]
        within = self._within(self._look.followed)
        found: Integers = kinds if within is None else np.where(within, kinds, NOWHERE)
        return found

    @cached_property
    def _topics(self) -> Coded:
        return topic_keys(coded(self.table["topic"]))

    # ---- names

    def names(self) -> Iterator[pa.RecordBatch]:
        """Every node that is named, with its number."""
        for each in (self.nodes, self.peers):
            found = {
                "network": each.networks.cast(pa.string()),
                "node": each.names.cast(pa.string()),
                "node_key": pa.array(each.keys),
            }
            yield batch_of(OUTPUT, NAME, len(each.keys), found)


class _Buckets:
    """Which numbers of messages are in which bucket, and in which place there."""

    def __init__(self, keys: Integers, count: int) -> None:
        # The low bits are as good as any: the numbers are hashes.
        self.of_key = (keys % count).astype(np.min_scalar_type(count))
        order = np.argsort(self.of_key, kind="stable")
        self._ends = np.cumsum(np.bincount(self.of_key, minlength=count))
        self._ordered = keys[order]
        self.place_of_key = np.empty(len(keys), np.int64)
        begins = self._ends - np.bincount(self.of_key, minlength=count)
        self.place_of_key[order] = np.arange(len(keys)) - begins[self.of_key[order]]

    def keys(self, bucket: int) -> pa.Array:
        """Those of one bucket, in their places."""
        begin = self._ends[bucket - 1] if bucket else 0
        return pa.array(self._ordered[begin : self._ends[bucket]])


class _Counting:
    """Sums for each node, peer, minute and kind of event."""

    def __init__(self, events: _Events, chosen: Booleans | None) -> None:
        self._events = events
        self._rows = slice(None) if chosen is None else np.flatnonzero(chosen)
        self.time = events.time[self._rows]
        minutes = coded_numbers(self.time // MINUTE_US * MINUTE_US)
        self._groups = Groups(
            {
                "node_key": self._of(events.nodes.coded),
                "peer_key": self._of(events.peers.coded),
                "minute": minutes,
                "event": self._of(events.kinds),
            }
        )

    def _of(self, column: Coded) -> Coded:
        return Coded(column.codes[self._rows], column.values)

    def batch(self) -> pa.RecordBatch:
        """One row for each."""
        groups, table = self._groups, self._events.table
        first, last = np.full(groups.size, _LAST), np.full(groups.size, _FIRST)
        np.minimum.at(first, groups.codes, self.time)
        np.maximum.at(last, groups.codes, self.time)
        count = self._events.stands_for[self._rows]
        dropped = self._events.are("dropped")[self._rows]
        found = {
            "count": pa.array(groups.sums(count)),
            "bytes": groups.known_sums(
                table["size"].fill_null(0).to_numpy()[self._rows],
                table["size"].is_valid().to_numpy()[self._rows],
            ),
            "lost": groups.known_sums(count, dropped),
            "uncaptured": groups.known_sums(count, self._uncaptured(dropped)),
            **self._contents(),
            "first_at": pa.array(first),
            "last_at": pa.array(last),
        }
        return batch_of(OUTPUT, COUNT, groups.size, {**groups.keys, **found})

    def _uncaptured(self, dropped: Booleans) -> Booleans:
        """Which of the losses are of records that should have come to a spool."""
        fields = self._of(coded(self._events.table["fields"]))
        told = np.zeros(len(fields.values) + 1, np.bool_)
        for code in np.unique(fields.codes[dropped & (fields.codes >= 0)]).tolist():
            what = _told(fields.values[code].as_py()).get("what")
            told[code] = isinstance(what, str) and what.startswith(CAPTURED)
        found: Booleans = dropped & told[fields.codes]
        return found

    def _contents(self) -> dict[str, pa.Array]:
        """What the packets that were sent hold: the same few descriptions over and over."""
        fields = self._of(coded(self._events.table["fields"]))
        sent = self._events.are("packet_sent")[self._rows] & (fields.codes >= 0)
        used = np.unique(fields.codes[sent])
        held = [_held(fields.values[code].as_py()) for code in used.tolist()]
        found: dict[str, pa.Array] = {}
        for place, name in enumerate(CONTROL):
            values = np.zeros(len(fields.values) + 1, np.int64)
            known = np.zeros(len(fields.values) + 1, np.bool_)
            for code, each in zip(used, held, strict=True):
                number = each[place]
                if number is not None:
                    values[code], known[code] = number, True
            chosen = sent & known[fields.codes]
            found[name] = self._groups.known_sums(values[fields.codes], chosen)
        return found


_FIRST: Final = np.int64(np.iinfo(np.int64).min)
_LAST: Final = np.int64(np.iinfo(np.int64).max)


def _told(fields: str) -> Mapping[str, Any]:
    """What an event's ``fields`` say."""
    try:
        told = json.loads(fields)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _held(fields: str) -> Sequence[int | None]:
    """How many of each a packet holds."""
    told = _told(fields)
    numbers = [told.get(name) for name in CONTROL]
    return [each if type(each) is int else None for each in numbers]
