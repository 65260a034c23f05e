"""How messages spread: first copies, their hops, what was asked for, copies too many.

The one part that does not fit into joins: a hop is known when that of the peer is known from which
the copy came, and so on up to the publisher. Here whole messages lie together in a partition, and
numpy follows the chains of all of them at once, one hop a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

PUBLISHED: Final = 0
DELIVERED: Final = 1
ASKED: Final = 2
REPEATED: Final = 3
"""Kinds of rows; of these, one row stands for ``value`` further copies at a node."""

OUTPUT: Final = (
    "message long, node long, peer long, time long, hop int, first boolean, recovered boolean,"
    " duplicates long, size long"
)

_ARROW: Final = pa.schema(
    [
        ("message", pa.int64()),
        ("node", pa.int64()),
        ("peer", pa.int64()),
        ("time", pa.int64()),
        ("hop", pa.int32()),
        ("first", pa.bool_()),
        ("recovered", pa.bool_()),
        ("duplicates", pa.int64()),
        ("size", pa.int64()),
    ]
)
NOWHERE: Final = -1
BATCH_ROWS: Final = 65536


def propagation(rows: DataFrame, latest: int | None = None) -> DataFrame:
    """One row for each message and node that it came to, of messages whose publication is there.

    ``rows``: message, kind, node and peer (as keys), time (in microseconds), and value, which is a
    size or a number of copies.
    ``latest``: copies that came more microseconds after the publication are left out.
    """

    def follow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [batch for batch in batches if batch.num_rows]
        if parts:
            whole = pa.Table.from_batches(parts)
            yield from spread(whole, latest).to_batches(max_chunksize=BATCH_ROWS)

    return rows.repartition("message").mapInArrow(follow, OUTPUT)


@dataclass(frozen=True)
class _Rows:
    """Rows of one kind, as numpy columns."""

    message: Integers
    node: Integers
    peer: Integers
    time: Integers
    value: Integers

    def __len__(self) -> int:
        return len(self.message)

    def __getitem__(self, chosen: Integers | Booleans) -> _Rows:
        return _Rows(
            self.message[chosen],
            self.node[chosen],
            self.peer[chosen],
            self.time[chosen],
            self.value[chosen],
        )


def spread(table: pa.Table, latest: int | None = None) -> pa.Table:
    """The same for one table that holds whole messages."""
    columns = {name: _numbers(table[name]) for name in table.column_names}
    kind = columns.pop("kind")
    rows = _Rows(**columns)
    published = _first_of(rows[kind == PUBLISHED])
    if not len(published):
        return _ARROW.empty_table()
    delivered = _of_others(rows[kind == DELIVERED], published)
    repeated = _of_others(rows[kind == REPEATED], published)
    if latest is not None:
        apart = delivered.time - published.time[_find(published.message, delivered.message)]
        delivered = delivered[np.abs(apart) <= latest]
    grid = _Grid(published, delivered, repeated)
    return grid.table(rows[kind == ASKED])


class _Grid:
    """Messages by nodes: each pair that has a copy is one number, and all lie in order."""

    def __init__(self, published: _Rows, delivered: _Rows, repeated: _Rows) -> None:
        self._published = published
        names = (delivered.node, delivered.peer, repeated.node, published.node)
        self._names = np.unique(np.concatenate(names))
        order = np.lexsort((delivered.time, self._cell(delivered.message, delivered.node)))
        delivered = delivered[order]
        cells = self._cell(delivered.message, delivered.node)
        new = np.ones(len(cells), np.bool_)
        new[1:] = cells[1:] != cells[:-1]
        self._first, self._cells = delivered[new], cells[new]
        # A node that delivers a message again had forgotten it: a copy too many.
        self._duplicates = np.bincount(np.cumsum(new) - 1, minlength=len(self._cells)) - 1
        self._add(repeated)

    def _cell(self, message: Integers, node: Integers) -> Integers:
        place = _find(self._published.message, message)
        code = _find(self._names, node)
        cell = place * len(self._names) + code
        return np.where((place < 0) | (code < 0), NOWHERE, cell)

    def _add(self, repeated: _Rows) -> None:
        cells = self._cell(repeated.message, repeated.node)
        at = _find(self._cells, cells)
        np.add.at(self._duplicates, at[at >= 0], repeated.value[at >= 0])
        self._only_repeated = repeated[at < 0]

    def _hops(self) -> Integers:
        first, published = self._first, self._published
        publisher = published.node[_find(published.message, first.message)]
        parent = _find(self._cells, self._cell(first.message, first.peer))
        hops = np.where(first.peer == publisher, 1, 0)
        (open_rows,) = np.nonzero((hops == 0) & (parent >= 0))
        # Each step settles those whose peer is settled; what never is, has a gap in its chain.
        while len(open_rows):
            above = hops[parent[open_rows]]
            settled = above > 0
            if not settled.any():
                break
            hops[open_rows[settled]] = above[settled] + 1
            open_rows = open_rows[~settled]
        return hops

    def _recovered(self, asked: _Rows) -> Booleans:
        recovered = np.zeros(len(self._cells), np.bool_)
        at = _find(self._cells, self._cell(asked.message, asked.node))
        asked, at = asked[at >= 0], at[at >= 0]
        brought = (self._first.peer[at] == asked.peer) & (self._first.time[at] >= asked.time)
        recovered[at[brought]] = True
        return recovered

    def table(self, asked: _Rows) -> pa.Table:
        first, hops, rest = self._first, self._hops(), self._only_repeated
        firsts = pa.table(
            [
                first.message,
                first.node,
                _with_nulls(first.peer),
                first.time,
                pa.array(hops.astype(np.int32), mask=hops == 0),
                np.ones(len(first), np.bool_),
                self._recovered(asked),
                self._duplicates,
                pa.array(first.value, mask=first.value < 0),
            ],
            schema=_ARROW,
        )
        count = len(rest)
        others = pa.table(
            [
                rest.message,
                rest.node,
                pa.nulls(count, pa.int64()),
                pa.nulls(count, pa.int64()),
                pa.nulls(count, pa.int32()),
                np.zeros(count, np.bool_),
                np.zeros(count, np.bool_),
                rest.value,
                pa.nulls(count, pa.int64()),
            ],
            schema=_ARROW,
        )
        return pa.concat_tables([firsts, others])


def _of_others(rows: _Rows, published: _Rows) -> _Rows:
    """Those of known messages at nodes other than the publisher."""
    at = _find(published.message, rows.message)
    return rows[(at >= 0) & (published.node[at] != rows.node)]


def _first_of(published: _Rows) -> _Rows:
    """One publication a message, in the order of messages: the first one counts."""
    published = published[np.lexsort((published.time, published.message))]
    _, places = np.unique(published.message, return_index=True)
    return published[places]


def _find(ordered: Integers, wanted: Integers) -> Integers:
    """Where each of ``wanted`` is in ``ordered``, or :data:`NOWHERE`."""
    if not len(ordered):
        return np.full(len(wanted), NOWHERE, np.int64)
    at = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return np.where(ordered[at] == wanted, at, NOWHERE)


def _numbers(column: pa.ChunkedArray) -> Integers:
    """As numpy; what is null becomes -1, which no size and hardly any key is."""
    numbers: Integers = column.combine_chunks().fill_null(NOWHERE).to_numpy().astype(np.int64)
    return numbers


def _with_nulls(keys: Integers) -> pa.Array:
    return pa.array(keys, mask=keys == NOWHERE)
