"""The report itself: the gold tables put in order, added up, and what follows from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from rumormill.core.words import plural
from rumormill.pipeline.report.gold import Gold
from rumormill.pipeline.report.problems import Finding, find_problems
from rumormill.pipeline.report.rows import (
    CdfPoint,
    HopRow,
    MeshMinute,
    PeerRow,
    SkewRow,
    TopicMinute,
    TopicRow,
)
from rumormill.pipeline.report.words import TOPIC_LENGTH, labelled, milliseconds, percent, shortened

OfTopic = TypeVar("OfTopic", TopicMinute, MeshMinute, CdfPoint, HopRow)


@dataclass(frozen=True)
class Totals:
    """Several topics added up: a network's, or all."""

    topics: int
    published: int
    expected: int
    delivered: int
    unexpected: int
    duplicates: int
    recoveries: int

    @property
    def missing(self) -> int:
        """Deliveries that were expected and did not happen."""
        return max(0, self.expected - (self.delivered - self.unexpected))

    @property
    def ratio(self) -> float | None:
        """The share of the expected deliveries that happened."""
        arrived = self.delivered - self.unexpected
        return arrived / self.expected if self.expected else None

    @property
    def duplicates_per_delivery(self) -> float | None:
        """Copies of what a peer already had, for each first copy."""
        return self.duplicates / self.delivered if self.delivered else None


def total(rows: Iterable[TopicRow]) -> Totals:
    """The sum of some topics."""
    rows = list(rows)
    return Totals(
        topics=len(rows),
        published=sum(row.published for row in rows),
        expected=sum(row.expected for row in rows),
        delivered=sum(row.delivered for row in rows),
        unexpected=sum(row.unexpected for row in rows),
        duplicates=sum(row.duplicates for row in rows),
        recoveries=sum(row.recoveries for row in rows),
    )


@dataclass(frozen=True)
class Report:
    """Everything that is shown, in the terminal, as JSON and on the page.

    Topics and peers are found by their labels: the name alone, or with the network where two
    networks share a name.
    """

    gold: Gold

    @cached_property
    def topics(self) -> Mapping[str, TopicRow]:
        """By label, in the order of the networks and the topics."""
        rows = sorted(self.gold.topics, key=lambda row: (row.network, row.topic))
        return {self.topic_labels[row.network, row.topic]: row for row in rows}

    @cached_property
    def peers(self) -> Mapping[str, PeerRow]:
        """By label, those that handed on most first."""
        rows = sorted(self.gold.peers, key=lambda row: (-row.first_sent, row.network, row.node))
        return {self.peer_labels[row.network, row.node]: row for row in rows}

    @cached_property
    def topic_labels(self) -> Mapping[tuple[str, str], str]:
        """The label of each (network, topic)."""
        return labelled((row.network, row.topic) for row in self.gold.topics)

    @cached_property
    def peer_labels(self) -> Mapping[tuple[str, str], str]:
        """The label of each (network, node), also of those that only a link or a clock names."""
        names = [(row.network, row.node) for row in self.gold.peers]
        names += [(row.network, row.node) for row in self.gold.skew]
        for link in self.gold.links:
            names += [(link.network, link.node), (link.network, link.peer)]
        return labelled(names)

    @cached_property
    def short_names(self) -> Mapping[str, str]:
        """A short name for each peer's label."""
        return shortened(self.peer_labels.values())

    @cached_property
    def short_topics(self) -> Mapping[str, str]:
        """A short name for each topic's label: a name may have a thousand characters."""
        labels = [*self.topics, *self.mesh]
        return shortened(labels, TOPIC_LENGTH, TOPIC_LENGTH // 2)

    @cached_property
    def skew(self) -> Mapping[str, SkewRow]:
        """Each peer's clock, by its label."""
        return {self.peer_labels[row.network, row.node]: row for row in self.gold.skew}

    @cached_property
    def networks(self) -> Mapping[str, Totals]:
        """What each network's topics add up to."""
        names = sorted(
            {row.network for row in self.gold.topics} | {row.network for row in self.gold.peers}
        )
        return {
            name: total(row for row in self.gold.topics if row.network == name) for name in names
        }

    @cached_property
    def total(self) -> Totals:
        """What all topics add up to."""
        return total(self.gold.topics)

    @cached_property
    def events(self) -> Mapping[str, int]:
        """How often each kind of event happened, the most frequent first."""
        counts: Counter[str] = Counter()
        for row in self.gold.events:
            counts[row.event] += row.count
        return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))

    @cached_property
    def minutes(self) -> Mapping[str, Sequence[TopicMinute]]:
        """Each topic's minutes, in order."""
        return self._by_topic(sorted(self.gold.topic_minutes, key=lambda row: row.minute))

    @cached_property
    def mesh(self) -> Mapping[str, Sequence[MeshMinute]]:
        """Each topic's mesh, minute by minute."""
        return self._by_topic(sorted(self.gold.mesh_minutes, key=lambda row: row.minute))

    @cached_property
    def latency(self) -> Mapping[str, Sequence[CdfPoint]]:
        """Each topic's latencies, in ascending order."""
        points = sorted(self.gold.latency_cdf, key=lambda point: (point.share, point.latency_ms))
        return self._by_topic(points)

    @cached_property
    def hops(self) -> Mapping[str, Sequence[HopRow]]:
        """Each topic's hops, the nearest first."""
        return self._by_topic(sorted(self.gold.hops, key=lambda row: row.hop))

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What is wrong and what is worth a note, the worst first."""
        topics = {key: self.short_topics[label] for key, label in self.topic_labels.items()}
        peers = {key: self.short_names[label] for key, label in self.peer_labels.items()}
        return find_problems(self.gold, topics, peers)

    @property
    def period(self) -> tuple[datetime, datetime] | None:
        """The first and the last minute that there is something of."""
        minutes = [row.minute for row in self.gold.topic_minutes]
        minutes += [row.minute for row in self.gold.mesh_minutes]
        return (min(minutes), max(minutes)) if minutes else None

    def _by_topic(self, rows: Iterable[OfTopic]) -> dict[str, list[OfTopic]]:
        found: defaultdict[str, list[OfTopic]] = defaultdict(list)
        for row in rows:
            # A topic that nobody published to has a mesh all the same.
            found[self.topic_labels.get((row.network, row.topic), row.topic)].append(row)
        known = {label: found.pop(label) for label in self.topics if label in found}
        return {**known, **found}


def verdict(report: Report) -> str:
    """Did everything arrive? One sentence."""
    sums = report.total
    if not sums.published:
        return "Nothing was published."
    if not sums.expected:
        return f"{plural(sums.published, 'message')} published, but nobody else was subscribed."
    if not sums.missing:
        return "Every message reached every peer that was subscribed."
    arrived = percent(sums.ratio)
    return f"{arrived} arrived: {sums.missing:,} of {plural(sums.expected, 'delivery')} missing."


def speed(report: Report) -> str:
    """How fast was it? One sentence; of several topics, the slowest counts."""
    rows = [row for row in report.gold.topics if row.latency_p50 is not None]
    if not rows:
        return "No latency is known."
    half = max(row.latency_p50 or 0.0 for row in rows)
    most = max(row.latency_p99 or 0.0 for row in rows)
    where = " in every topic" if len(rows) > 1 else ""
    return f"Half within {milliseconds(half)}, 99 % within {milliseconds(most)}{where}."
