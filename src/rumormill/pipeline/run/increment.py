"""One step of refinement: everything brought up to date with the events that bronze has more.

Work follows the new events. Their minutes are made anew from all events of those minutes, so that
late ones mend them; then the publications and deliveries that they touch; then gold, for all these
minutes. What must be known from earlier is small: who runs, who is subscribed, who is in whose
mesh. These tables of state are written last, just before the ledger: whatever is killed on the way,
the next step starts from the state of the last one, finds the same minutes and replaces the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import HOUSE, GoldTable, Registry
from rumormill.pipeline.lake import schema
from rumormill.pipeline.lake.schema import Layout, Table
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.run.affected import Affected
from rumormill.pipeline.run.graph import run_in_order
from rumormill.pipeline.run.scope import Scope
from rumormill.pipeline.run.state import STATE, State
from rumormill.pipeline.run.totals import with_totals
from rumormill.pipeline.silver import clocks
from rumormill.pipeline.silver.columns import (
    MINUTE_US,
    as_declared,
    in_minutes,
    minute_of,
    minutes_around,
    within,
)
from rumormill.pipeline.silver.counters import counters
from rumormill.pipeline.silver.deliveries import Deliveries, Sources
from rumormill.pipeline.silver.publications import publications
from rumormill.system.times import time_of

Stage = Callable[[str], None]
"""Hears the name of each table before it is made; may raise to stop."""

MARGIN_US = 120 * 1_000_000


@dataclass(frozen=True)
class Refined:
    """What a step did."""

    batch: int
    snapshot: int
    events: int
    minutes: list[int] = field(repr=False)


class Increment:
    """Refines what bronze has more than the ledger says."""

    def __init__(
        self,
        lake: Lake,
        *,
        gold: Registry = HOUSE,
        margin_us: int = MARGIN_US,
        stage: Stage = lambda table: None,
    ) -> None:
        self._lake = lake
        self._gold = gold
        self._margin_us = margin_us
        self._stage = stage

    def run(self) -> Refined | None:
        """Refine what is new; None if nothing is."""
        newest = self._lake.snapshot(schema.TRACE)
        batch, refined = self._ledger()
        if newest is None or newest == refined:
            return None
        if refined is not None and not self._lake.has_snapshot(schema.TRACE, refined):
            refined = None  # expired long ago: everything counts as new
        new = self._lake.added(schema.TRACE, refined, newest)
        found = new.groupBy(minute_of(F.col("time")).alias("minute")).agg(F.count("*").alias("n"))
        rows = found.select(F.unix_micros("minute").alias("minute"), "n").collect()
        if not rows:
            return None
        minutes = sorted(row.minute for row in rows)
        trace = self._lake.added(schema.TRACE, None, newest)
        made = _Step(self, trace, new, minutes, batch == 0).run()
        done = Refined(batch + 1, newest, sum(row.n for row in rows), made)
        self._write_ledger(done)
        return done

    def _ledger(self) -> tuple[int, int | None]:
        rows = self._lake.read(schema.BATCHES).collect()
        return (rows[-1].batch, rows[-1].snapshot) if rows else (0, None)

    def _write_ledger(self, done: Refined) -> None:
        row = self._lake.spark.range(1).select(
            F.lit(done.batch).alias("batch"),
            F.lit(done.snapshot).alias("snapshot"),
            F.lit(done.events).alias("events"),
            F.lit(len(done.minutes)).alias("minutes"),
            F.lit(time_of(done.minutes[0])).alias("first_minute"),
            F.lit(time_of(done.minutes[-1])).alias("last_minute"),
            F.lit(datetime.now(UTC)).alias("refined_at"),
        )
        self._lake.replace_whole(schema.BATCHES, as_declared(row, schema.BATCHES.columns))


class _Step:
    """One run of it: the events, and what was found out so far."""

    def __init__(
        self, parent: Increment, trace: DataFrame, new: DataFrame, minutes: list[int], first: bool
    ) -> None:
        self._lake = parent._lake
        self._gold = parent._gold
        self._margin_us = parent._margin_us
        self._stage = parent._stage
        self._trace = trace
        self._new = new
        self._minutes = minutes
        self._first = first

    def run(self) -> list[int]:
        """All tables; the minutes that were made anew."""
        self._write_counters()
        state = State(self._lake, self._trace, self._minutes)
        affected = Affected(self._lake, self._new, self._minutes, self._margin_us)
        published = self._minutes if self._first else affected.publications(state)
        published = self._write_deliveries(state, published)
        others = set() if self._first else affected.others(state)
        every = sorted({*self._minutes, *published, *others})
        self._write_gold(state, every)
        run_in_order({table.path: ((), self._state_work(state, table)) for table in STATE})
        return every

    def _state_work(self, state: State, table: Table) -> Callable[[], None]:
        def work() -> None:
            self._say(table)
            state.write(table)

        return work

    def _say(self, table: Table) -> None:
        self._stage(table.path)

    # ---- silver

    def _write_counters(self) -> None:
        self._say(schema.COUNTERS)
        events = self._trace.where(within("time", minutes_around(self._minutes, 0, 0)))
        self._lake.replace_minutes(schema.COUNTERS, counters(events), self._minutes)

    def _write_deliveries(self, state: State, minutes: list[int]) -> list[int]:
        """Publications and deliveries; the minutes that were made, those of clocks included."""
        self._say(schema.PUBLICATIONS)
        around = minutes_around(minutes, self._margin_us, self._margin_us)
        rare = self._class(schema.RARE).where(within("time", around))
        published = publications(rare, state.promises, self._margin_us).where(in_minutes(minutes))
        self._lake.replace_minutes(schema.PUBLICATIONS, published.coalesce(1), minutes)
        self._make_deliveries(state, minutes, None)
        self._say(schema.WAYS)
        made = self._lake.read(schema.DELIVERIES).where(in_minutes(minutes))
        self._lake.replace_minutes(schema.WAYS, clocks.ways(made).coalesce(1), minutes)
        return self._correct_clocks(state, minutes)

    def _correct_clocks(self, state: State, minutes: list[int]) -> list[int]:
        """Deliveries once more, where clocks are off."""
        later = clocks.window_after(minutes)
        ways = self._lake.read(schema.WAYS).where(in_minutes(clocks.window_of(later)))
        wrong = clocks.offsets(ways, later)
        if wrong is None:
            return minutes
        known = self._lake.read(schema.PUBLICATIONS).where(in_minutes(later))
        rows = known.select(F.unix_micros("minute").alias("minute")).distinct().collect()
        chosen = sorted({*minutes, *(row.minute for row in rows)})
        self._make_deliveries(state, chosen, wrong)
        return chosen

    def _make_deliveries(
        self, state: State, minutes: Sequence[int], offsets: DataFrame | None
    ) -> None:
        self._say(schema.DELIVERIES)
        margin = self._margin_us
        around = minutes_around(minutes, 2 * margin, 2 * margin)
        near = within("time", minutes_around(minutes, margin, 2 * margin))
        published = self._lake.read(schema.PUBLICATIONS).where(within("minute", around))
        made = Deliveries(
            Sources(
                copies=self._class(schema.COPIES).where(near),
                asked=self._class(schema.ASKED).where(near),
                publications=published,
                subscriptions=state.members(minutes[0] - MINUTE_US),
                names=self._names(state, published, around),
                offsets=offsets,
                promises=state.promises,
                newest=state.some_newest,
            ),
            minutes,
            margin,
        )
        rows = made.rows().unionByName(made.strangers())
        self._lake.replace_minutes(schema.DELIVERIES, rows, minutes)

    def _names(
        self, state: State, published: DataFrame, around: Sequence[tuple[int, int]]
    ) -> DataFrame:
        counted = self._lake.read(schema.COUNTERS).where(within("minute", around))
        return (
            counted.select("network", F.col("node").alias("name"))
            .union(counted.select("network", "peer"))
            .union(published.select("network", "publisher"))
            .union(state.subscriptions.select("network", "node"))
        )

    def _class(self, name: str) -> DataFrame:
        return self._trace.where(F.col("class") == name)

    # ---- gold

    def _write_gold(self, state: State, minutes: list[int]) -> None:
        scope = Scope(self._lake, self._gold, minutes, self._margin_us, state.made)
        for each in self._gold.tables.values():
            self._lake.ensure(each.table)  # one after the other: namespaces are made once
        run_in_order(
            {
                name: (each.after, self._work(each, scope, minutes))
                for name, each in self._gold.tables.items()
            }
        )

    def _work(self, gold: GoldTable, scope: Scope, minutes: list[int]) -> Callable[[], None]:
        def work() -> None:
            self._say(gold.table)
            rows = gold.make(scope)
            if gold.sums:
                rows = with_totals(gold, rows, scope[gold.name], scope.totals(gold.name))
            rows = as_declared(rows, gold.table.columns).coalesce(1)
            if gold.table.layout is Layout.WHOLE:
                self._lake.replace_whole(gold.table, rows)
            else:
                self._lake.replace_minutes(gold.table, rows, minutes)

        return work
