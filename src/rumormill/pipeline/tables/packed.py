"""Copies of messages in few bytes, on their way to where all copies of a message come together.

A pack is a stream of Arrow with some thousand copies. Names and ids are their numbers
(``keys.py``), and each number is there once: for a copy, a byte or two say which it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from rumormill.pipeline.tables.codes import Integers
from rumormill.pipeline.tables.propagation import ASKED, DELIVERED, DUPLICATE, PUBLISHED

KIND_OF: Final = {
    "published": PUBLISHED,
    "delivered": DELIVERED,
    "duplicate": DUPLICATE,
    "asked": ASKED,
}
"""The events that are followed, and their numbers."""


def pack(stamps: Integers, numbers: Mapping[str, tuple[Integers, pa.Array]]) -> bytes:
    """Copies as bytes: their stamps, and columns as codes of numbers (below 0: none).

    The columns are those of ``propagation.INPUT``.
    """
    columns = {name: _narrow(codes, values) for name, (codes, values) in numbers.items()}
    batch = pa.record_batch({**columns, "stamp": pa.array(stamps)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    whole: bytes = sink.getvalue().to_pybytes()
    return whole


def _narrow(codes: Integers, values: pa.Array) -> pa.DictionaryArray:
    kind = np.min_scalar_type(max(1, len(values) - 1))
    nothing = codes < 0
    mask = nothing if nothing.any() else None
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(kind), mask=mask), values)


def unpack(packs: Iterable[pa.Buffer]) -> pa.Table:
    """All copies in some packs."""
    tables = [_wide(pa.ipc.open_stream(each).read_all()) for each in packs]
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()


def _wide(table: pa.Table) -> pa.Table:
    """Packs differ in how many bytes a code needs."""
    fields = [
        pa.field(each.name, pa.dictionary(pa.int32(), each.type.value_type))
        if pa.types.is_dictionary(each.type) else each
        for each in table.schema
    ]  # fmt: skip
    return table.cast(pa.schema(fields))
