"""Where records wait for the disk: filled by the event loop, emptied by the writer's thread.

Adding a record is a few hundred nanoseconds: no lock, no call into the system. Each step is one
operation on one list, which Python does whole; the counters have one writer each.

When the disk does not keep up, records are lost; whose, is not for whoever makes most of them to
decide. Half of the buffer is for all, first come, first served. Of the other half each peer may
have at most as many places as are left, so the more it has, the sooner it is refused, and none
takes the last; records that a peer can repeat at will get none of it. What is of no peer is taken
as long as there is any room.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

Record = TypeVar("Record")

LEAST: Final = ""
"""No peer's name: that of records which are the first to be dropped."""


class Buffer(Generic[Record]):
    """A bounded list of records with their sizes in bytes.

    ``claim_of`` says whose place a record takes: a peer's, nobody's, or that of the :data:`LEAST`.
    Without it, all are alike.
    """

    __slots__ = (
        "_batch", "_batch_bytes", "_bytes_in", "_bytes_out", "_claim_of", "_claims",
        "_claims_since", "_full", "_most", "_most_bytes", "_records", "_size_of", "_some", "_taken",
        "added", "dropped",
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
        claim_of: Callable[[Record], str | None] | None = None,
    ) -> None:
        self._records: list[Record] = []
        self._size_of = size_of
        self._most, self._most_bytes = most, most_bytes
        self._batch, self._batch_bytes = batch, batch_bytes
        self._some, self._full = some, full
        self._bytes_in = 0
        self._bytes_out = 0
        self._taken = 0
        self._claim_of = claim_of
        self._claims: dict[str, tuple[int, int]] = {}
        """Of the second half: places and bytes that each peer got since..."""
        self._claims_since = 0
        """... so many records were taken."""
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
        half_full = 2 * len(records) >= self._most or 2 * held > self._most_bytes
        if half_full and not self._granted(record, size, held):
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

    def _granted(self, record: Record, size: int, held: int) -> bool:
        """Whether a record may have a place in the second half."""
        claim = None if self._claim_of is None else self._claim_of(record)
        if claim is None:
            return True
        if claim == LEAST:
            return False
        if 4 * (self._taken - self._claims_since) >= self._most:
            # A quarter was written meanwhile: what somebody had before does not count for ever.
            self._claims.clear()
            self._claims_since = self._taken
        places, total = self._claims.get(claim, (0, 0))
        if places >= self._most - len(self._records) or total > self._most_bytes - held:
            return False
        self._claims[claim] = places + 1, total + size
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
        self._taken += count
        return taken[:count]

    def close(self) -> None:
        """Take nothing more."""
        self._most = 0
