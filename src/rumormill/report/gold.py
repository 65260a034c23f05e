"""What a report reads: of each gold table the columns and the rows that are shown, and no more.

A row whose ``minute`` is null is about all time. Of minutes the last ones are read, a day of them
unless told otherwise.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter, ValidationError
from pyiceberg import expressions
from pyiceberg.expressions import And, BooleanExpression

from rumormill.report import rows, scores
from rumormill.report.seconds import read_seconds
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
Where = Callable[[str], BooleanExpression]
"""Which rows of the table of this path are read."""


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


class Gold:
    """Everything that was read, table by table."""

    def __init__(self, read: _Reading) -> None:
        store, whole, by_minute = read.store, read.totals, read.minutes
        self.place = store.place
        self.period = read.period
        self.shown_since = read.since
        """The first minute that was read, if there are earlier ones."""
        self.topics = read.table("topics", rows.TopicRow, whole)
        self.topic_minutes = read.table("topics", rows.TopicRow, by_minute)
        self.latencies = read.table("latencies", rows.BinRow, whole)
        self.links = read.table("links", rows.LinkRow, whole)
        self.control = [*read.control(whole), *read.control(by_minute)]
        """Packets and what they held, by network: in all (``minute`` is None) and by minute."""
        self.peers = read.table("peers", rows.PeerRow, whole)
        self.mesh_minutes = read.table("mesh_minutes", rows.MeshMinute, by_minute)
        self.events = read.table("events", rows.EventRow, whole)
        self.event_minutes = read.table("events", rows.EventRow, by_minute)
        self.causes = read.table("causes", rows.CauseRow, whole)
        self.standings, self.scores = read.scores()
        """How each pair stands in the end; by minute, the peers that fell lowest."""
        self.lifetimes = read.table("lifetimes", rows.LifetimeRow, whole)
        self.slowest = read.slowest()
        self.values = read.table("values", rows.ValueRow)
        self.clocks = read.table("clocks", rows.ClockRow)
        self.alerts = read.table("alerts", rows.AlertRow)
        self.problems = read.table("problems", rows.ProblemRow)
        self.nodes = read.table("nodes", rows.NodeRow)
        self.own = list(read.own())
        self.seconds = read_seconds(store, read.period, read.chosen)
        """By second, where the run is short."""
        self.missing = [name for name in OURS if f"gold.{name}" not in store]
        """Tables that are not there."""
        self.snapshots = store.snapshots
        self.settled = store.settled


def read_gold(store: Store, wanted: Wanted | None = None, progress: Progress | None = None) -> Gold:
    """All that the report shows; :class:`TablesError` says why there is none."""
    return Gold(_Reading(store, wanted or Wanted(), progress))


class _Reading:
    """One pass over the tables."""

    def __init__(self, store: Store, wanted: Wanted, progress: Progress | None) -> None:
        self.store, self._wanted, self._progress = store, wanted, progress
        self._done = 0
        self._total = len(store.names())
        periods = [store.period(f"gold.{name}") for name in ("topics", "mesh_minutes", "events")]
        known = [period for period in periods if period is not None]
        self.period = (min(one for one, _ in known), max(it for _, it in known)) if known else None
        self.since: datetime | None = None
        if self.period is not None:
            since = self.period[1] - timedelta(minutes=wanted.minutes - 1)
            self.since = since if since > self.period[0] else None

    # ---- which rows

    def chosen(self, path: str) -> BooleanExpression:
        """The topics and networks that are asked for."""
        columns = self.store.columns(path)
        found: BooleanExpression = EVERYTHING
        for column, names in (("topic", self._wanted.topics), ("network", self._wanted.networks)):
            if names and column in columns:
                found = And(found, NAMED.In(column, names))
        return found

    def totals(self, path: str) -> BooleanExpression:
        """Those of them that are about all time."""
        return And(self.chosen(path), NAMED.IsNull("minute"))

    def minutes(self, path: str) -> BooleanExpression:
        """Those of them that are about one of the minutes that are shown."""
        first = self.since or (self.period[0] if self.period else None)
        if first is None:
            return self.chosen(path)
        since = NAMED.GreaterThanOrEqual("minute", self.store.literal(path, first))
        return And(self.chosen(path), since)

    # ---- reading

    def table(self, name: str, kind: type[Row], where: Where | None = None) -> list[Row]:
        """A table's rows, none if it is not there."""
        return self._typed(name, kind, self._arrow(name, _columns(kind), where))

    def control(self, where: Where) -> list[dict[str, Any]]:
        """Sums over all links; their rows are many, so Arrow adds them up."""
        table = self._arrow("links", ("minute", "network", *SENT, *CONTROL), where)
        if table is None:
            return []
        kinds = [kind for kind in (*SENT, *CONTROL) if kind in table.column_names]
        sums = table.group_by(["minute", "network"]).aggregate([(kind, "sum") for kind in kinds])
        return [
            {name.removesuffix("_sum"): value for name, value in row.items()}
            for row in sums.to_pylist()
        ]

    def scores(self) -> tuple[list[rows.StandingRow], list[rows.ScoreRow]]:
        """How each pair stands in the end; minute by minute, only those that fell lowest."""
        table = self._arrow("scores", scores.COLUMNS, self.minutes)
        if table is None or not table.num_rows:
            return [], []
        lowest = scores.of_the_lowest(table).select(_columns(rows.ScoreRow))
        return (
            self._typed("scores", rows.StandingRow, scores.ends_of(table)),
            self._typed("scores", rows.ScoreRow, lowest),
        )

    def slowest(self) -> list[rows.SlowRow]:
        """The slowest messages of all; their trees are read for these only."""
        columns = [name for name in _columns(rows.SlowRow) if name != "tree"]
        table = self._arrow("slowest", columns, self.minutes)
        if table is None or not table.num_rows:
            return []
        table = table.sort_by([("slowest_ms", "descending")])
        topics: Counter[tuple[str, str]] = Counter()
        kept: list[rows.SlowRow] = []
        for row in self._typed("slowest", rows.SlowRow, table):
            topics[row.network, row.topic] += 1
            # A slow network must not hide what is slow in the others.
            if topics[row.network, row.topic] <= MOST_SLOW_OF_A_TOPIC and len(kept) < MOST_SLOW:
                kept.append(row)
        minutes = {self.store.literal("gold.slowest", row.minute) for row in kept}
        trees = self.store.read("gold.slowest", where=NAMED.In("minute", minutes))
        full = self._typed("slowest", rows.SlowRow, trees)
        by_key = {(row.minute, row.network, row.topic): row for row in full}
        return [by_key[row.minute, row.network, row.topic] for row in kept]

    def own(self) -> Iterator[OwnTable]:
        """Tables of users: those that we do not know."""
        for name in self.store.names():
            if name in OURS:
                continue
            path = f"gold.{name}"
            columns = self.store.columns(path)
            table = self.store.read(path, where=self.chosen(path))
            if "minute" in columns:
                table = table.sort_by([("minute", "descending")])  # null, about all time, is last
                total = pc.is_null(table["minute"])
                table = pa.concat_tables([table.filter(total), table.filter(pc.invert(total))])
            shown = table.slice(0, MOST_OWN_ROWS)
            yield OwnTable(
                name,
                self.store.title(path) or name.replace("_", " "),
                columns,
                [list(row.values()) for row in shown.to_pylist()],
                table.num_rows - shown.num_rows,
            )

    def _arrow(
        self, name: str, columns: Iterable[str], where: Where | None = None
    ) -> pa.Table | None:
        path = f"gold.{name}"
        if path not in self.store:
            return None
        there = self.store.columns(path)
        known = [column for column in columns if column in there]
        found = self.store.read(path, known, (where or self.chosen)(path))
        self._done = min(self._done + 1, self._total)
        if self._progress:
            self._progress(path, self._done, self._total)
        return found

    def _typed(self, name: str, kind: type[Row], table: pa.Table | None) -> list[Row]:
        """The rows of an Arrow table as values of this type; what is not a number is unknown."""
        if table is None:
            return []
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
            where = f"{self.store.place}: gold.{name}: column {column}"
            raise TablesError(f"{where}: {first['msg'].lower()}") from error


def _columns(kind: type[Any]) -> list[str]:
    return [each.name for each in dataclasses.fields(kind)]
