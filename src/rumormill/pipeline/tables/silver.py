"""From bronze to silver: all tables about single messages, links and subscriptions.

    tables = silver(trace)
    tables.deliveries.where("latency_ms > 1000").show()

A runner that writes the tables gives ``keep``: it is called with the name and the DataFrame of
each table as soon as it is defined, in the order of need, and returns the DataFrame to go on with,
read back from where it was written. So nothing is computed twice. A name with ``_`` in front is of
something that is needed several times on the way, and no more when the tables are there; so is
``history``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.deliveries import deliveries
from rumormill.pipeline.tables.digest import (
    buckets_for,
    copies_in,
    counts_in,
    digest,
    history_in,
    names_in,
)
from rumormill.pipeline.tables.digest_events import COUNT, Look
from rumormill.pipeline.tables.mesh import mesh
from rumormill.pipeline.tables.publications import publications, published
from rumormill.pipeline.tables.skew import ahead, corrected, skew
from rumormill.pipeline.tables.strangers import strangers
from rumormill.pipeline.tables.subscriptions import subscriptions
from rumormill.pipeline.tables.traffic import activity, counters, names, traffic
from rumormill.pipeline.tables.workers import ParquetFiles

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Keep = Callable[[str, DataFrame], DataFrame]


def as_it_is(name: str, table: DataFrame) -> DataFrame:
    """Keeps nothing: a table is computed where it is used, and each time."""
    return table


@dataclass(frozen=True)
class Window:
    """A range of publication times, ``since`` included, ``until`` not.

    ``margin``: how much later than its publication (or, with wrong clocks, earlier) a copy may come
    and still be known as its copy.
    Two windows that meet cover every event once, if they have the same margin.
    """

    since: datetime
    until: datetime
    margin: timedelta = timedelta(minutes=2)

    @property
    def latest_us(self) -> int:
        """The margin in microseconds."""
        return self.margin // timedelta(microseconds=1)

    def around(self, table: DataFrame) -> DataFrame:
        """The events in it, and those in the margin on both sides."""
        return _between(table, "time", self.since - self.margin, self.until + self.margin)

    def within(self, table: DataFrame, time: str = "time") -> DataFrame:
        """The rows whose time is in it."""
        return _between(table, time, self.since, self.until)


def _between(table: DataFrame, time: str, since: datetime, until: datetime) -> DataFrame:
    return table.where((F.col(time) >= F.lit(since)) & (F.col(time) < F.lit(until)))


@dataclass(frozen=True)
class Silver:
    """The silver tables; columns in :data:`rumormill.pipeline.tables.schema.SILVER`."""

    publications: DataFrame
    deliveries: DataFrame
    mesh: DataFrame
    subscriptions: DataFrame
    traffic: DataFrame
    counters: DataFrame
    skew: DataFrame


def silver(
    trace: DataFrame,
    *,
    files: ParquetFiles | None = None,
    window: Window | None = None,
    history: DataFrame | None = None,
    past: DataFrame | None = None,
    keep: Keep = as_it_is,
) -> Silver:
    """All silver tables of a trace. Runs a query of its own for the clocks (see ``skew.py``).

    With a ``window``, ``publications``, ``deliveries``, ``traffic`` and ``counters`` are those of
    that range of time only; ``mesh``, ``subscriptions`` and ``skew`` are of all time. For these
    ``history`` holds the rare events (:func:`rumormill.pipeline.tables.columns.history`) from
    before the window, and ``past`` the ``counters`` of earlier windows. What is not given is read
    from ``trace``. ``files``: those that ``trace`` is read from, if it is; see ``workers.py``.
    """
    events = trace if window is None else window.around(trace)
    latest = None if window is None else window.latest_us
    look = _look(trace.count() if files is None else files.rows, window)
    if window is not None and history is not None:
        look = replace(look, rare=look.followed)
    seen = keep("_digest", digest(trace, look, files))
    rare, named = keep("history", history_in(seen)), names_in(seen)
    if history is not None:
        rare = keep("_rare", _with_earlier(rare, history, window))
        named = named.union(names(rare))
    spread = keep("_copies", copies_in(seen, look.buckets, latest))
    known = keep("_names", named.distinct())
    clocks = keep("skew", skew(spread, known, rare))
    wrong = ahead(clocks)
    if wrong:
        again = replace(look, kinds=frozenset({COUNT}), ahead=wrong)
        seen = keep("_corrected", digest(trace, again, files))
        rare = corrected(rare, wrong)
    counted = keep("counters", counters(counts_in(seen), known))
    lately = counted if past is None else counted.unionByName(past)
    members = keep("subscriptions", subscriptions(rare, activity(lately)))
    meshes = keep("mesh", mesh(rare, members))
    near = rare if window is None else window.around(rare)
    messages = publications(published(near), members)
    messages = keep("publications", messages if window is None else window.within(messages))
    came = deliveries(spread, messages, strangers(events, spread), members, known, wrong)
    if window is not None:
        came = window.within(came.withColumn("at", F.coalesce("published_at", "time")), "at")
        came = came.drop("at")
    return Silver(
        publications=messages,
        deliveries=keep("deliveries", came),
        mesh=meshes,
        subscriptions=members,
        traffic=keep("traffic", traffic(counted)),
        counters=counted,
        skew=clocks,
    )


def _look(events: int, window: Window | None) -> Look:
    if window is None:
        return Look(buckets=buckets_for(events))
    since, until = _micros(window.since), _micros(window.until)
    margin = window.latest_us
    return Look(
        buckets=buckets_for(events),
        counted=(since, until),
        followed=(since - margin, until + margin),
    )


def _micros(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


def _with_earlier(rare: DataFrame, earlier: DataFrame, window: Window | None) -> DataFrame:
    """The rare events of all time: of a window those that are its own, and what was published."""
    if window is not None:
        rare = rare.where((F.col("time") >= F.lit(window.since)) | (F.col("event") == "published"))
    return earlier.unionByName(rare)
