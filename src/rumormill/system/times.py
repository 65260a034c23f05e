"""Times as numbers: records and tables have microseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def micros_of(time: datetime) -> int:
    """Microseconds since 1970; a time without a zone is in that of the process."""
    if time.tzinfo is None:  # as Spark hands times over
        time = time.astimezone(UTC)
    return (time - EPOCH) // timedelta(microseconds=1)


def time_of(micros: int) -> datetime:
    """The other way round.

    >>> time_of(micros_of(EPOCH) + 1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    return EPOCH + timedelta(microseconds=micros)
