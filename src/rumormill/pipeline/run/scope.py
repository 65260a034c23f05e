"""The tables as a gold function sees them: in the minutes that are made anew, or in sum."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.core.errors import ConfigError
from rumormill.pipeline.gold.registry import Registry
from rumormill.pipeline.lake.schema import SILVER, Layout, Table
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.silver.columns import (
    HOUR_US,
    MINUTE_US,
    in_minutes,
    literal,
    minutes_around,
    settled,
    within,
)
from rumormill.system.times import time_of

AT_HAND: Final = 50_000
"""Rows of a table, at most, that the driver keeps while gold is made."""


class Scope:
    """Some minutes of the tables of a lake. Implements :class:`rumormill.pipeline.gold.Tables`."""

    def __init__(
        self,
        lake: Lake,
        gold: Registry,
        minutes: Sequence[int],
        margin_us: int,
        made: Mapping[str, DataFrame],
    ) -> None:
        self._lake = lake
        self._tables: dict[str, Table] = {table.name: table for table in SILVER}
        self._tables.update({name: each.table for name, each in gold.tables.items()})
        self._minutes = sorted(minutes)
        self._made = made
        self._shared = {
            before
            for each in gold.tables.values()
            for before in each.after
            if gold.tables[before].sums
        }
        self._at_hand: dict[str, DataFrame] = {}
        self.done: set[str] = set()
        """Gold tables that are up to date."""
        self._lock = threading.Lock()
        self.margin_us = margin_us

    @property
    def minutes(self) -> list[datetime]:
        """Those that are made anew, in order."""
        return [time_of(minute) for minute in self._minutes]

    @property
    def span(self) -> tuple[datetime, datetime]:
        """The first and the last of them."""
        return self.minutes[0], self.minutes[-1]

    def __getitem__(self, name: str) -> DataFrame:
        """The rows of these minutes; all rows of a table without minutes."""
        table = self._table(name)
        if table.layout is Layout.WHOLE:
            return self._whole(table)
        if table.layout is Layout.STRETCH:
            return self._overlapping(table)
        return self._rows(table).where(in_minutes(self._minutes))

    def totals(self, name: str) -> DataFrame:
        """The rows that are about all time."""
        return self._rows(self._table(name)).where("minute is null")

    def _rows(self, table: Table) -> DataFrame:
        """Those of these minutes and of all time, and maybe others.

        What several gold tables read, each of them in several places, is brought here if it is
        small: to plan so many readings takes longer than to read.
        """
        rows = self._lake.read(table)
        if table.name not in self._shared & self.done:
            return rows
        with self._lock:
            if table.name not in self._at_hand:
                few = self._lake.rows_written(table) <= AT_HAND
                wanted = rows.where(in_minutes(self._minutes) | F.col("minute").isNull())
                self._at_hand[table.name] = settled(wanted) if few else rows
            return self._at_hand[table.name]

    def recent(self, name: str, minutes: int) -> DataFrame:
        """Of each network, the rows of the last so many minutes that the table has any of it in.

        Networks of which nothing is made anew, and which have no rows in the last so many minutes
        of all, are left out: to find their last minute would be to read the whole table.
        """
        rows = self._lake.read(self._table(name))
        last = rows.agg(F.unix_micros(F.max("minute")).alias("minute")).collect()[0].minute
        if last is None:
            return rows
        span = minutes * MINUTE_US
        since = min(last + MINUTE_US - span, self._minutes[0])
        newest = settled(
            rows.where(F.col("minute") >= literal(since))
            .groupBy("network")
            .agg(F.max("minute").alias("newest"))
        )
        ends = [row.end for row in newest.select(F.unix_micros("newest").alias("end")).collect()]
        near = within("minute", minutes_around(ends, span - MINUTE_US, 0))
        age = F.unix_micros("newest") - F.unix_micros("minute")
        chosen = rows.where(near).join(F.broadcast(newest), "network").where(age < span)
        return chosen.select(*rows.columns)

    def _overlapping(self, table: Table) -> DataFrame:
        begin, end = self._minutes[0], self._minutes[-1] + MINUTE_US
        made = self._made.get(table.name)
        if made is None:
            made = self._lake.stretches(table, begin - begin % HOUR_US)
        until = F.col("until").isNull() | (F.col("until") >= literal(begin))
        return made.where((F.col("since") < literal(end)) & until)

    def _whole(self, table: Table) -> DataFrame:
        made = self._made.get(table.name)
        return self._lake.read(table) if made is None else made

    def _table(self, name: str) -> Table:
        found = self._tables.get(name)
        if found is None:
            raise ConfigError(
                "gold", f"there is no table {name!r}; there are {', '.join(self._tables)}"
            )
        return found


class Watched:
    """The same tables; it remembers which of them a function looked at."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.margin_us = scope.margin_us
        self.names: set[str] = set()

    @property
    def minutes(self) -> list[datetime]:
        """As the scope has them; who asks may make rows of a minute that is in no table."""
        self.names.add("minutes")
        return self._scope.minutes

    @property
    def span(self) -> tuple[datetime, datetime]:
        """As the scope has it."""
        self.names.add("minutes")
        return self._scope.span

    def __getitem__(self, name: str) -> DataFrame:
        """As the scope has it."""
        self.names.add(name)
        return self._scope[name]

    def totals(self, name: str) -> DataFrame:
        """As the scope has them."""
        self.names.add(name)
        return self._scope.totals(name)

    def recent(self, name: str, minutes: int) -> DataFrame:
        """As the scope has them."""
        self.names.add(name)
        return self._scope.recent(name, minutes)
