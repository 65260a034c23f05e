"""How messages spread: the hops of first copies, along the peers that they came from.

The one thing that joins cannot express: a hop is known when that of the peer is known from which
the copy came, and so on up to the publisher. Whole messages lie together in a partition, and numpy
follows the chains of all of them at once, one hop a step.

A row is a *cell*: a message at a node, both numbers. ``stamp`` holds when the first copy came
(microseconds since the publication less the margin) and from whom, so that the least of all stamps
is the first copy, and of two at one instant that of the lesser peer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

NAME_BITS: Final = 24
"""Of a stamp or a cell, for the number of a node: sixteen million of them."""
NAMES: Final = 1 << NAME_BITS
NOBODY: Final = -1

INPUT: Final = (
    "minute bigint, message bigint, node int, publisher int, to_one boolean, stamp bigint,"
    " seen bigint, copies bigint, expected boolean, size_here bigint"
)
OUTPUT: Final = (
    "minute bigint, message bigint, node int, peer int, had bigint, seen bigint, hop int,"
    " link_us bigint, first boolean, expected boolean, duplicates bigint, size_here bigint"
)
_SCHEMA: Final = pa.schema(
    [
        ("minute", pa.int64()),
        ("message", pa.int64()),
        ("node", pa.int32()),
        ("peer", pa.int32()),
        ("had", pa.int64()),
        ("seen", pa.int64()),
        ("hop", pa.int32()),
        ("link_us", pa.int64()),
        ("first", pa.bool_()),
        ("expected", pa.bool_()),
        ("duplicates", pa.int64()),
        ("size_here", pa.int64()),
    ]
)


def follower(margin_us: int) -> object:
    """What ``mapInArrow`` calls with the batches of a partition."""

    def follow(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [batch for batch in batches if batch.num_rows]
        if parts:
            yield from spread(pa.Table.from_batches(parts), margin_us).to_batches(65536)

    return follow


def spread(cells: pa.Table, margin_us: int) -> pa.Table:
    """From :data:`INPUT` to :data:`OUTPUT`; messages are whole.

    >>> columns = dict(minute=[0] * 2, message=[7] * 2, node=[1, 2], publisher=[0] * 2,
    ...     to_one=[False] * 2, stamp=[(5 << 24) + 1, (9 << 24) + 2], seen=[5, 9], copies=[1, 3],
    ...     expected=[True] * 2, size_here=[10] * 2)
    >>> found = spread(pa.table(columns), margin_us=4)
    >>> found.select(["peer", "hop", "link_us", "duplicates"]).to_pylist()[1]
    {'peer': 1, 'hop': 2, 'link_us': 4, 'duplicates': 2}
    """
    message: Integers = cells["message"].to_numpy()
    node: Integers = cells["node"].to_numpy().astype(np.int64)
    publisher: Integers = cells["publisher"].to_numpy().astype(np.int64)
    stamp: Integers = cells["stamp"].fill_null(0).to_numpy()
    first: Booleans = cells["stamp"].is_valid().to_numpy()
    had = stamp >> NAME_BITS
    peer = np.where(first, (stamp & (NAMES - 1)) - 1, NOBODY)
    parent = _parents(message, node, peer, first)
    straight = first & (peer == publisher)
    hops = _hops(parent, straight, first)
    since = np.where(straight, margin_us, np.where(parent >= 0, had[parent], 0))
    linked = straight | (parent >= 0)
    expected: Booleans = cells["expected"].to_numpy()
    table = pa.table(
        [
            cells["minute"],
            cells["message"],
            cells["node"],
            pa.array(peer.astype(np.int32), mask=peer < 0),
            pa.array(had, mask=~first),
            cells["seen"],
            pa.array(hops.astype(np.int32), mask=hops == 0),
            pa.array(had - since, mask=~linked),
            first,
            expected,
            cells["copies"].to_numpy() - first,
            cells["size_here"],
        ],
        schema=_SCHEMA,
    )
    to_one: Booleans = cells["to_one"].to_numpy()
    return _to_one(table, to_one, message, first, had, expected) if to_one.any() else table


def _parents(message: Integers, node: Integers, peer: Integers, first: Booleans) -> Integers:
    """For each cell the row of the same message at the peer that its first copy came from."""
    rows = np.flatnonzero(first)
    keys = message[rows] * NAMES + node[rows]
    order = np.argsort(keys, kind="stable")
    ordered, rows = keys[order], rows[order]
    wanted = message * NAMES + peer
    place = np.minimum(np.searchsorted(ordered, wanted), max(len(ordered) - 1, 0))
    if not len(ordered):
        return np.full(len(message), NOBODY, np.int64)
    found: Integers = np.where((peer >= 0) & (ordered[place] == wanted), rows[place], NOBODY)
    return found


def _hops(parent: Integers, straight: Booleans, first: Booleans) -> Integers:
    """1 = straight from the publisher; 0 where the chain has a gap."""
    hops = straight.astype(np.int64)
    open_rows = np.flatnonzero(first & ~straight & (parent >= 0))
    # Each step settles those whose peer is settled; what never is, has a gap in its chain.
    while len(open_rows):
        above = hops[parent[open_rows]]
        settled = above > 0
        if not settled.any():
            break
        hops[open_rows[settled]] = above[settled] + 1
        open_rows = open_rows[~settled]
    return hops


def _to_one(
    table: pa.Table,
    to_one: Booleans,
    message: Integers,
    first: Booleans,
    had: Integers,
    expected: Booleans,
) -> pa.Table:
    """Of messages to one of many: the earliest that came is the one that was expected.

    If none came where it was expected, one row without a node says that it is missing.
    """
    chosen = expected.copy()
    chosen[to_one] = False
    keep = ~to_one | first | (table["duplicates"].to_numpy() > 0)
    candidates = np.flatnonzero(to_one & expected)
    # Those that came before those that did not, and of them the earliest.
    node = table["node"].to_numpy()
    by = (node, had, ~first, message)  # the last one counts most
    order = candidates[np.lexsort([key[candidates] for key in by])]
    best = order[np.unique(message[order], return_index=True)[1]]
    chosen[best] = True
    nobody = best[~first[best]]
    chosen[nobody] = False
    told = table.set_column(9, "expected", pa.array(chosen)).filter(pa.array(keep))
    return pa.concat_tables([told, _missing(table.take(pa.array(nobody)))]).cast(_SCHEMA)


def _missing(rows: pa.Table) -> pa.Table:
    """The same messages, at nobody: expected, and nothing came."""
    nothing = {
        name: pa.nulls(len(rows), _SCHEMA.field(name).type)
        for name in ("node", "seen", "size_here")
    }
    values = {
        "expected": pa.array([True] * len(rows), pa.bool_()),
        "duplicates": pa.array([0] * len(rows), pa.int64()),
    }
    columns = [{**nothing, **values}.get(name, rows[name]) for name in _SCHEMA.names]
    return pa.table(columns, schema=_SCHEMA)
