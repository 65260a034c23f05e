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

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.tables.columns import history as history_of
from rumormill.pipeline.tables.copies import copies, strangers
from rumormill.pipeline.tables.deliveries import deliveries
from rumormill.pipeline.tables.mesh import mesh
from rumormill.pipeline.tables.publications import publications, published
from rumormill.pipeline.tables.skew import corrected, skew
from rumormill.pipeline.tables.subscriptions import subscriptions
from rumormill.pipeline.tables.traffic import (
    activity,
    all_named,
    counters,
    counts,
    names,
    traffic,
)

Keep = Callable[[str, DataFrame], DataFrame]

PARTITIONS: Final = 8
PARTITION_ROWS: Final = 600_000
"""Copies that one Python worker gets at a time, as far as can be told beforehand..."""
COPIES_EACH: Final = 5
"""... from so many at each node."""


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
    window: Window | None = None,
    history: DataFrame | None = None,
    past: DataFrame | None = None,
    keep: Keep = as_it_is,
) -> Silver:
    """All silver tables of a trace. Runs a query of its own for the clocks (see ``skew.py``).

    With a ``window``, ``publications``, ``deliveries``, ``traffic`` and ``counters`` are those of
    that range of time only; ``mesh``, ``subscriptions`` and ``skew`` are of all time. For these
    ``history`` holds the rare events (:func:`rumormill.pipeline.tables.columns.history`) of all
    time, this window's included, and ``past`` the ``counters`` of earlier windows. What is not
    given is read from ``trace``.
    """
    events = trace if window is None else window.around(trace)
    rare = keep("history", history_of(trace)) if history is None else keep("_rare", history)
    near = rare if window is None else window.around(rare)
    spread = keep("_copies", _copies(events, near, window))
    known = _complete(names(rare), spread, events, keep)
    clocks = keep("skew", skew(spread, known, rare))
    events, rare = corrected(events, clocks), corrected(rare, clocks)
    sums = keep("_counts", counts(events if window is None else window.within(events)))
    known = _complete(known, sums, events, keep)
    counted = keep("counters", counters(sums, known))
    lately = counted if past is None else counted.unionByName(past)
    members = keep("subscriptions", subscriptions(rare, activity(lately)))
    meshes = keep("mesh", mesh(rare, members))
    near = rare if window is None else window.around(rare)
    messages = publications(published(near), members)
    messages = keep("publications", messages if window is None else window.within(messages))
    came = deliveries(spread, messages, strangers(events, spread), members, known, clocks)
    if window is not None:
        came = window.within(came.withColumn("at", F.coalesce("published_at", "time")), "at")
        came = came.drop("at")
    return Silver(
        publications=messages,
        deliveries=keep("deliveries", came),
        mesh=meshes,
        subscriptions=members,
        traffic=keep("traffic", traffic(sums, known)),
        counters=counted,
        skew=clocks,
    )


def _copies(events: DataFrame, near: DataFrame, window: Window | None) -> DataFrame:
    sent = published(near)
    nodes = near.select("network", "node").distinct().count()
    rows = sent.count() * nodes * COPIES_EACH
    return copies(
        events,
        sent,
        latest_us=None if window is None else window.latest_us,
        partitions=max(PARTITIONS, math.ceil(rows / PARTITION_ROWS)),
    )


def _complete(known: DataFrame, numbers: DataFrame, events: DataFrame, keep: Keep) -> DataFrame:
    """Names for all numbers. Mostly every node is in the history; else all events are read."""
    return known if all_named(numbers, known) else keep("_names", names(events))
