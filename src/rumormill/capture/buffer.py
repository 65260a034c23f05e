"""Where records wait for the disk: filled by the event loop, emptied by the writer's thread.

Adding a record is a few hundred nanoseconds: no lock, no call into the system. Each step is one
operation on one list, which Python does whole; the counters have one writer each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Record = TypeVar("Record")


class Buffer(Generic[Record]):
    """A bounded list of records with their sizes in bytes."""

    __slots__ = (
        "_batch", "_batch_bytes", "_bytes_in", "_bytes_out", "_full", "_most", "_most_bytes",
        "_records", "_size_of", "_some", "added", "dropped",
    )  # fmt: skip

    def __init__(
        self,
        *,
        size_of: Callable[[Record], int],
        most: int,
        most_bytes: int,
        batch: int,
        batch_bytes: int,
        some: threading.Event,
        full: threading.Event,
    ) -> None:
        self._records: list[Record] = []
        self._size_of = size_of
        self._most, self._most_bytes = most, most_bytes
        self._batch, self._batch_bytes = batch, batch_bytes
        self._some, self._full = some, full
        self._bytes_in = 0
        self._bytes_out = 0
        self.dropped = 0
        """Records that found no room, ever."""
        self.added = 0
        """Records that found room, ever."""

    def __len__(self) -> int:
        return len(self._records)

    @property
    def has_batch(self) -> bool:
        """Whether there is enough for a full batch."""
        held = self._bytes_in - self._bytes_out
        return len(self._records) >= self._batch or held > self._batch_bytes

    def has_room(self, size: int) -> bool:
        """Whether :meth:`add` would take a record of that size."""
        held = self._bytes_in - self._bytes_out + size
        count = len(self._records)
        return count < self._most and (held <= self._most_bytes or not count)

    def add(self, record: Record, size: int) -> bool:
        """Take a record, or drop it if there is no room."""
        records = self._records
        held = self._bytes_in - self._bytes_out + size
        if len(records) >= self._most or (held > self._most_bytes and records):
            self.dropped += 1
            return False
        self._bytes_in += size
        self.added += 1
        records.append(record)
        # Looked at after it was added: were it before, the thread could take all others in
        # between and then wait for a signal that does not come.
        count = len(records)
        if count == 1:
            self._some.set()
        if count == self._batch or held > self._batch_bytes >= held - size:
            self._full.set()
        return True

    def take(self) -> list[Record]:
        """The records of the next batch, oldest first; only for the writer's thread."""
        records = self._records
        taken = records[: self._batch]
        size_of, size, count = self._size_of, 0, 0
        for record in taken:
            size += size_of(record)
            if size > self._batch_bytes and count:
                size -= size_of(record)
                break
            count += 1
        del records[:count]
        self._bytes_out += size
        return taken[:count]

    def close(self) -> None:
        """Take nothing more."""
        self._most = 0
