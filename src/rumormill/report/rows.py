"""The rows of the gold tables, as far as the report reads them.

One class for each table; a field is the column of the same name, and only these are read. What is
null in the table is the field's default, as is a column that an older table lacks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTopic:
    """What every row about a topic with one promise has."""

    network: str
    topic: str
    promise: str = "every"

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is about."""
        return self.network, self.topic, self.promise


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow(OfTopic):
    """What one topic did in all, or with the messages published in one minute."""

    minute: datetime | None = None
    published: int
    expected: int
    delivered: int
    unexpected: int = 0
    missing: int
    skipped: int = 0
    ratio: float | None = None
    latency_p50: float | None = None
    latency_p90: float | None = None
    latency_p99: float | None = None
    latency_max: float | None = None
    duplicates: int = 0
    duplicates_per_delivery: float | None = None
    hops_mean: float | None = None
    hops_max: int | None = None
    bytes_per_delivery: float | None = None
    recoveries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BinRow(OfTopic):
    """One topic's deliveries of one bin of latencies and one number of hops."""

    hop: int | None = None
    bin: int | None = None
    expected: int = 0
    missing: int = 0
    delivered: int = 0
    negative: int = 0
    strayed: int = 0

    @property
    def timed(self) -> int:
        """How many have this latency: of newest values, those that were superseded, too."""
        return self.expected - self.missing


@dataclass(frozen=True, slots=True)
class LinkRow:
    """What came to ``node`` from ``peer``, and what it sent there."""

    network: str
    node: str
    peer: str | None = None
    first: int = 0
    copies: int = 0

    @property
    def repeated(self) -> int:
        """Copies of what it already had; no fewer than none, as a trace may lack some."""
        return max(0, self.copies - self.first)


@dataclass(frozen=True, slots=True)
class PeerRow:
    """What one peer did over the whole run."""

    network: str
    node: str
    published: int = 0
    expected: int = 0
    missing: int = 0
    skipped: int = 0
    delivered: int = 0
    duplicates: int = 0
    first_sent: int = 0
    repeat_sent: int = 0
    rejected_by_others: int = 0
    rejected_here: int = 0
    ignored_here: int = 0
    dropped_here: int = 0
    latency_mean: float | None = None
    contribution: float | None = None


@dataclass(frozen=True, slots=True)
class MeshMinute:
    """How one topic's mesh stood in one minute."""

    minute: datetime
    network: str
    topic: str
    nodes: int = 0
    degree_mean: float | None = None
    degree_min: int | None = None
    degree_max: int | None = None
    components: int | None = None
    grafts: int = 0
    prunes: int = 0


@dataclass(frozen=True, slots=True)
class EventRow:
    """How often one kind of trace event happened, in all or in one minute."""

    network: str
    event: str
    count: int
    minute: datetime | None = None


@dataclass(frozen=True, slots=True)
class CauseRow:
    """How often one kind of trace event had one reason."""

    network: str
    event: str
    reason: str
    count: int
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """What a node thought of a peer at the end of a minute, and how low it was in it."""

    minute: datetime
    network: str
    node: str
    peer: str
    score: float
    lowest: float


@dataclass(frozen=True, slots=True)
class StandingRow:
    """What a node thinks of a peer in the end, and how far that went."""

    network: str
    node: str
    peer: str
    score: float
    lowest: float
    highest: float
    level: str | None = None


@dataclass(frozen=True, slots=True)
class LifetimeRow:
    """How many subscriptions or links of a mesh ended after so long."""

    network: str
    topic: str
    kind: str
    bin: int
    ended: int


@dataclass(frozen=True, slots=True)
class Step:
    """A message's first copy at one node."""

    node: str
    peer: str | None = None
    hop: int | None = None
    latency_ms: float | None = None


@dataclass(frozen=True, slots=True)
class SlowRow:
    """The slowest message of one topic and minute."""

    minute: datetime
    network: str
    topic: str
    message_id: bytes
    publisher: str | None = None
    published_at: datetime | None = None
    slowest_ms: float | None = None
    reached: int = 0
    expected: int = 0
    tree: list[Step] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ValueRow:
    """The newest value that a node has, on a network of newest values."""

    network: str
    topic: str
    node: str
    value_at: datetime | None = None
    had_at: datetime | None = None
    newest_at: datetime | None = None
    behind: bool = False


@dataclass(frozen=True, slots=True)
class ClockRow:
    """How far a node's clock is ahead of the others', if the trace allowed to tell."""

    network: str
    node: str
    offset_ms: float | None = None
    uncertainty_ms: float | None = None
    links: int = 0
    estimated: bool = False
    applied: bool = False


@dataclass(frozen=True, slots=True)
class AlertRow:
    """Something that looks like a fault or an attack."""

    kind: str
    network: str = ""
    minute: datetime | None = None
    topic: str | None = None
    node: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """Something that the tables could not know, or had to leave out."""

    kind: str
    count: int = 0
    network: str | None = None
    topic: str | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node, what it runs, and when it was heard of."""

    network: str
    node: str
    agent: str | None = None
    promise: str | None = None
    runs: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None
    present: bool = False
