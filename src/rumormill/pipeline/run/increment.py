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
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rumormill.pipeline.gold.registry import HOUSE, GoldTable, Registry
from rumormill.pipeline.lake import schema
from rumormill.pipeline.lake.schema import Layout, Table
from rumormill.pipeline.lake.store import Lake
from rumormill.pipeline.lake.trimmed import trimmed_until
from rumormill.pipeline.run.affected import Affected
from rumormill.pipeline.run.graph import run_in_order
from rumormill.pipeline.run.news import News, news_of
from rumormill.pipeline.run.pace import FEW_ROWS, paced
from rumormill.pipeline.run.scope import Scope, Watched
from rumormill.pipeline.run.state import STATE, State
from rumormill.pipeline.run.totals import with_totals
from rumormill.pipeline.silver import clocks
from rumormill.pipeline.silver.columns import (
    MINUTE_US,
    as_declared,
    between,
    in_minutes,
    literal,
    minutes_around,
    within,
)
from rumormill.pipeline.silver.counters import counters
from rumormill.pipeline.silver.deliveries import Deliveries, Sources
from rumormill.pipeline.silver.publications import publications
from rumormill.pipeline.silver.reasons import reasons
from rumormill.pipeline.silver.scored import scored
from rumormill.system.times import time_of

Stage = Callable[[str], None]
"""Hears the name of each table before it is made; may raise to stop."""

MARGIN_US = 120 * 1_000_000
NEVER = -(1 << 63)
"""Before all times."""

SCORED = "scored"
"""Events that tell the score of a peer."""

SMALLER = 5
"""So many times fewer rows than there are events does gold read, or more."""


