"""What a report reads: of each gold table the columns and the rows that are shown, and no more.

A row whose ``minute`` is null is about all time. Of minutes the last ones are read, a day of them
unless told otherwise.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter, ValidationError
from pyiceberg import expressions
from pyiceberg.expressions import And, BooleanExpression

from rumormill.report.rows import (
    AlertRow,
    BinRow,
    CauseRow,
    ClockRow,
    EventRow,
    LifetimeRow,
    LinkRow,
    MeshMinute,
    NodeRow,
    PeerRow,
    ProblemRow,
    ScoreRow,
    SlowRow,
    StandingRow,
    TopicRow,
    ValueRow,
)
from rumormill.report.scores import COLUMNS as SCORE_COLUMNS
from rumormill.report.scores import ends_of, of_the_lowest
from rumormill.report.seconds import Seconds, read_seconds
from rumormill.report.store import EVERYTHING, Store, TablesError

NAMED: Any = expressions
"""Conditions take a column's name, which their types do not say."""

CONTROL: Final = ("messages", "ihave", "iwant", "idontwant", "graft", "prune", "exchanged")
SENT: Final = ("sent_packets", "sent_bytes")
MOST_MINUTES: Final = 1440
MOST_SLOW: Final = 12
MOST_SLOW_OF_A_TOPIC: Final = 2
MOST_OWN_ROWS: Final = 200
OURS: Final = (
    "topics", "latencies", "links", "peers", "publishers", "mesh_minutes", "events", "causes",
    "scores", "lifetimes", "slowest", "values", "clocks", "alerts", "problems", "nodes",
)  # fmt: skip

Row = TypeVar("Row")
Progress = Callable[[str, int, int], None]
"""Told the table that was read, how many are, and how many there are."""


@dataclass(frozen=True)
class Wanted:
    """What the report is to be about."""

    topics: tuple[str, ...] = ()
    """Only these; all, if there are none."""
    networks: tuple[str, ...] = ()
    minutes: int = MOST_MINUTES
    """How many of the last minutes are shown one by one."""


@dataclass(frozen=True)
class OwnTable:
    """A table that a user made."""

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    left_out: int


@dataclass(frozen=True)
class Gold:
    """Everything that was read."""

    place: str
    wanted: Wanted = field(default_factory=Wanted)
    topics: Sequence[TopicRow] = ()
    topic_minutes: Sequence[TopicRow] = ()
    latencies: Sequence[BinRow] = ()
    links: Sequence[LinkRow] = ()
    control: Sequence[dict[str, Any]] = ()
    """Packets and what they held: for each network in all (``minute`` is None) and by minute."""
    peers: Sequence[PeerRow] = ()
    mesh_minutes: Sequence[MeshMinute] = ()
    events: Sequence[EventRow] = ()
    event_minutes: Sequence[EventRow] = ()
    causes: Sequence[CauseRow] = ()
    standings: Sequence[StandingRow] = ()
    scores: Sequence[ScoreRow] = ()
    """By minute, of the peers that fell lowest."""
    lifetimes: Sequence[LifetimeRow] = ()
    slowest: Sequence[SlowRow] = ()
    values: Sequence[ValueRow] = ()
    clocks: Sequence[ClockRow] = ()
    alerts: Sequence[AlertRow] = ()
    problems: Sequence[ProblemRow] = ()
    nodes: Sequence[NodeRow] = ()
    own: Sequence[OwnTable] = ()
    seconds: Seconds | None = None
    """By second, where the run is short."""
    period: tuple[datetime, datetime] | None = None
    shown_since: datetime | None = None
    """The first minute that was read, if there are earlier ones."""
    missing: Sequence[str] = ()
    """Tables that are not there."""
    snapshots: dict[str, int | None] = field(default_factory=dict)
    settled: bool = True


