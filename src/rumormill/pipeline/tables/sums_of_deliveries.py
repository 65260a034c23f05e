"""Many deliveries added up in every way that gold needs: what Python workers do for ``sums.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from rumormill.pipeline.tables.codes import (
    Booleans,
    Coded,
    Groups,
    Integers,
    coded,
    coded_numbers,
)
from rumormill.pipeline.tables.gathered import batch_of

SUM: Final = 0
BIN: Final = 1
LINK: Final = 2
PUBLISHER: Final = 3
"""Kinds of rows that come out: by topic, minute and hop; the same by bins of latency; by node and
peer; by topic and publisher."""

NAMES: Final = ("network", "topic", "publisher", "node", "peer")
COLUMNS: Final = (
    *NAMES, "published_at", "latency_ms", "hop", "first", "expected", "recovered", "size", "minute",
    "duplicates",
)  # fmt: skip
"""What is read of each delivery."""

BINS_PER_OCTAVE: Final = 32
"""Bins grow with the values: each is about two percent wide."""

OUTPUT: Final = pa.schema(
    [
        ("kind", pa.int32()),
        ("network", pa.string()),
        ("topic", pa.string()),
        # SUM and BIN
        ("minute", pa.int64()),
        ("hop", pa.int32()),
        # SUM
        ("delivered", pa.int64()),
        ("unexpected", pa.int64()),
        ("duplicates", pa.int64()),
        ("payload", pa.int64()),
        ("recoveries", pa.int64()),
        ("negative", pa.int64()),
        ("unpublished", pa.int64()),
        # BIN
        ("bin", pa.int32()),
        ("count", pa.int64()),
        ("values", pa.list_(pa.int64())),
        # LINK
        ("node", pa.string()),
        ("peer", pa.string()),
        ("first", pa.int64()),
        # PUBLISHER
        ("publisher", pa.string()),
        # LINK and PUBLISHER
        ("came", pa.int64()),
    ]
)
"""Minutes and values are in microseconds."""


def bins_of(values: Integers) -> Integers:
    """The bins of whole numbers, also of those below zero.

    >>> bins_of(np.array([-1, 0, 1, 1000])).tolist()
    [-32, 0, 32, 318]
    """
    places = np.floor(np.log2(np.abs(values) + 1) * BINS_PER_OCTAVE)
    bins: Integers = (np.sign(values) * places).astype(np.int64)
    return bins


def sum_deliveries(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """From a table with :data:`COLUMNS` to batches of :data:`OUTPUT`."""
    deliveries = _Deliveries(table)
    yield deliveries.sums()
    yield deliveries.bins()
    yield deliveries.links()
    yield deliveries.publishers()


class _Deliveries:
    """The columns of a table of deliveries, and their sums."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._first = self._are("first")
        self._came = self._first & self._are("expected")
        self._coded = {name: coded(table[name]) for name in (*NAMES, "minute", "hop")}
        self._spots = self._groups("network", "topic", "minute", "hop")

    def _are(self, name: str) -> Booleans:
        yes: Booleans = self._table[name].fill_null(False).to_numpy()
        return yes

    def _numbers(self, name: str) -> Integers:
        numbers: Integers = self._table[name].fill_null(0).to_numpy()
        return numbers

    def _groups(self, *names: str) -> Groups:
        return Groups({name: self._coded[name] for name in names})

    def _batch(self, kind: int, groups: Groups, **columns: pa.Array | Integers) -> pa.RecordBatch:
        found = {name: pa.array(each) for name, each in columns.items()}
        return batch_of(OUTPUT, kind, groups.size, {**groups.keys, **found})

    def sums(self) -> pa.RecordBatch:
        """What can be added up, by topic, minute and hop."""
        first, spots, size = self._first, self._spots, self._table["size"]
        copies = self._numbers("duplicates") + first
        return self._batch(
            SUM,
            spots,
            delivered=spots.count(first),
            unexpected=spots.count(first & ~self._are("expected")),
            duplicates=spots.sums(self._numbers("duplicates")),
            payload=spots.known_sums(copies * self._numbers("size"), size.is_valid().to_numpy()),
            recoveries=spots.count(first & self._are("recovered")),
            negative=spots.count(first & (self._table["latency_ms"].fill_null(0).to_numpy() < 0)),
            unpublished=spots.count(first & self._table["published_at"].is_null().to_numpy()),
        )

    def bins(self) -> pa.RecordBatch:
        """How long the expected first copies took: bins of about the same latency, with all values.

        What came to a node that was not there when it was published took as long as the node.
        """
        latency = self._table["latency_ms"]
        taken = np.flatnonzero(self._came & latency.is_valid().to_numpy())
        values = np.rint(latency.fill_null(0).to_numpy()[taken] * 1000).astype(np.int64)
        columns = {
            name: Coded(self._coded[name].codes[taken], self._coded[name].values)
            for name in ("network", "topic", "minute", "hop")
        }
        groups = Groups({**columns, "bin": coded_numbers(bins_of(values))})
        counts = groups.count()
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        order = np.argsort(groups.codes, kind="stable")
        lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values[order]))
        return self._batch(BIN, groups, count=counts, values=lists)

    def links(self) -> pa.RecordBatch:
        """How many first copies each node got from each peer, and how many were expected."""
        groups = self._groups("network", "node", "peer")
        return self._batch(
            LINK, groups, first=groups.count(self._first), came=groups.count(self._came)
        )

    def publishers(self) -> pa.RecordBatch:
        """How many of each publisher's messages came to those who expected them."""
        groups = self._groups("network", "topic", "publisher")
        return self._batch(PUBLISHER, groups, came=groups.count(self._came))