@dataclass(frozen=True)
class Refined:
    """What a step did."""

    batch: int
    snapshot: int
    events: int
    minutes: list[int] = field(repr=False)
    too_late: int = 0
    """Events before what bronze still holds whole: they stay there, and are in no table."""


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
        with self._lake.steady():
            return self._run()

    def _run(self) -> Refined | None:
        newest = self._lake.snapshot(schema.TRACE)
        batch, refined = self._ledger()
        if newest is None or newest == refined:
            return None
        if refined is not None and not self._lake.has_snapshot(schema.TRACE, refined):
            refined = None  # expired long ago: everything counts as new
        # After the snapshot was chosen: of what is gone from it, this tells by now.
        held = trimmed_until(self._lake.spark, self._lake.name(schema.TRACE))
        border = self._first_whole_minute(held)
        new = self._lake.added(schema.TRACE, refined, newest)
        news = news_of(new, border)
        if not news.events:  # but a commit: small files were joined. It is not looked at again.
            passed = Refined(batch, newest, 0, [], news.too_late)
            self._write_ledger(passed)
            return passed if news.too_late else None
        trace = self._lake.added(schema.TRACE, None, newest)
        if held is not None:
            trace = trace.where(F.col("time") >= literal(held))
            new = new.where(F.col("time") >= literal(border))
        made = _Step(self, trace, new, news, batch == 0, border).run()
        done = Refined(batch + 1, newest, news.events, made, news.too_late)
        self._write_ledger(done)
        return done

    def _first_whole_minute(self, held: int | None) -> int:
        """The first that can be made of what bronze has, which is all that came since ``held``.

        A minute is made of events up to the margin before it.
        """
        if held is None:
            return NEVER
        return -(-(held + self._margin_us) // MINUTE_US) * MINUTE_US

    def _ledger(self) -> tuple[int, int | None]:
        rows = self._lake.read(schema.BATCHES).collect()
        return (rows[-1].batch, rows[-1].snapshot) if rows else (0, None)

    def _write_ledger(self, done: Refined) -> None:
        row = self._lake.spark.range(0, 1, 1, 1).select(
            F.lit(done.batch).alias("batch"),
            F.lit(done.snapshot).alias("snapshot"),
            F.lit(done.events).alias("events"),
            F.lit(len(done.minutes)).alias("minutes"),
            F.lit(time_of(done.minutes[0]) if done.minutes else None).alias("first_minute"),
            F.lit(time_of(done.minutes[-1]) if done.minutes else None).alias("last_minute"),
            F.lit(datetime.now(UTC)).alias("refined_at"),
        )
        self._lake.replace_whole(schema.BATCHES, as_declared(row, schema.BATCHES.columns))


class _Step:
    """One run of it: the events, and what was found out so far."""

    def __init__(
        self,
        parent: Increment,
        trace: DataFrame,
        new: DataFrame,
        news: News,
        first: bool,
        border: int,
    ) -> None:
        self._lake = parent._lake
        self._gold = parent._gold
        self._margin_us = parent._margin_us
        self._stage = parent._stage
        self._trace = trace
        self._new = new
        self._news = news
        self._minutes = news.minutes
        self._first = first
        self._border = border

    def run(self) -> list[int]:
        """All tables; the minutes that were made anew."""
        self._ensure_tables()
        spark, rows = self._lake.spark, self._rows_to_read()
        with paced(spark, rows):
            self._write_counts()
        with paced(spark, self._news.rare):
            state = State(self._lake, self._trace, self._news, self._news.rare < FEW_ROWS)
            run_in_order(state.work())
        with paced(spark, rows // SMALLER):
            affected = Affected(self._lake, self._new, self._news, self._margin_us)
            published = self._minutes if self._first else affected.publications(state)
        # What is before stays as it is: bronze has no longer what it was made of.
        published = [minute for minute in published if minute >= self._border]
        with paced(spark, rows):
            published = self._write_deliveries(state, published)
        with paced(spark, rows // SMALLER):
            others = set() if self._first else affected.others(state)
            every = sorted({*self._minutes, *published, *others})
            self._write_gold(state, every)
            self._write_state(state)
        return every

    def _ensure_tables(self) -> None:
        """Make those that are not there; the first of each layer before the others, as it makes
        the namespace."""
        tables = [*schema.SILVER, *(each.table for each in self._gold.tables.values())]
        first = {table.layer: table.path for table in reversed(tables)}
        run_in_order(
            {
                table.path: ({first[table.layer]} - {table.path}, partial(self._lake.ensure, table))
                for table in tables
            }
        )

    def _rows_to_read(self) -> int:
        """About how many events deliveries are made from: new ones, and those around them."""
        if self._first:
            return self._news.events
        around = minutes_around(self._minutes, self._margin_us, 2 * self._margin_us)
        known = self._lake.read(schema.COUNTERS).where(within("minute", around))
        rows = known.where("event in ('delivered', 'duplicate')").agg(F.sum("count").alias("n"))
        return self._news.events + (rows.collect()[0].n or 0)

    def _write_state(self, state: State) -> None:
        def write(table: Table) -> None:
            self._say(table)
            state.write(table)

        *others, runs = [table for table in STATE if table.name not in state.unchanged]
        run_in_order({table.path: ((), partial(write, table)) for table in others})
        write(runs)  # what was left unchanged is judged by them, also by a step that is run again

    def _say(self, table: Table) -> None:
        self._stage(table.path)

    # ---- silver

    def _write_counts(self) -> None:
        """What follows from the events of each minute alone, as far as new ones tell of it."""
        events = between(self._trace, minutes_around(self._minutes, 0, 0))
        # Neither reasons nor scores are told of single copies, which are most of a trace.
        others = events.where(F.col("class").isin(schema.RARE, schema.OTHER))
        made = [(schema.COUNTERS, counters(events))]
        if self._news.reasons:
            made.append((schema.REASONS, reasons(others)))
        if self._news.tell_of(SCORED):
            made.append((schema.SCORED, scored(others).coalesce(1)))
        run_in_order({table.path: ((), self._count_work(table, rows)) for table, rows in made})

    def _count_work(self, table: Table, rows: DataFrame) -> Callable[[], None]:
        def work() -> None:
            self._say(table)
            self._lake.replace_minutes(table, rows, self._minutes)

        return work

    def _write_deliveries(self, state: State, minutes: list[int]) -> list[int]:
        """Publications and deliveries; the minutes that were made, those of clocks included."""
        self._say(schema.PUBLICATIONS)
        around = minutes_around(minutes, self._margin_us, self._margin_us)
        rare = between(self._class(schema.RARE), around)
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
        near = minutes_around(minutes, margin, 2 * margin)
        published = self._lake.read(schema.PUBLICATIONS).where(within("minute", around))
        made = Deliveries(
            Sources(
                copies=between(self._class(schema.COPIES), near),
                asked=between(self._class(schema.ASKED), near),
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
        """Every table that reads anything new."""
        scope = Scope(self._lake, self._gold, minutes, self._margin_us, state.made)
        # Not stretches: of them each minute has its own, be they as they were.
        unchanged = state.unchanged & {schema.SIGHTINGS.name}
        if not self._news.reasons:
            unchanged.add(schema.REASONS.name)
        if not self._news.tell_of(SCORED):
            unchanged.add(schema.SCORED.name)

        def work(gold: GoldTable) -> None:
            if gold.promise is not None and gold.promise not in state.promised.values():
                unchanged.add(gold.name)
                return
            looked_at = Watched(scope)
            rows = gold.make(looked_at)
            if looked_at.names and looked_at.names - {gold.name} <= unchanged:
                unchanged.add(gold.name)
            else:
                self._say(gold.table)
                self._write(gold, rows, minutes)
            scope.done.add(gold.name)

        tables = self._gold.tables
        run_in_order({name: (each.after, partial(work, each)) for name, each in tables.items()})

    def _write(self, gold: GoldTable, rows: DataFrame, minutes: list[int]) -> None:
        if gold.table.layout is Layout.WHOLE:
            self._lake.replace_whole(gold.table, rows.coalesce(1))
        elif gold.sums:
            before = self._lake.around(gold.table, minutes)
            rows = as_declared(
                with_totals(gold, rows, before, in_minutes(minutes)), gold.table.columns
            )
            self._lake.replace_around(gold.table, rows.coalesce(1), minutes)
        else:
            self._lake.replace_minutes(gold.table, rows.coalesce(1), minutes)
