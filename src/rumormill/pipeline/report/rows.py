"""The rows of the gold tables, as the report reads them.

One class for each table; a field is the column of the same name. Where a column may be null the
field says so. A column with a default is one that older tables lack.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TopicRow:
    """What one topic did over the whole run."""

    network: str
    topic: str
    published: int
    expected: int
    delivered: int
    ratio: float | None
    latency_p50: float | None
    latency_p90: float | None
    latency_p99: float | None
    latency_max: float | None
    duplicates: int
    duplicates_per_delivery: float | None
    hops_mean: float | None
    hops_max: int | None
    bytes_per_delivery: float | None
    recoveries: int
    unexpected: int = 0

    @property
    def missing(self) -> int:
        """Deliveries that were expected and did not happen."""
        return max(0, self.expected - (self.delivered - self.unexpected))


@dataclass(frozen=True, slots=True)
class TopicMinute:
    """What one topic did with the messages published in one minute."""

    network: str
    topic: str
    minute: datetime
    published: int
    expected: int
    delivered: int
    ratio: float | None
    latency_p50: float | None
    latency_p99: float | None
    latency_max: float | None
    duplicates: int
    unexpected: int = 0

    @property
    def arrived(self) -> int:
        """Of the expected deliveries, those that happened."""
        return self.delivered - self.unexpected


@dataclass(frozen=True, slots=True)
class PeerRow:
    """What one peer did over the whole run."""

    network: str
    node: str
    published: int
    delivered: int
    duplicates: int
    first_sent: int
    repeat_sent: int
    rejected_by_others: int
    rejected_here: int
    ignored_here: int
    dropped_here: int
    contribution: float | None
    expected: int = 0
    missing: int = 0


@dataclass(frozen=True, slots=True)
class MeshMinute:
    """How one topic's mesh stood in one minute."""

    network: str
    topic: str
    minute: datetime
    nodes: int
    degree_mean: float | None
    degree_min: int | None
    degree_max: int | None
    components: int | None
    grafts: int
    prunes: int


@dataclass(frozen=True, slots=True)
class CdfPoint:
    """A share of one topic's deliveries, and the latency within which they happened."""

    network: str
    topic: str
    latency_ms: float
    share: float


@dataclass(frozen=True, slots=True)
class HopRow:
    """One topic's deliveries that were so many hops away from the publisher."""

    network: str
    topic: str
    hop: int
    deliveries: int
    latency_p50: float | None


@dataclass(frozen=True, slots=True)
class LinkRow:
    """What ``node`` got from ``peer``: first copies, and copies of what it had."""

    network: str
    node: str
    peer: str
    first: int
    repeated: int


@dataclass(frozen=True, slots=True)
class EventRow:
    """How often one kind of trace event happened."""

    network: str
    event: str
    count: int


@dataclass(frozen=True, slots=True)
class SkewRow:
    """How far a node's clock is ahead of the others', if the trace allowed to tell."""

    network: str
    node: str
    offset_ms: float | None
    links: int
    estimated: bool
    uncertainty_ms: float | None = None
    applied: bool = True


@dataclass(frozen=True, slots=True)
class AlertRow:
    """Something that looks like a fault or an attack."""

    network: str
    topic: str | None
    minute: datetime | None
    kind: str
    node: str | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class ProblemRow:
    """Something that the tables could not know, or had to leave out."""

    network: str | None
    topic: str | None
    kind: str
    count: int
    detail: str | None
