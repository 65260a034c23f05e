"""What the events of a step tell of, in a few numbers: what they do not, stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake.schema import CLASSES, RARE
from rumormill.pipeline.silver.columns import minute_of


@dataclass(frozen=True)
class News:
    """Of new events: how many each minute has, which kinds there are, whether any has a reason."""

    counts: Mapping[int, int] = field(repr=False)
    kinds: frozenset[str]
    reasons: bool
    rare: int
    """How many of them are of the class that state is made from."""
    too_late: int = 0
    """Events before what bronze still holds whole."""

    @property
    def minutes(self) -> list[int]:
        """In which they happened, in order."""
        return sorted(self.counts)

    @property
    def events(self) -> int:
        """How many there are."""
        return sum(self.counts.values())

    def tell_of(self, *kinds: str) -> bool:
        """Whether there are events of any of these kinds."""
        return not self.kinds.isdisjoint(kinds)


def news_of(new: DataFrame, border: int) -> News:
    """The news in events of a trace; what is before ``border`` is only counted."""
    found = new.groupBy(minute_of(F.col("time")).alias("minute"), "event").agg(
        F.count("*").alias("n"), F.count("reason").alias("reasons")
    )
    rows = found.select(F.unix_micros("minute").alias("minute"), "event", "n", "reasons").collect()
    told = [row for row in rows if row.minute >= border]
    counts: dict[int, int] = {}
    for row in told:
        counts[row.minute] = counts.get(row.minute, 0) + row.n
    return News(
        counts,
        kinds=frozenset(row.event for row in told),
        reasons=any(row.reasons for row in told),
        rare=sum(row.n for row in told if row.event in CLASSES[RARE]),
        too_late=sum(row.n for row in rows) - sum(counts.values()),
    )