def read_gold(store: Store, wanted: Wanted | None = None, progress: Progress | None = None) -> Gold:
    """All that the report shows; :class:`TablesError` says why there is none."""
    wanted = wanted or Wanted()
    return _Reading(store, wanted, progress).gold()


class _Reading:
    """One pass over the tables."""

    def __init__(self, store: Store, wanted: Wanted, progress: Progress | None) -> None:
        self._store, self._wanted, self._progress = store, wanted, progress
        self._done = 0
        self._total = len(store.names())
        periods = [store.period(f"gold.{name}") for name in ("topics", "mesh_minutes", "events")]
        known = [period for period in periods if period is not None]
        self.period = (min(one for one, _ in known), max(it for _, it in known)) if known else None
        self.since: datetime | None = None
        if self.period is not None:
            since = self.period[1] - timedelta(minutes=wanted.minutes - 1)
            self.since = since if since > self.period[0] else None

    def gold(self) -> Gold:
        store, whole = self._store, self._totals
        standings, scores = self._scores()
        return Gold(
            store.place,
            self._wanted,
            topics=self._rows("topics", TopicRow, whole),
            topic_minutes=self._rows("topics", TopicRow, self._minutes),
            latencies=self._rows("latencies", BinRow, whole),
            links=self._rows("links", LinkRow, whole),
            control=[*self._control(whole), *self._control(self._minutes)],
            peers=self._rows("peers", PeerRow, whole),
            mesh_minutes=self._rows("mesh_minutes", MeshMinute, self._minutes),
            events=self._rows("events", EventRow, whole),
            event_minutes=self._rows("events", EventRow, self._minutes),
            causes=self._rows("causes", CauseRow, whole),
            standings=standings,
            scores=scores,
            lifetimes=self._rows("lifetimes", LifetimeRow, whole),
            slowest=self._slowest(),
            values=self._rows("values", ValueRow),
            clocks=self._rows("clocks", ClockRow),
            alerts=self._rows("alerts", AlertRow),
            problems=self._rows("problems", ProblemRow),
            nodes=self._rows("nodes", NodeRow),
            own=list(self._own()),
            seconds=read_seconds(store, self.period, self._chosen),
            period=self.period,
            shown_since=self.since,
            missing=[name for name in OURS if f"gold.{name}" not in store],
            snapshots=store.snapshots,
            settled=store.settled,
        )

    # ---- which rows

    def _chosen(self, path: str) -> BooleanExpression:
        """The topics and networks that are asked for."""
        columns = self._store.columns(path)
        found: BooleanExpression = EVERYTHING
        for column, names in (("topic", self._wanted.topics), ("network", self._wanted.networks)):
            if names and column in columns:
                found = And(found, NAMED.In(column, names))
        return found

    def _totals(self, path: str) -> BooleanExpression:
        return And(self._chosen(path), NAMED.IsNull("minute"))

    def _minutes(self, path: str) -> BooleanExpression:
        first = self.since or (self.period[0] if self.period else None)
        if first is None:
            return self._chosen(path)
        return And(
            self._chosen(path), NAMED.GreaterThanOrEqual("minute", self._store.literal(path, first))
        )

    # ---- reading

    def _table(
        self,
        name: str,
        columns: Iterable[str],
        where: Callable[[str], BooleanExpression] | None = None,
    ) -> pa.Table | None:
        path = f"gold.{name}"
        if path not in self._store:
            return None
        there = self._store.columns(path)
        found = self._store.read(
            path, [column for column in columns if column in there], (where or self._chosen)(path)
        )
        self._done = min(self._done + 1, self._total)
        if self._progress:
            self._progress(path, self._done, self._total)
        return found

    def _rows(
        self,
        name: str,
        kind: type[Row],
        where: Callable[[str], BooleanExpression] | None = None,
    ) -> list[Row]:
        names = [each.name for each in dataclasses.fields(kind)]  # type: ignore[arg-type]
        table = self._table(name, names, where)
        return [] if table is None else rows_of(table, kind, f"{self._store.place}: gold.{name}")

    def _control(self, where: Callable[[str], BooleanExpression]) -> list[dict[str, Any]]:
        """Sums over all links; their rows are many, so Arrow adds them up."""
        table = self._table("links", ("minute", "network", *SENT, *CONTROL), where)
        if table is None:
            return []
        kinds = [kind for kind in (*SENT, *CONTROL) if kind in table.column_names]
        sums = table.group_by(["minute", "network"]).aggregate([(kind, "sum") for kind in kinds])
        return [
            {name.removesuffix("_sum"): value for name, value in row.items()}
            for row in sums.to_pylist()
        ]

    def _scores(self) -> tuple[list[StandingRow], list[ScoreRow]]:
        """How each pair stands in the end; minute by minute, only those that fell lowest."""
        table = self._table("scores", SCORE_COLUMNS, self._minutes)
        if table is None or not table.num_rows:
            return [], []
        place = f"{self._store.place}: gold.scores"
        by_minute = [each.name for each in dataclasses.fields(ScoreRow)]
        lowest = of_the_lowest(table).select(by_minute)
        return rows_of(ends_of(table), StandingRow, place), rows_of(lowest, ScoreRow, place)

    def _slowest(self) -> list[SlowRow]:
        """The slowest messages of all; their trees are read for these only."""
        columns = [each.name for each in dataclasses.fields(SlowRow) if each.name != "tree"]
        table = self._table("slowest", columns, self._minutes)
        if table is None or not table.num_rows:
            return []
        table = table.sort_by([("slowest_ms", "descending")])
        topics: Counter[tuple[str, str]] = Counter()
        kept: list[SlowRow] = []
        for row in rows_of(table, SlowRow, f"{self._store.place}: gold.slowest"):
            topics[row.network, row.topic] += 1
            # A slow network must not hide what is slow in the others.
            if topics[row.network, row.topic] <= MOST_SLOW_OF_A_TOPIC and len(kept) < MOST_SLOW:
                kept.append(row)
        minutes = {self._store.literal("gold.slowest", row.minute) for row in kept}
        trees = self._store.read("gold.slowest", where=NAMED.In("minute", minutes))
        full = rows_of(trees, SlowRow, f"{self._store.place}: gold.slowest")
        by_key = {(row.minute, row.network, row.topic): row for row in full}
        return [by_key[row.minute, row.network, row.topic] for row in kept]

    def _own(self) -> Iterator[OwnTable]:
        """Tables of users: those that have a title, or that we do not know."""
        for name in self._store.names():
            if name in OURS:
                continue
            path = f"gold.{name}"
            columns = self._store.columns(path)
            by_minute = "minute" in columns
            table = self._store.read(path, where=self._chosen(path))
            if by_minute:
                table = table.sort_by([("minute", "descending")])  # null, about all time, is last
                total = pc.is_null(table["minute"])
                table = pa.concat_tables([table.filter(total), table.filter(pc.invert(total))])
            shown = table.slice(0, MOST_OWN_ROWS)
            yield OwnTable(
                name,
                self._store.title(path) or name.replace("_", " "),
                columns,
                [list(row.values()) for row in shown.to_pylist()],
                table.num_rows - shown.num_rows,
            )


def rows_of(table: pa.Table, kind: type[Row], where: str) -> list[Row]:
    """The rows of an Arrow table as values of this type; what is not a number is unknown."""
    for place, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):
            finite = pc.if_else(pc.is_finite(column), column, None)
            table = table.set_column(place, table.column_names[place], finite)
    plain = [
        {name: value for name, value in row.items() if value is not None}
        for row in table.to_pylist()
    ]
    try:
        return TypeAdapter(list[kind]).validate_python(plain)  # type: ignore[valid-type]
    except ValidationError as error:
        first = error.errors()[0]
        column = ".".join(str(part) for part in first["loc"][1:])
        raise TablesError(f"{where}: column {column}: {first['msg'].lower()}") from error
