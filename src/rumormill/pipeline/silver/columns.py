"""Expressions that several tables share: minutes, hours, ranges of time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake.declared import columns_of

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Span = tuple[int, int]
"""A range of times in microseconds, the second not included."""


def minute_of(time: Column) -> Column:
    """The minute that a time is in.

    ``date_trunc`` asks for the time zone at each row and is several times slower.
    """
    micros = F.unix_micros(time)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(MINUTE_US)))


def micros_of(time: datetime) -> int:
    """Microseconds since 1970."""
    if time.tzinfo is None:  # as Spark hands times over: in the zone of the process
        time = time.astimezone(UTC)
    return (time - EPOCH) // timedelta(microseconds=1)


def time_of(micros: int) -> datetime:
    """The other way round.

    >>> time_of(micros_of(EPOCH) + 1_500_000).isoformat()
    '1970-01-01T00:00:01.500000+00:00'
    """
    return EPOCH + timedelta(microseconds=micros)


def literal(micros: int) -> Column:
    """A time as a constant that files and partitions can be chosen by."""
    return F.lit(time_of(micros))


def minutes_around(minutes: Iterable[int], before_us: int, after_us: int) -> list[Span]:
    """The times of these minutes and of so much before and after, as few ranges as possible.

    >>> minutes_around([0, MINUTE_US, 10 * MINUTE_US], 0, 1)
    [(0, 120000001), (600000000, 660000001)]
    """
    spans: list[Span] = []
    for minute in sorted(set(minutes)):
        begin, end = minute - before_us, minute + MINUTE_US + after_us
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return spans


def within(time: str, spans: Sequence[Span]) -> Column:
    """Whether a time is in one of the ranges."""
    column = F.col(time)
    each = [(column >= literal(begin)) & (column < literal(end)) for begin, end in spans]
    return reduce(Column.__or__, each, F.lit(False))


def in_minutes(minutes: Iterable[int], column: str = "minute") -> Column:
    """Whether a minute is one of these."""
    return within(column, minutes_around(minutes, 0, 0))


def count_of_event() -> Column:
    """How many happenings an event stands for."""
    return F.coalesce("count", F.lit(1))


def share(part: Column, whole: Column) -> Column:
    """A part of a whole; null of nothing, where Spark would raise."""
    return F.when(whole > 0, part / whole)


def settled(frame: DataFrame) -> DataFrame:
    """The rows of a small frame as they are, without how they came about.

    What is used several times over would drag its whole plan into each of these places: planning
    would take longer than running.
    """
    return frame.sparkSession.createDataFrame(frame.toArrow(), frame.schema)


def as_declared(frame: DataFrame, columns: str) -> DataFrame:
    """The columns of a table in their order, with their types."""
    types = columns_of(columns)
    return frame.select(
        *[F.col(f"`{name}`").cast(kind).alias(name) for name, kind in types.items()]
    )
