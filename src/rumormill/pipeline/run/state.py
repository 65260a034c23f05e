"""What must be known from earlier: who runs, who saw whom, who is subscribed, who is meshed.

Made from what is stored and from the new events when a step begins, and written at its end.
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
from rumormill.pipeline.silver import runs as running
from rumormill.pipeline.silver.columns import (
    HOUR_US,
    MINUTE_US,
    in_minutes,
    literal,
    minute_of,
    settled,
    within,
)
from rumormill.pipeline.silver.mesh import mesh
from rumormill.pipeline.silver.subscriptions import subscriptions
from rumormill.system.times import micros_of

STATE: Final = (schema.SIGHTINGS, schema.RUNS, schema.SUBSCRIPTIONS, schema.MESH)


class State:
    """The tables of state, brought up to date with the events of some minutes."""

    def __init__(self, lake: Lake, trace: DataFrame, minutes: Sequence[int]) -> None:
        self._lake = lake
        self._trace = trace
        self._minutes = sorted(minutes)
        self.since_us = self._minutes[0] - self._minutes[0] % HOUR_US
        """Stretches are made anew from here on: the hour of the first new event."""
        self.made: dict[str, DataFrame] = {}

        rare = trace.where(F.col("class") == schema.RARE)
        self._rare = rare.where(F.col("time") >= literal(self.since_us))
        self._lately = rare.where(in_minutes(self._minutes, "time"))

    def work(self) -> dict[str, tuple[Sequence[str], Callable[[], None]]]:
        """What makes them, each after those that it reads; ``counters`` are there before."""
        return {
            "sightings": ((), self._make_sightings),
            "runs": (("sightings",), self._make_runs),
            "subscriptions": (("runs",), lambda: self._make(schema.SUBSCRIPTIONS, subscriptions)),
            "mesh": (("runs",), lambda: self._make(schema.MESH, mesh)),
        }

    def _make_sightings(self) -> None:
        made = running.sightings(self._lately, self._lake.read(schema.SIGHTINGS))
        self.made["sightings"] = settled(made)

    def _make_runs(self) -> None:
        made = running.runs(self._pieces(self._lately), self.made["sightings"])
        self.made["runs"] = settled(made)

    def _make(self, table: Table, make: Callable[..., DataFrame]) -> None:
        stored = self._lake.stretches(table, self.since_us)
        self.made[table.name] = settled(make(self._rare, stored, self.runs, self.since_us))

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
        return running.promises(self.runs)

    @cached_property
    def promised(self) -> dict[str, str]:
        """The same, here."""
        return {row.network: row.network_promise for row in self.promises.collect()}

    @property
    def some_newest(self) -> bool:
        """Whether there is a network of which only the newest value counts."""
        return running.NEWEST in self.promised.values()

    # ---- runs

    def _pieces(self, lately: DataFrame) -> DataFrame:
        opened = running.openings(lately)
        stored = self._lake.read(schema.RUNS)
        counted = self._lake.read(schema.COUNTERS).where(in_minutes(self._minutes))
        pieces = running.stored_pieces(stored)
        at = _minutes_of(opened, "at")
        split = running.split_by(stored, opened)
        spans = [(micros_of(row.since), micros_of(row.last_at)) for row in split.collect()]
        if spans:
            # An opening came late, in the midst of what was taken for one run.
            around = within("minute", [(begin - MINUTE_US, end + 1) for begin, end in spans])
            named = F.broadcast(split.select(*running.NODE).distinct())
            more = self._lake.read(schema.COUNTERS).where(around)
            counted = counted.unionByName(more.join(named, list(running.NODE), "left_semi"))
            # These minutes may hold openings that are known already, of the runs beside it too.
            known = _minutes_of(stored.where("opened"), "since").where(around)
            at = at.union(known.join(named, list(running.NODE), "left_semi"))
            pieces = self._without(split, stored)
        at = at.distinct()
        minutes = at.select(F.unix_micros("minute").alias("minute")).distinct().collect()
        events = self._trace.where(in_minutes([row.minute for row in minutes], "time"))
        active = running.activity(counted, events, at)
        return pieces.unionByName(opened).unionByName(active)

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
