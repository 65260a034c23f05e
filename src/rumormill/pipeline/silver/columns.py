"""Expressions that several tables share: minutes, hours, ranges of time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from rumormill.pipeline.lake.declared import columns_of
from rumormill.system.times import time_of

SECOND_US: Final = 1_000_000
MINUTE_US: Final = 60 * SECOND_US
HOUR_US: Final = 60 * MINUTE_US

Span = tuple[int, int]
"""A range of times in microseconds, the second not included."""


def minute_of(time: Column) -> Column:
    """The minute that a time is in.

    ``date_trunc`` asks for the time zone at each row and is several times slower.
    """
    micros = F.unix_micros(time)
    return F.timestamp_micros(micros - F.pmod(micros, F.lit(MINUTE_US)))


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


MANY: Final = 200
"""Minutes that are named one by one; of more, Iceberg would not look at what a manifest holds."""

MOST: Final = 100
"""Ranges that a row is compared with one by one."""

NO_MINUTE: Final = -1
"""Not the begin of any minute: a set of one value Spark would take for that value."""


def within(time: str, spans: Sequence[Span]) -> Column:
    """Whether a time is in one of the ranges; files and partitions can be chosen by it.

    Of whole minutes as a set: Spark writes other constants into the code that it compiles, so what
    was compiled for one step would not serve the next, and each would begin cold.

    Many ranges are said twice: as few that hold them all, which Iceberg goes by, and as a set of
    minutes, since thousands of comparisons for each row take long, and longer to compile.
    """
    if time == "minute" and sum(end - begin for begin, end in spans) <= MANY * MINUTE_US:
        return _in_set(time, spans)
    if len(spans) <= MOST:
        return in_ranges(time, spans)
    exactly = _in_set(time, spans) if time == "minute" else _in_pieces(time, spans)
    return in_ranges(time, fewer(spans)) & exactly


def in_minutes(minutes: Iterable[int], column: str = "minute") -> Column:
    """Whether a minute is one of these."""
    return within(column, minutes_around(minutes, 0, 0))


def between(rows: DataFrame, spans: Sequence[Span], time: str = "time") -> DataFrame:
    """The rows of some ranges of any times, which files are chosen by.

    Compiled apart from what is done with them, as the ranges stand in the code as constants:
    what comes after it is then the same code in each step. To coalesce into more tasks than there
    are parts them in the plan and joins none; only where files say on which machine they lie, as on
    HDFS, Spark may put two of them into one task.
    """
    return rows.where(within(time, spans)).coalesce(ALL_TASKS)


ALL_TASKS: Final = 1 << 30
"""More than any frame has."""


def fewer(spans: Sequence[Span], most: int = MOST) -> list[Span]:
    """At most so many ranges that hold all of these: those nearest to each other are joined.

    >>> fewer([(0, 1), (2, 3), (90, 91)], 2)
    [(0, 3), (90, 91)]
    """
    ordered = sorted(spans)
    gaps = sorted(range(1, len(ordered)), key=lambda at: ordered[at - 1][1] - ordered[at][0])
    cuts = [0, *sorted(gaps[: most - 1]), len(ordered)]
    return [
        (ordered[first][0], max(end for _, end in ordered[first:after]))
        for first, after in pairwise(cuts)
        if first < after
    ]


def in_ranges(time: str, spans: Sequence[Span]) -> Column:
    """Whether a time is in one of the ranges, of which there are few; Iceberg knows which hold
    whole partitions."""
    column = F.col(time)
    return _any_of([(column >= literal(begin)) & (column < literal(end)) for begin, end in spans])


def _any_of(conditions: Sequence[Column]) -> Column:
    """As a tree that is no deeper than it must be: Java goes down into it, and its stack ends."""
    if not conditions:
        return F.lit(False)
    if len(conditions) == 1:
        return conditions[0]
    middle = len(conditions) // 2
    return _any_of(conditions[:middle]) | _any_of(conditions[middle:])


def _in_set(minute: str, spans: Sequence[Span]) -> Column:
    """The same of a column of whole minutes, which tables are divided by: Iceberg knows sets."""
    each = {
        micros
        for begin, end in spans
        for micros in range(begin + -begin % MINUTE_US, end, MINUTE_US)
    }
    return _one_of(
        f"`{minute}`", [f"timestamp_micros({micros})" for micros in [NO_MINUTE, *sorted(each)]]
    )


def _in_pieces(time: str, spans: Sequence[Span]) -> Column:
    """The same of any time, by sets of minutes: whole ones, and those with equal parts of them."""
    pieces: dict[Span, set[int]] = defaultdict(set)
    for begin, end in spans:
        for minute in range(begin - begin % MINUTE_US, end, MINUTE_US):
            pieces[max(begin - minute, 0), min(end - minute, MINUTE_US)].add(minute)
    rest = f"pmod(unix_micros(`{time}`), {MINUTE_US})"
    each = [
        _one_of(f"unix_micros(`{time}`) - {rest}", [str(minute) for minute in sorted(minutes)])
        & F.expr(f"{rest} >= {since} and {rest} < {until}")
        for (since, until), minutes in pieces.items()
    ]
    return _any_of(each)


def _one_of(value: str, others: Sequence[str]) -> Column:
    """As text, that Java reads at once: a call for each of thousands would take seconds."""
    return F.expr(f"{value} in ({', '.join(others)})")


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


def nothing(spark: SparkSession, columns: StructType) -> DataFrame:
    """A frame without rows, settled."""
    return spark.createDataFrame(to_arrow_schema(columns).empty_table(), columns)


def as_declared(frame: DataFrame, columns: str) -> DataFrame:
    """The columns of a table in their order, with their types."""
    types = columns_of(columns)
    return frame.select(
        *[F.col(f"`{name}`").cast(kind).alias(name) for name, kind in types.items()]
    )
