"""What must be known from earlier: who runs, who saw whom, who is subscribed, who is meshed.

Made from what is stored and from the new events when a step begins, and written at its end. What
the new events say nothing of stays as it is stored: it is neither made nor written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.lake import schema
from rumormill.pipeline.lake.schema import Layout, Table
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.run.news import News
from rumormill.pipeline.silver import runs as running
from rumormill.pipeline.silver.columns import (
    HOUR_US,
    MINUTE_US,
    between,
    in_minutes,
    literal,
    minute_of,
    minutes_around,
    settled,
    within,
)
from rumormill.pipeline.silver.mesh import mesh
from rumormill.pipeline.silver.subscriptions import subscriptions
from rumormill.system.times import micros_of

STATE: Final = (schema.SIGHTINGS, schema.SUBSCRIPTIONS, schema.MESH, schema.RUNS)
"""Runs are written when the others are: whether those have to be made is asked of them."""

OPENED: Final = "network_opened"
SIGHTED: Final = ("peer_joined", "peer_left", "peer_identified")
TELLING: Final = {
    schema.SUBSCRIPTIONS.name: ("subscribed", "unsubscribed", "node_crashed", "peer_subscribed"),
    schema.MESH.name: ("grafted", "pruned", "peer_left", "unsubscribed", "node_crashed"),
}
"""Events that stretches are made from."""
TOLD: Final = ("network", "topic", "node", "peer", "time", "event", "reason", "fields")
"""What of them."""


class State:
    """The tables of state, brought up to date with the events of some minutes."""

    def __init__(self, lake: Lake, trace: DataFrame, news: News, few: bool) -> None:
        self._lake = lake
        self._trace = trace
        self._news = news
        self._few = few
        """Whether few events are read: then those that are read over and over are read once."""
        self._minutes = news.minutes
        self.since_us = self._minutes[0] - self._minutes[0] % HOUR_US
        """Stretches are made anew from here on: the hour of the first new event."""
        self.made: dict[str, DataFrame] = {}
        self.stored: dict[str, DataFrame] = {}
        """As they were; of stretches, those that were not told to be over at :attr:`since_us`."""
        self.unchanged: set[str] = set()
        """Those that are as they were."""

        rare = trace.where(F.col("class") == schema.RARE)
        self._rare = rare.where(F.col("time") >= literal(self.since_us))
        self._lately = between(rare, minutes_around(self._minutes, 0, 0))

    def work(self) -> dict[str, tuple[Sequence[str], Callable[[], None]]]:
        """What makes them, each after those that it reads; ``counters`` are there before."""
        return {
            "sightings": ((), self._make_sightings),
            "runs": (("sightings",), self._make_runs),
            "subscriptions": (("runs",), lambda: self._make(schema.SUBSCRIPTIONS, subscriptions)),
            "mesh": (("runs",), lambda: self._make(schema.MESH, mesh)),
        }

    def _keep(self, table: Table) -> None:
        """Leave one as it is."""
        self.made[table.name] = self.stored[table.name]
        self.unchanged.add(table.name)

    def _take_stored(self, table: Table, rows: DataFrame) -> DataFrame:
        """These rows of it as they were; a table that was just made has none to ask for."""
        self.stored[table.name] = rows if self._lake.is_new(table) else settled(rows)
        return self.stored[table.name]

    def _make_sightings(self) -> None:
        stored = self._take_stored(schema.SIGHTINGS, self._lake.read(schema.SIGHTINGS))
        if self._news.tell_of(*SIGHTED):
            self.made["sightings"] = settled(running.sightings(self._lately, stored))
        else:
            self._keep(schema.SIGHTINGS)

    def _make_runs(self) -> None:
        self._take_stored(schema.RUNS, self._lake.read(schema.RUNS))
        found = settled(running.runs(self._pieces()))
        self.made["runs"] = settled(running.with_ends(found, self.made["sightings"]))

    def _make(self, table: Table, make: Callable[..., DataFrame]) -> None:
        stored = self._take_stored(table, self._lake.stretches(table, self.since_us))
        if self._news.tell_of(*TELLING[table.name]) or self._runs_differ:
            rare = self._rare.where(F.col("event").isin(*TELLING[table.name])).select(*TOLD)
            rare = settled(rare) if self._few else rare
            self.made[table.name] = settled(make(rare, stored, self.runs, self.since_us))
        else:
            self._keep(table)

    @cached_property
    def _runs_differ(self) -> bool:
        """Whether any run begins or ended otherwise than before."""
        end = F.when(F.col("ended"), F.col("last_at"))
        before, now = (
            set(each["runs"].select(*running.NODE, "since", end).collect())
            for each in (self.stored, self.made)
        )
        return before != now

    @property
    def runs(self) -> DataFrame:
        """As they are now."""
        return self.made["runs"]

    @property
    def subscriptions(self) -> DataFrame:
        """Those that were not told to be over at :attr:`since_us`."""
        return self.made["subscriptions"]

    def stretches(self, table: Table, since_us: int) -> DataFrame:
        """All stretches that were not told to be over at a time, be it before :attr:`since_us`."""
        made = self.made[table.name]
        if since_us >= self.since_us:
            return made
        hour = since_us - since_us % HOUR_US
        earlier = self._lake.stretches(table, hour).where(
            F.col("told_until") < literal(self.since_us)
        )
        return made.unionByName(earlier)

    def members(self, since_us: int) -> DataFrame:
        """The subscriptions that can count for messages published since then."""
        return self.stretches(schema.SUBSCRIPTIONS, since_us)

    @cached_property
    def promises(self) -> DataFrame:
        """What each network promises."""
        return settled(running.promises(self.runs))

    @cached_property
    def promised(self) -> dict[str, str]:
        """The same, here."""
        return {row.network: row.network_promise for row in self.promises.collect()}

    @property
    def some_newest(self) -> bool:
        """Whether there is a network of which only the newest value counts."""
        return running.NEWEST in self.promised.values()

    # ---- runs

    def _pieces(self) -> DataFrame:
        stored = self.stored["runs"]
        counted = self._lake.read(schema.COUNTERS).where(in_minutes(self._minutes))
        pieces = running.stored_pieces(stored)
        # Openings that are known already; new ones come with what is around them.
        at = _minutes_of(stored.where("opened"), "since").where(in_minutes(self._minutes))
        if self._news.tell_of(OPENED):
            opened = running.openings(self._lately)
            at = at.union(_minutes_of(opened, "at"))
            split = settled(running.split_by(stored, opened))
            spans = [(micros_of(row.since), micros_of(row.last_at)) for row in split.collect()]
            if spans:
                # An opening came late, in the midst of what was taken for one run.
                around = within("minute", [(begin - MINUTE_US, end + 1) for begin, end in spans])
                named = F.broadcast(split.select(*running.NODE).distinct())
                more = self._lake.read(schema.COUNTERS).where(around)
                counted = counted.unionByName(more.join(named, list(running.NODE), "left_semi"))
                # These minutes may hold openings that are known, of the runs beside it too.
                known = _minutes_of(stored.where("opened"), "since").where(around)
                at = at.union(known.join(named, list(running.NODE), "left_semi"))
                pieces = self._without(split, stored)
            pieces = pieces.unionByName(opened)
        at = settled(at.distinct())
        rows = at.select(F.unix_micros("minute").alias("minute")).collect()
        minutes = {row.minute for row in rows}
        if not minutes:
            return pieces.unionByName(running.quiet_activity(counted))
        events = between(self._trace, minutes_around(minutes, 0, 0))
        return pieces.unionByName(running.activity(counted, events, at))

    def _without(self, split: DataFrame, stored: DataFrame) -> DataFrame:
        """Stored runs; of those that are to be made anew, only that they began."""
        keys = [*running.NODE, "since"]
        whole = stored.join(split.select(*keys), keys, "left_anti")
        begun = stored.join(split.select(*keys), keys, "left_semi")
        begins = begun.withColumn("last_at", F.col("since"))
        return running.stored_pieces(whole).unionByName(running.stored_pieces(begins))

    # ---- at the end

    def write(self, table: Table) -> None:
        """Store one of :data:`STATE`."""
        rows = self.made[table.name]
        if table.layout is Layout.WHOLE:
            self._lake.replace_whole(table, rows.coalesce(1))
        else:
            self._lake.replace_stretches(table, rows.coalesce(1), self.since_us)


def _minutes_of(runs: DataFrame, column: str) -> DataFrame:
    """In which minutes of which nodes something lies."""
    return runs.select(*running.NODE, minute_of(F.col(column)).alias("minute"))
