"""A log: one kind of records of one spool, wherever it is kept, and what can be wrong with it.

    log = open_log("spool", "messages")
    bounds = log.bounds()
    for offset, batch in log.read(bounds.earliest, bounds.latest):
        ...                                # ``offset`` is that of the first row of ``batch``

Offsets never repeat and never go back. They may leave numbers out: after an unclean end a writer
goes on behind every offset that a reader may have seen (see
:mod:`rumormill.capture.writing.recovery`). Such a *gap* never held a record, so ``read`` passes
over it. What did hold records and cannot be read any more is an error that says which offsets are
concerned; whoever can do without them goes on at its ``end``, as :func:`read_what_is_left` does.

This module imports nothing heavy: who only wants the errors need not have pyarrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rumormill.core.errors import RumormillError
from rumormill.system.packages import require

if TYPE_CHECKING:
    import pyarrow as pa

    from rumormill.capture.reading.wanted import Wanted


class Bounds(NamedTuple):
    """Which offsets there are now.

    >>> Bounds(10, 25).latest
    25
    """

    earliest: int
    """The first that is kept."""
    latest: int
    """One past the last: the offset that the next record gets, or a smaller one."""


class Span(NamedTuple):
    """Offsets from ``start`` up to, not including, ``end``."""

    start: int
    end: int


class Log(Protocol):
    """One kind of records of one spool. Any number of readers may use it while it is written."""

    @property
    def spool_id(self) -> str:
        """The spool's own name, 32 hexadecimal digits; the same wherever it is read from."""
        ...

    @property
    def kind(self) -> str:
        """``messages`` or ``trace``."""
        ...

    @property
    def source(self) -> str:
        """The folder or the address, for sentences about it."""
        ...

    def bounds(self) -> Bounds:
        """Which offsets there are now."""
        ...

    def offset_at(self, time_us: int) -> int:
        """An offset before which every record is older than that; never too late.

        The latest one if all are older.
        """
        ...

    def spans(self, start: int, end: int) -> list[Span]:
        """The parts of [start, end) that hold, or held, a record at every offset.

        What lies between them is a gap.
        """
        ...

    def read(
        self, start: int, end: int, wanted: Wanted | None = None
    ) -> Iterator[tuple[int, pa.RecordBatch]]:
        """The records with offsets in [start, end): batches, each with its first offset.

        Batches that hold nothing of what is ``wanted`` may be passed over; it counts their rows.
        Raises :class:`DataLostError` and :class:`CorruptSegmentError`.
        """
        ...


class SpoolError(RumormillError):
    """Something is wrong with a spool; the sentence names its folder or address."""


class SpoolLockedError(SpoolError):
    """Another process writes to the spool; ``pid`` is its number, if it is known."""

    def __init__(self, folder: str, pid: int | None) -> None:
        super().__init__(folder, pid)
        self.folder = folder
        self.pid = pid

    def __str__(self) -> str:
        who = f"process {self.pid}" if self.pid else "another process"
        return f"{self.folder}: {who} writes to this spool; two writers would spoil it"


class UnreadableError(SpoolError):
    """Records that cannot be read: those with offsets in [start, end)."""

    def __init__(
        self, source: str, kind: str, start: int, end: int, reason: str, file: str | None = None
    ) -> None:
        super().__init__(source, kind, start, end, reason, file)
        self.source = source
        self.kind = kind
        self.start = start
        self.end = end
        self.reason = reason
        self.file = file

    def __str__(self) -> str:
        where = self.file or self.source
        return f"{where}: {self.kind} {self.start} to {self.end - 1}: {self.reason}"


class DataLostError(UnreadableError):
    """They are gone, by retention, or never were there.

    >>> print(DataLostError("spool", "trace", 0, 500, "removed by retention, the first is 500"))
    spool: trace 0 to 499: removed by retention, the first is 500
    """


class CorruptSegmentError(UnreadableError):
    """They are there, but not as they were written; ``file`` is the file that was changed."""


def read_what_is_left(
    log: Log,
    start: int,
    end: int,
    lost: Callable[[UnreadableError], object],
    wanted: Wanted | None = None,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Read [start, end), calling ``lost`` for every range that cannot be read, and going on.

    This is what ``failOnDataLoss=false`` means.
    """
    position = start
    while position < end:
        try:
            for offset, batch in log.read(position, end, wanted):
                yield offset, batch
                position = offset + batch.num_rows
            return
        except UnreadableError as error:
            lost(error)
            position = max(error.end, position + 1)


def require_pyarrow() -> None:
    """Raise :class:`ConfigError` that says how to get pyarrow, if it is not installed."""
    require(("pyarrow",), "rumormill[node]", "a spool", key="spool")
