"""What is told about a disk that fails and about records that are lost.

Once for each time that it lasts: an event at its beginning, the number of lost records at its end;
if it goes on and on, the number so far, every minute.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from typing import Final

from rumormill.capture.schema import MESSAGES
from rumormill.capture.writing.appender import FULL, DisplacedError
from rumormill.core import trace

SPOOL_FAILED: Final = "spool_failed"
"""The disk takes no more records for now. Fields: kind, reason, detail."""
SPOOL_RESUMED: Final = "spool_resumed"
"""It takes them again. Fields: kind, seconds."""

CAPTURED: Final = "captured_"
"""So begins ``what`` in ``dropped`` events about records lost on their way to the spool."""
SPOOL_MENDED: Final = "spool_mended"
"""The index of the segment that is being written was damaged, and made anew. Fields: kind."""
REMOVED: Final = "spool_removed"
"""The reason of what is told if files of the spool are removed, moved or cut under the writer."""

SHORTEST_RETRY: Final = 0.1
LONGEST_RETRY: Final = 5.0
"""Seconds before a failed write is tried again: at first, and at most."""

QUIET: Final = 1.0
"""Seconds without a loss after which it is told how many there were..."""
PATIENCE: Final = 60.0
"""... and seconds after which it is told though it goes on."""

Report = Callable[..., None]
"""Called with the name of an event and its fields."""


class Failure:
    """A disk that takes no records: since when, why, and when it is tried again."""

    def __init__(self, error: OSError) -> None:
        self.since = time.monotonic()
        self.reason = "disk_full" if error.errno in FULL else "disk_error"
        if isinstance(error, DisplacedError):
            self.reason = REMOVED
        self.detail = error.strerror or os.strerror(errno.EIO)
        self._delay = SHORTEST_RETRY
        self.next_try = self.since + self._delay

    def again(self) -> None:
        """It was tried and failed once more."""
        self._delay = min(2 * self._delay, LONGEST_RETRY)
        self.next_try = time.monotonic() + self._delay


class Losses:
    """Tells about one kind of records."""

    def __init__(self, kind: str, report: Report) -> None:
        self.failure: Failure | None = None
        self._kind = kind
        self._what = CAPTURED + ("message" if kind == MESSAGES else "event")
        self._report = report
        self._seen = self._told = 0
        self._first = self._last = 0.0

    # ---- the disk

    def failed(self, error: OSError) -> bool:
        """The disk failed; returns whether it did not before."""
        if self.failure is not None:
            self.failure.again()
            return False
        self.failure = Failure(error)
        self._report(
            SPOOL_FAILED, kind=self._kind, reason=self.failure.reason, detail=self.failure.detail
        )
        if isinstance(error, DisplacedError) and error.rows:
            # They were kept, and somebody took them away: not ours to lose, but to tell.
            self._report(trace.DROPPED, what=self._what, reason=REMOVED, count=error.rows)
        return True

    def mended(self) -> None:
        """The index was damaged under us; nothing is lost."""
        self._report(SPOOL_MENDED, kind=self._kind)

    def resumed(self, lost: int) -> None:
        """The disk works; it may have done so all the time."""
        if self.failure is not None:
            self.count(lost, time.monotonic(), at_once=True)
            seconds = round(time.monotonic() - self.failure.since, 3)
            self.failure = None
            self._report(SPOOL_RESUMED, kind=self._kind, seconds=seconds)

    # ---- records

    def unfit(self, count: int) -> None:
        """Records that no column can hold."""
        if count:
            self._report(trace.DROPPED, what=self._what, reason="not_storable", count=count)

    def due(self, lost: int, now: float) -> float:
        """When to look again, after ``lost`` records were lost in all."""
        return now + QUIET if lost > self._told else float("inf")

    def count(self, lost: int, now: float, at_once: bool = False) -> None:
        """See that ``lost`` records were lost in all for want of room, and tell it in due time."""
        if lost == self._told:
            return
        if lost != self._seen:
            if self._seen == self._told:
                self._first = now
            self._seen, self._last = lost, now
        over = self.failure is None and now - self._last >= QUIET
        if at_once or over or now - self._first >= PATIENCE:
            reason = self.failure.reason if self.failure else "spool_buffer_full"
            count = lost - self._told
            self._report(trace.DROPPED, what=self._what, reason=reason, count=count)
            self._told = self._seen = lost
