"""How messages spread: first copies, their hops, what was asked for, copies too many.

The one part that does not fit into joins: a hop is known when that of the peer is known from which
the copy came, and so on up to the publisher. Here whole messages lie together in a partition, and
numpy follows the chains of all of them at once, one hop a step.

Nodes and messages are numbers: keys in what comes and goes, and in between codes, 0 for the first
key that occurs, 1 for the second... A *cell* is a message at a node; all copies of one message at
one node are in one cell.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from rumormill.pipeline.tables.codes import (
    NOWHERE,
    Booleans,
    Integers,
    coded,
    coded_numbers,
    looked_up,
)

PUBLISHED: Final = 0
DELIVERED: Final = 1
DUPLICATE: Final = 2
ASKED: Final = 3
KINDS: Final = 4
"""Kinds of rows that come in."""

COPY: Final = 0
WAY: Final = 1
"""Kinds of rows that come out: a message at a node; and the shortest time between two nodes."""

INPUT: Final = "id long, topic int, node_key long, peer_key long, stamp long"
"""Few and narrow columns, as there are many rows: ``id`` and ``topic`` stand for a message (who
asks for one names no topic), ``stamp`` is ``KINDS`` times the time in microseconds, plus the
kind."""

OUTPUT: Final = (
    "kind int, id long, topic int, known boolean, node_key long, peer_key long, time long,"
    " hop int, first boolean, recovered boolean, duplicates long"
)
"""``known``: whether the publication is there."""

_SCHEMA: Final = pa.schema(
    [
        ("kind", pa.int32()),
        ("id", pa.int64()),
        ("topic", pa.int32()),
        ("known", pa.bool_()),
        ("node_key", pa.int64()),
        ("peer_key", pa.int64()),
        ("time", pa.int64()),
        ("hop", pa.int32()),
        ("first", pa.bool_()),
        ("recovered", pa.bool_()),
        ("duplicates", pa.int64()),
    ]
)
NEVER: Final = np.iinfo(np.int64).max
SPARSE: Final = 4
"""A grid with so many cells for each row is not laid out whole."""


def spread(rows: pa.Table, latest_us: int | None = None) -> pa.Table:
    """From :data:`INPUT` to :data:`OUTPUT`: one row for each cell, and for each pair of nodes.

    The latter (``WAY``) has in ``time`` the least time that a copy took from peer to node, by their
    own clocks. The table holds whole messages; ``latest_us``: copies further from their publication
    are none of it.
    """
    return _Spread(rows, latest_us).table()


class _Spread:
    """All rows, as columns of codes."""

    def __init__(self, rows: pa.Table, latest_us: int | None) -> None:
        stamp: Integers = rows["stamp"].to_numpy()
        self._time = stamp // KINDS
        kind = stamp - self._time * KINDS
        self._ids, self._topics = coded(rows["id"]), coded(rows["topic"])
        self._message, self._messages = self._message_codes()
        nodes = [*rows["node_key"].chunks, *rows["peer_key"].chunks]
        both, self._names = coded(pa.chunked_array(nodes).unify_dictionaries())
        self._node, self._peer = both[: len(kind)], both[len(kind) :]
        self._publications(np.flatnonzero(kind == PUBLISHED))
        self._known = self._publisher[self._message] >= 0
        if latest_us is not None:
            apart = np.abs(self._time - self._published_at[self._message])
            self._known &= apart <= latest_us
        self._asked = np.flatnonzero(kind == ASKED)
        self._copies = self._of_others(kind)
        self._is_delivery = kind[self._copies] == DELIVERED
        self._lay_out()

    def _message_codes(self) -> tuple[Integers, int]:
        """A code for each message, and how many there are."""
        ids, topics = self._ids, self._topics
        if len(topics.values) == 1:
            return ids.codes, len(ids.values)
        pairs = coded_numbers(ids.codes * len(topics.values) + topics.codes)
        return pairs.codes, len(pairs.values)

    def _publications(self, rows: Integers) -> None:
        """When and by whom each message was published, if it was."""
        self._publisher = np.full(self._messages, NOWHERE, np.int64)
        self._published_at = np.full(self._messages, NEVER, np.int64)
        latest_first = rows[np.argsort(self._time[rows], kind="stable")[::-1]]
        # Of several values for one place numpy keeps the last: the earliest publication.
        self._publisher[self._message[latest_first]] = self._node[latest_first]
        self._published_at[self._message[latest_first]] = self._time[latest_first]

    def _of_others(self, kind: Integers) -> Integers:
        """The copies at nodes other than the publisher."""
        rows = np.flatnonzero((kind == DELIVERED) | (kind == DUPLICATE))
        node, peer = self._node[rows], self._peer[rows]
        own = node == self._publisher[self._message[rows]]
        # Without a publication, what came from nobody or from the node itself is its own.
        strange = ~self._known[rows]
        own[strange] = (peer[strange] < 0) | (peer[strange] == node[strange])
        others: Integers = rows[~own]
        return others

    def _lay_out(self) -> None:
        """Find the cell of each copy, and of each cell the first copy."""
        rows = self._copies
        # A copy that is none of its message's publication is a message of its own.
        self._group = self._message[rows] + np.where(self._known[rows], 0, self._messages)
        cells = self._group * len(self._names) + self._node[rows]
        groups = self._messages if self._known[rows].all() else 2 * self._messages
        count = groups * len(self._names)
        self._cell, self._find, size = _numbered(cells, count)
        # The earliest delivery, or else any copy.
        self._chosen = np.full(size, NOWHERE, np.int64)
        self._chosen[self._cell] = np.arange(len(rows))
        order = np.flatnonzero(self._is_delivery)
        order = order[np.argsort(self._time[rows[order]], kind="stable")[::-1]]
        self._chosen[self._cell[order]] = order
        self._had_at = np.full(size, NEVER, np.int64)
        self._had_at[self._cell[order]] = self._time[rows[order]]
        self._seen_at = np.full(size, NEVER, np.int64)
        np.minimum.at(self._seen_at, self._cell, self._time[rows])
        self._copies_in = np.bincount(self._cell, minlength=size)

    def table(self) -> pa.Table:
        """What comes out."""
        return pa.concat_tables([self._cells(), self._ways()])

    # ---- cells

    def _cells(self) -> pa.Table:
        used = np.flatnonzero(self._chosen >= 0)
        places = self._chosen[used]
        rows = self._copies[places]
        first = self._had_at[used] != NEVER
        peers = self._peer[rows]
        hops = self._hops(used, places, rows, first)
        return pa.table(
            [
                np.full(len(used), COPY, np.int32),
                self._ids.values.take(pa.array(self._ids.codes[rows])),
                self._topics.values.take(pa.array(self._topics.codes[rows])),
                self._known[rows],
                self._names.take(pa.array(self._node[rows])),
                self._names.take(pa.array(peers, mask=~first | (peers < 0))),
                np.where(first, self._had_at[used], self._seen_at[used]),
                pa.array(hops.astype(np.int32), mask=hops == 0),
                first,
                first & self._recovered(rows),
                self._copies_in[used] - first,
            ],
            schema=_SCHEMA,
        )

    def _hops(self, used: Integers, places: Integers, rows: Integers, first: Booleans) -> Integers:
        peer = self._peer[rows]
        parent = self._find(self._group[places] * len(self._names) + peer)
        above = np.full(len(self._chosen), NOWHERE, np.int64)
        above[used[first]] = np.arange(len(used))[first]
        parent = np.where((peer >= 0) & (parent >= 0), above[parent], NOWHERE)
        published_here = first & self._known[rows]
        straight = peer == self._publisher[self._message[rows]]
        hops = np.where(published_here & straight & (peer >= 0), 1, 0)
        open_rows = np.flatnonzero(published_here & (hops == 0) & (parent >= 0))
        # Each step settles those whose peer is settled; what never is, has a gap in its chain.
        while len(open_rows):
            of_peer = hops[parent[open_rows]]
            settled = of_peer > 0
            if not settled.any():
                break
            hops[open_rows[settled]] = of_peer[settled] + 1
            open_rows = open_rows[~settled]
        return hops

    def _recovered(self, rows: Integers) -> Booleans:
        """Which of the first copies came from the peer that had been asked for them."""
        if not len(self._asked):
            return np.zeros(len(rows), np.bool_)
        asked, answered = self._questions(self._asked), self._questions(rows)
        codes, questions = coded_numbers(asked)
        asked_at = np.full(len(questions), NEVER, np.int64)
        np.minimum.at(asked_at, codes, self._time[self._asked])
        at = looked_up(answered, questions)
        return (at >= 0) & (asked_at[at] <= self._time[rows]) & (self._peer[rows] >= 0)

    def _questions(self, rows: Integers) -> Integers:
        """Who asks whom for what."""
        width = len(self._names)
        return (self._ids.codes[rows] * width + self._node[rows]) * width + self._peer[rows]

    # ---- ways

    def _ways(self) -> pa.Table:
        rows = self._copies
        peer, message = self._peer[rows], self._message[rows]
        at = self._find(self._group * len(self._names) + peer)
        had_at = np.where(at >= 0, self._had_at[at], NEVER)
        from_publisher = self._known[rows] & (peer == self._publisher[message])
        had_at = np.where(from_publisher, self._published_at[message], had_at)
        chosen = np.flatnonzero((peer >= 0) & (peer != self._node[rows]) & (had_at != NEVER))
        took = self._time[rows[chosen]] - had_at[chosen]
        pairs = self._node[rows[chosen]] * len(self._names) + peer[chosen]
        codes, found = coded_numbers(pairs)
        least = np.full(len(found), NEVER, np.int64)
        np.minimum.at(least, codes, took)
        pair = found.to_numpy()
        columns = {
            "kind": np.full(len(pair), WAY, np.int32),
            "node_key": self._names.take(pa.array(pair // len(self._names))),
            "peer_key": self._names.take(pa.array(pair % len(self._names))),
            "time": least,
        }
        return pa.table(
            [columns.get(field.name, pa.nulls(len(pair), field.type)) for field in _SCHEMA],
            schema=_SCHEMA,
        )


def _numbered(cells: Integers, count: int) -> tuple[Integers, Callable[[Integers], Integers], int]:
    """Places for cells of a grid, how to find the place of a cell, and how many there are."""
    if count <= SPARSE * len(cells):
        return cells, lambda wanted: np.where(wanted < 0, NOWHERE, wanted), count
    codes, found = coded_numbers(cells)
    return codes, lambda wanted: looked_up(wanted, found), len(found)
