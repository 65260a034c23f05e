"""Arrow arrays made from their buffers.

``pa.array`` and ``pa.scalar`` load pandas where it is installed, to look whether they were given
something of it. In a Python worker of Spark that is half a second before the first row, and ten
milliseconds of garbage collection after every task.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa


def number_array(values: np.ndarray) -> pa.Array:
    """An array of integers; the values are not copied.

    >>> number_array(np.arange(3, dtype=np.int32)).to_pylist()
    [0, 1, 2]
    """
    kind = pa.int32() if values.dtype == np.int32 else pa.int64()
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def text_array(texts: Sequence[str]) -> pa.Array:
    """An array of texts.

    >>> text_array(["rain", "", "snö"]).to_pylist()
    ['rain', '', 'snö']
    """
    encoded = [text.encode() for text in texts]
    ends = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum([len(each) for each in encoded], out=ends[1:])
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def repeated_array(value: int | str, count: int) -> pa.Array:
    """One and the same value; integers have 32 bits.

    >>> repeated_array("rain", 2).to_pylist(), repeated_array(7, 3).to_pylist()
    (['rain', 'rain'], [7, 7, 7])
    """
    if isinstance(value, int):
        return number_array(np.full(count, value, np.int32))
    encoded = value.encode()
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(len(encoded))
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(encoded * count)]
    return pa.Array.from_buffers(pa.string(), count, buffers)
