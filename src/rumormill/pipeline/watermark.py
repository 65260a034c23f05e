"""Which minutes are over: the clock of a stream whose events come late and out of order.

The clock is the events' own. A spool has come as far as the newest time in it; the stream has come
as far as the spool that is furthest behind, so that one which is still being caught up with is
waited for. A spool that has brought nothing for a while is not: its node may be gone for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rumormill.pipeline.bronze import FileFacts

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
"""In microseconds, as all times here."""


class Watermark:
    """Before which time no more events are waited for.

    >>> watermark = Watermark(delay=30.0, patience=10.0)
    >>> watermark.saw("one", 95 * MINUTE, now=0.0)
    >>> watermark.saw("other", 65 * MINUTE, now=0.0)
    >>> watermark.at(now=1.0) == 65 * MINUTE - 30 * SECOND
    True
    >>> watermark.saw("one", 95 * MINUTE, now=100.0)
    >>> watermark.at(now=100.0) == 95 * MINUTE - 30 * SECOND
    True
    """

    def __init__(self, delay: float, patience: float) -> None:
        self._delay_us = round(delay * SECOND)
        self._patience = patience
        self._newest: dict[str, int] = {}
        self._heard: dict[str, float] = {}

    def saw(self, spool: str, time_us: int, now: float) -> None:
        """A spool brought an event of this time; ``now`` is the time on the wall."""
        self._newest[spool] = max(time_us, self._newest.get(spool, time_us))
        self._heard[spool] = now

    def saw_files(self, files: Iterable[FileFacts], now: float) -> None:
        """The same for whole files; one with records of several spools tells nothing of each."""
        for facts in files:
            if facts.spool is not None:
                self.saw(facts.spool, facts.last_us, now)

    def at(self, now: float) -> int | None:
        """The watermark; None as long as nothing came."""
        waited_for = [
            newest
            for spool, newest in self._newest.items()
            if now - self._heard[spool] <= self._patience
        ]
        if waited_for:
            return min(waited_for) - self._delay_us
        return max(self._newest.values(), default=0) - self._delay_us if self._newest else None


def minute_of(time_us: int) -> int:
    """The beginning of the minute of a time.

    >>> minute_of(61 * SECOND) // SECOND
    60
    """
    return time_us - time_us % MINUTE
