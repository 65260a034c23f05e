"""The columns of bronze and silver, and how each table is laid out; in words: ``docs/tables.md``.

Gold tables declare theirs where they are made: :mod:`rumormill.pipeline.gold.registry`.
Times are in UTC, with microseconds; ``minute`` is a time with neither seconds nor less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from pyspark.sql.types import DataType

from rumormill.pipeline.source.columns import MESSAGE_COLUMNS, TRACE_COLUMNS

FORMAT: Final = 6
"""Of all tables together; raised when a column changes its name, type or meaning."""


class Layout(StrEnum):
    """How a table is cut into partitions, and so what is replaced when something changes."""

    STREAM = "stream"
    """Rows are only ever added (bronze): by class of events and hour."""
    MINUTE = "minute"
    """Large: a partition for each minute."""
    HOUR = "hour"
    """Small: a partition for each hour, so that a month is not 43,200 files."""
    WHOLE = "whole"
    """About all time, and small: replaced as it is."""
    STRETCH = "stretch"
    """Stretches of time: by the hour in which each was told to end, and those that go on."""


@dataclass(frozen=True)
class Table:
    """A table of the lake."""

    name: str
    layer: str
    columns: str
    """As SQL has them: ``network string, count bigint``."""
    layout: Layout
    properties: dict[str, str] = field(default_factory=dict)
    """Kept with the table, for readers without Spark."""

    @property
    def path(self) -> str:
        """Namespace and name."""
        return f"{self.layer}.{self.name}"


def _as_read(columns: Mapping[str, DataType]) -> str:
    """Columns of the source, in the words of SQL."""
    return ", ".join(f"`{name}` {kind.simpleString()}" for name, kind in columns.items())


MESSAGES: Final = Table("messages", "bronze", _as_read(MESSAGE_COLUMNS), Layout.STREAM)

TRACE: Final = Table("trace", "bronze", _as_read(TRACE_COLUMNS) + ", class string", Layout.STREAM)
"""``class`` keeps apart what is read apart: see :data:`CLASSES`."""

COPIES: Final = "copies"
ASKED: Final = "asked"
RARE: Final = "rare"
OTHER: Final = "other"

CLASSES: Final = {
    COPIES: ("delivered", "duplicate"),
    ASKED: ("asked",),
    RARE: (
        "network_opened",
        "published",
        "subscribed",
        "unsubscribed",
        "peer_joined",
        "peer_left",
        "peer_subscribed",
        "peer_identified",
        "grafted",
        "pruned",
        "node_crashed",
        "node_restarted",
    ),
}
"""Of events; all others are ``other``."""

CONTROL: Final = ("messages", "ihave", "iwant", "idontwant", "graft", "prune")
"""What a packet may hold, as its event's ``fields`` count it."""

_CONTROL: Final = ", ".join(f"{name} bigint" for name in CONTROL)

COUNTERS: Final = Table(
    "counters",
    "silver",
    "minute timestamp, network string, node string, peer string, event string, count bigint,"
    f" bytes bigint, lost bigint, uncaptured bigint, {_CONTROL}, exchanged bigint,"
    " first_at timestamp, last_at timestamp",
    Layout.MINUTE,
)
"""How often each kind of event happened on each link in each minute."""

REASONS: Final = Table(
    "reasons",
    "silver",
    "minute timestamp, network string, node string, peer string, topic string, event string,"
    " reason string, count bigint",
    Layout.MINUTE,
)
"""How often each kind of event that names a reason had which, in each minute."""

COMPONENTS: Final = (
    "time_in_mesh", "first_deliveries", "mesh_deliveries", "mesh_failures", "invalid_messages",
    "application", "colocation", "behaviour", "slow",
)  # fmt: skip
"""What a score is made of, as the fields of ``scored`` tell it."""

POINTS: Final = ", ".join(f"{name} double" for name in COMPONENTS)

SCORED: Final = Table(
    "scored",
    "silver",
    "minute timestamp, network string, node string, peer string, time timestamp, score double,"
    f" level string, {POINTS}",
    Layout.MINUTE,
)
"""Each time that a node told a peer's score."""

RUNS: Final = Table(
    "runs",
    "silver",
    "network string, node string, since timestamp, last_at timestamp, opened boolean,"
    " agent string, promise string, ended boolean",
    Layout.WHOLE,
)
"""Each time that a node ran: from its ``network_opened`` (or first event) to its last event."""

SIGHTINGS: Final = Table(
    "sightings",
    "silver",
    "network string, witness string, node string, present boolean, at timestamp, agent string,"
    " agent_at timestamp",
    Layout.WHOLE,
)
"""The last word of each node about each of its peers: there, or gone; and what it runs."""

SUBSCRIPTIONS: Final = Table(
    "subscriptions",
    "silver",
    "network string, topic string, node string, since timestamp, until timestamp,"
    " expected_since timestamp, expected_until timestamp, known_at timestamp,"
    " known_to map<string, timestamp>, told_until timestamp",
    Layout.STRETCH,
)

MESH: Final = Table(
    "mesh",
    "silver",
    "network string, topic string, node string, peer string, since timestamp, until timestamp,"
    " `by` string, reason string, told_until timestamp",
    Layout.STRETCH,
)

PUBLICATIONS: Final = Table(
    "publications",
    "silver",
    "minute timestamp, network string, topic string, message_id binary, publisher string,"
    " time timestamp, size bigint, promise string",
    Layout.MINUTE,
)

DELIVERIES: Final = Table(
    "deliveries",
    "silver",
    "minute timestamp, network string, topic string, message_id binary, publisher string,"
    " published_at timestamp, size bigint, promise string, node string, peer string,"
    " time timestamp, latency_ms double, stale_ms double, link_us bigint, hop int, first boolean,"
    " expected boolean, recovered boolean, duplicates bigint, superseded_at timestamp",
    Layout.MINUTE,
)
"""Each message at each node that it came to, or should have come to."""

WAYS: Final = Table(
    "ways",
    "silver",
    "minute timestamp, network string, node string, peer string, least_us bigint",
    Layout.MINUTE,
)
"""The least time that a first copy took from a peer to a node in each minute, by their clocks."""

BATCHES: Final = Table(
    "batches",
    "silver",
    "batch bigint, snapshot bigint, events bigint, minutes bigint, first_minute timestamp,"
    " last_minute timestamp, refined_at timestamp",
    Layout.WHOLE,
)
"""The ledger, one row: up to which snapshot of ``bronze.trace`` everything is refined."""

BRONZE: Final = (MESSAGES, TRACE)
SILVER: Final = (
    COUNTERS,
    REASONS,
    SCORED,
    RUNS,
    SIGHTINGS,
    SUBSCRIPTIONS,
    MESH,
    PUBLICATIONS,
    DELIVERIES,
    WAYS,
    BATCHES,
)
