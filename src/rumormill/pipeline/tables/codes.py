"""Columns as codes: 0 for the first value that occurs, 1 for the second... numpy does the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]

NOWHERE: Final = -1
"""The code of null, and of what is not among the values."""


class Coded(NamedTuple):
    """A code for each row, and the values in the order of their codes."""

    codes: Integers
    values: pa.Array


def coded(column: pa.ChunkedArray | pa.Array) -> Coded:
    """A column as codes; one that is dictionary-encoded keeps its dictionary.

    >>> codes, values = coded(pa.array(["rain", None, "snow", "rain"]))
    >>> codes.tolist(), values.to_pylist()
    ([0, -1, 1, 0], ['rain', 'snow'])
    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    indices = column.indices
    if indices.null_count:
        indices = indices.fill_null(NOWHERE)
    codes: Integers = indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return Coded(codes, column.dictionary)


def coded_numbers(numbers: Integers) -> Coded:
    """The same for an array of numpy."""
    return coded(pa.array(numbers))


def looked_up(wanted: Integers | pa.ChunkedArray, values: pa.Array) -> Integers:
    """Where each is among the values, or NOWHERE.

    >>> looked_up(np.array([5, 7]), pa.array([7, 8])).tolist()
    [-1, 0]
    """
    column = pa.array(wanted) if isinstance(wanted, np.ndarray) else wanted.combine_chunks()
    found = pc.index_in(column, value_set=values).fill_null(NOWHERE)
    at: Integers = found.to_numpy(zero_copy_only=False).astype(np.int64)
    return at


class Groups:
    """Rows that agree in several columns.

    >>> groups = Groups({"node": coded(pa.array(["a", "b", "a"]))})
    >>> groups.keys["node"].to_pylist(), groups.count().tolist()
    (['a', 'b'], [2, 1])
    """

    def __init__(self, columns: Mapping[str, Coded]) -> None:
        number: Integers = np.zeros(1, np.int64)
        for each in columns.values():
            number = number * (len(each.values) + 1) + each.codes + 1  # 0 is null
        found = coded_numbers(number)
        self.codes = found.codes
        self.size = len(found.values)
        self.keys: dict[str, pa.Array] = {}
        """Of each group its values."""
        rest = found.values.to_numpy()
        for name, each in reversed(list(columns.items())):
            rest, place = np.divmod(rest, len(each.values) + 1)
            self.keys[name] = each.values.take(pa.array(place - 1, mask=place == 0))

    def count(self, chosen: Booleans | None = None) -> Integers:
        """How many rows (of those chosen) each has."""
        codes = self.codes if chosen is None else self.codes[chosen]
        counts: Integers = np.bincount(codes, minlength=self.size)
        return counts

    def sums(self, values: Integers, chosen: Booleans | None = None) -> Integers:
        """What the values of its rows (of those chosen) add up to; exact below 2 to the 53."""
        if chosen is not None:
            values = values[chosen]
        codes = self.codes if chosen is None else self.codes[chosen]
        return np.bincount(codes, values, minlength=self.size).astype(np.int64)

    def known_sums(self, values: Integers, chosen: Booleans) -> pa.Array:
        """The same, null where none was chosen."""
        return pa.array(self.sums(values, chosen), mask=self.count(chosen) == 0)
