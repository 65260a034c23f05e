"""Which topics each batch of a segment holds, in a file beside it: batches without one go unread.

One entry for each batch: where the batch ends, the names of its topics, and a checksum. It is a
help and never needed: what has no entry (an older writer, a file that was damaged or removed) may
hold any topic, and is read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Collection
from typing import Final

_HEAD = struct.Struct("<QHH")
_CHECKSUM = struct.Struct("<I")

MOST_BYTES: Final = 2048
"""Of the names of one batch; with more it counts as one that may hold any topic."""

ANY: Final = 0xFFFF


def encode_topics(row_end: int, topics: Collection[str]) -> bytes:
    """The entry of the batch that ends at ``row_end``.

    >>> sorted(TopicsView(encode_topics(10, ["rain", "snow"])).of(10) or ())
    [b'rain', b'snow']
    """
    names = sorted(topic.encode() for topic in topics)
    blob, count = b"\0".join(names), len(names)
    if len(blob) > MOST_BYTES or count == ANY or any(b"\0" in name for name in names):
        blob, count = b"", ANY
    body = _HEAD.pack(row_end, count, len(blob)) + blob
    return body + _CHECKSUM.pack(zlib.crc32(body))


class TopicsView:
    """The entries of one segment."""

    def __init__(self, data: bytes) -> None:
        self._found: dict[int, bytes] = {}
        self._sets: dict[bytes, frozenset[bytes]] = {}
        self.end = 0
        """Where the whole entries end."""
        while self.end + _HEAD.size + _CHECKSUM.size <= len(data):
            row_end, count, size = _HEAD.unpack_from(data, self.end)
            begin = self.end + _HEAD.size
            body, after = data[self.end : begin + size], begin + size + _CHECKSUM.size
            if after > len(data) or data[begin + size : after] != _CHECKSUM.pack(zlib.crc32(body)):
                break
            if count != ANY:
                blob = body[_HEAD.size :]
                self._found[row_end] = blob
                if blob not in self._sets:
                    self._sets[blob] = frozenset(blob.split(b"\0") if count else ())
            self.end = after

    def of(self, row_end: int) -> frozenset[bytes] | None:
        """The topics of the batch that ends there; None if it may hold any."""
        blob = self._found.get(row_end)
        return None if blob is None else self._sets[blob]
