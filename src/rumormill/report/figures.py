"""The report itself: the gold tables put in order, added up, and what follows from them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

from rumormill.core.words import plural
from rumormill.report.bins import curve, percentile
from rumormill.report.gold import Gold
from rumormill.report.problems import Finding, find_problems
from rumormill.report.rows import ClockRow, MeshMinute, NodeRow, PeerRow, TopicRow
from rumormill.report.scores import Standing, standings
from rumormill.report.seconds import Moment
from rumormill.report.words import TOPIC_LENGTH, labelled, milliseconds, percent, shortened

PROMISES: Final = {
    "every": "every subscriber",
    "one": "one subscriber",
    "newest": "the newest value",
}
"""What a network promises to each message, in two words."""

KEPT: Final = {
    "every": "every message reached every peer that was subscribed",
    "one": "each message reached one subscriber",
    "newest": "every subscriber had the newest value",
}

SUMS: Final = ("published", "expected", "delivered", "unexpected", "missing", "skipped",
               "duplicates", "recoveries")  # fmt: skip

CHURN: Final = ("connection_opened", "connection_closed", "peer_joined", "peer_left")
Item = TypeVar("Item")
Name = TypeVar("Name", str, tuple[str, str])
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Hop:
    """The deliveries that were so many hops away from the publisher."""

    hop: int
    deliveries: int
    latency_p50: float | None


def totals(rows: Iterable[TopicRow]) -> dict[str, Any]:
    """Several topics added up; latency has no sum, as the topics' promises differ."""
    rows = list(rows)
    sums = {name: sum(getattr(row, name) for row in rows) for name in SUMS}
    expected, delivered = sums["expected"], sums["delivered"]
    return {
        **sums,
        "topics": len(rows),
        "ratio": (expected - sums["missing"]) / expected if expected else None,
        "duplicates_per_delivery": sums["duplicates"] / delivered if delivered else None,
    }


@dataclass(frozen=True)
class Report:
    """Everything that is shown, in the terminal, as JSON and on the page.

    Topics and peers are found by their labels: the name alone, or with the network where two
    networks share a name.
    """

    gold: Gold

    @cached_property
    def topic_labels(self) -> Mapping[Key, str]:
        """The label of each (network, topic, promise)."""
        keys = [row.key for row in self.gold.topics]
        networks = labelled((network, topic) for network, topic, _ in keys)
        several = Counter(key[:2] for key in keys)
        return {
            key: networks[key[:2]]
            + (f" ({PROMISES.get(key[2], key[2])})" if several[key[:2]] > 1 else "")
            for key in keys
        }

    @cached_property
    def _labels_of_pairs(self) -> Mapping[tuple[str, str], str]:
        """Where no promise is known: the first of those that the topic has."""
        return {key[:2]: label for key, label in reversed(list(self.topic_labels.items()))}

    @cached_property
    def topics(self) -> Mapping[str, TopicRow]:
        """By label, in the order of the networks and the topics."""
        return {
            self.topic_labels[row.key]: row
            for row in sorted(self.gold.topics, key=lambda row: row.key)
        }

    @cached_property
    def promises(self) -> list[str]:
        """What the networks of this report promise."""
        return [name for name in PROMISES if any(row.promise == name for row in self.gold.topics)]

    @cached_property
    def peer_labels(self) -> Mapping[tuple[str, str], str]:
        """The label of each (network, node), also of those that only a link or a clock names."""
        gold = self.gold
        nodes: list[PeerRow | ClockRow | NodeRow] = [*gold.peers, *gold.clocks, *gold.nodes]
        names = [(row.network, row.node) for row in nodes]
        for link in gold.links:
            names += [(link.network, link.node)]
            names += [(link.network, link.peer)] if link.peer else []
        names += [(row.network, row.peer) for row in gold.standings]
        return labelled(names)

    @cached_property
    def peers(self) -> Mapping[str, PeerRow]:
        """By label, those that handed on most first."""
        rows = sorted(self.gold.peers, key=lambda row: (-row.first_sent, row.network, row.node))
        return {self.peer_labels[row.network, row.node]: row for row in rows}

    @cached_property
    def short_names(self) -> Mapping[str, str]:
        """A short name for each peer's label."""
        return shortened(self.peer_labels.values())

    @cached_property
    def short_topics(self) -> Mapping[str, str]:
        """A short name for each topic's label: a name may have a thousand characters."""
        return shortened([*self.topics, *self.mesh], TOPIC_LENGTH, TOPIC_LENGTH // 2)

    def peer(self, network: str, node: str) -> str:
        """What a peer is called in a sentence or in a row."""
        label = self.peer_labels.get((network, node), node)
        return self.short_names.get(label, label)

    def topic(self, network: str, topic: str) -> str:
        """What a topic is called in a sentence."""
        label = self._labels_of_pairs.get((network, topic), topic)
        return self.short_topics.get(label, label)

    @cached_property
    def clocks(self) -> Mapping[str, ClockRow]:
        """Each peer's clock, by its label."""
        return {self.peer_labels[row.network, row.node]: row for row in self.gold.clocks}

    @cached_property
    def networks(self) -> Mapping[str, Mapping[str, Any]]:
        """What each network's topics add up to."""
        gold = self.gold
        rows: list[TopicRow | PeerRow | NodeRow] = [*gold.topics, *gold.peers, *gold.nodes]
        names = sorted({row.network for row in rows})
        return {it: totals(row for row in gold.topics if row.network == it) for it in names}

    @cached_property
    def total(self) -> Mapping[str, Any]:
        """What all topics add up to."""
        return totals(self.gold.topics)

    @cached_property
    def events(self) -> Mapping[str, int]:
        """How often each kind of event happened, the most frequent first."""
        return _added_up((row.event, row.count) for row in self.gold.events)

    @cached_property
    def causes(self) -> Mapping[tuple[str, str], int]:
        """How often each kind of event had which reason, the most frequent first."""
        return _added_up(((row.event, row.reason), row.count) for row in self.gold.causes)

    @cached_property
    def spared(self) -> Mapping[str, int]:
        """Of each topic, copies that were not sent, as the peer had said that it has it."""
        counts: Counter[str] = Counter()
        for row in self.gold.causes:
            label = self._labels_of_pairs.get((row.network, row.topic or ""))
            if row.event == "spared" and label is not None:
                counts[label] += row.count
        return counts

    def scores(self, seconds: int = 60) -> Mapping[str, Standing]:
        """What others think of each peer, by its label, the lowest first."""
        gold = self.gold
        end = gold.period[1] if gold.period else None
        found = standings(gold.standings, gold.scores, end, seconds)
        return {self.peer_labels[name]: standing for name, standing in found.items()}

    @cached_property
    def nodes(self) -> Mapping[str, NodeRow]:
        """What is known of each node, by its label."""
        return {self.peer_labels[row.network, row.node]: row for row in self.gold.nodes}

    @cached_property
    def agents(self) -> Mapping[str, int]:
        """How many nodes run what."""
        return _added_up((row.agent or "unknown", 1) for row in self.gold.nodes)

    @cached_property
    def minutes(self) -> Mapping[str, Sequence[Moment]]:
        """Each topic's minutes, in order."""
        rows = sorted(self.gold.topic_minutes, key=lambda row: str(row.minute))
        return self._by_label(
            (self.topic_labels.get(row.key, row.topic),
             Moment(row.minute, row.published, row.expected, row.missing, row.skipped,
                    row.latency_p50, row.latency_p99))
            for row in rows if row.minute is not None
        )  # fmt: skip

    def ratios(self, label: str) -> tuple[list[float | None], float]:
        """A topic's ratios, minute by minute, and where the axis of their picture begins."""
        ratios = [moment.ratio for moment in self.minutes.get(label, ())]
        return ratios, min([0.9, *(ratio for ratio in ratios if ratio is not None)])

    @cached_property
    def seconds(self) -> Mapping[str, Sequence[Moment]]:
        """Each topic's seconds, if the run is short."""
        return self._by_label(
            (self.topic_labels.get(key, key[1]), moment)
            for key, moments in self.gold.seconds.items()
            for moment in moments
        )

    @cached_property
    def mesh(self) -> Mapping[str, Sequence[MeshMinute]]:
        """Each topic's mesh, minute by minute; also of topics that nobody published to."""
        rows = sorted(self.gold.mesh_minutes, key=lambda row: row.minute)
        labels = self._labels_of_pairs
        return self._by_label((labels.get((row.network, row.topic), row.topic), row)
                              for row in rows)  # fmt: skip

    @cached_property
    def latency(self) -> Mapping[str, Sequence[tuple[float, float]]]:
        """Each topic's latencies in ascending order, with the share that took at most so long."""
        bins: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for row in self.gold.latencies:
            if row.bin is not None:
                bins[self.topic_labels.get(row.key, row.topic)][row.bin] += row.timed
        return self._by_label(
            (label, point) for label, counts in bins.items() for point in curve(counts)
        )

    @cached_property
    def hops(self) -> Mapping[str, Sequence[Hop]]:
        """Each topic's hops, the nearest first."""
        deliveries: defaultdict[tuple[str, int], int] = defaultdict(int)
        bins: defaultdict[tuple[str, int], Counter[int]] = defaultdict(Counter)
        for row in self.gold.latencies:
            if row.hop is not None:
                at = self.topic_labels.get(row.key, row.topic), row.hop
                deliveries[at] += row.delivered
                if row.bin is not None:
                    bins[at][row.bin] += row.delivered
        return self._by_label(
            (label, Hop(hop, count, percentile(bins[label, hop], 0.5)))
            for (label, hop), count in sorted(deliveries.items())
        )

    @cached_property
    def lifetimes(self) -> Mapping[str, Mapping[int, int]]:
        """Of each kind of thing that ended, how many lasted for how long, in bins."""
        found: defaultdict[str, Counter[int]] = defaultdict(Counter)
        for row in self.gold.lifetimes:
            found[row.kind][row.bin] += row.ended
        return dict(sorted(found.items()))

    @cached_property
    def findings(self) -> Sequence[Finding]:
        """What is wrong and what is worth a note, the worst first."""
        return find_problems(self.gold, self.topic, self.peer)

    def _by_label(self, pairs: Iterable[tuple[str, Item]]) -> dict[str, list[Item]]:
        """Grouped, the known topics first and in their order."""
        found: defaultdict[str, list[Item]] = defaultdict(list)
        for label, item in pairs:
            found[label].append(item)
        known = {label: found.pop(label) for label in self.topics if label in found}
        return {**known, **found}


def _added_up(counts: Iterable[tuple[Name, int]]) -> dict[Name, int]:
    """How often each was counted in all, the most frequent first."""
    found: Counter[Name] = Counter()
    for name, count in counts:
        found[name] += count
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def verdict(report: Report) -> str:
    """Did everything arrive? One sentence."""
    sums = report.total
    if not sums["published"]:
        return "Nothing was published."
    if not sums["expected"]:
        return f"{plural(sums['published'], 'message')} published, but nobody else was subscribed."
    if not sums["missing"]:
        kept = [KEPT[promise] for promise in report.promises]
        sentence = "; ".join(kept)
        return f"{sentence[:1].upper()}{sentence[1:]}."
    arrived = percent(sums["ratio"])
    if report.promises == ["newest"]:
        return (
            f"{arrived} had the newest value in time: {sums['missing']:,} of "
            f"{plural(sums['expected'], 'time')} neither it nor a newer one came."
        )
    missing = f"{sums['missing']:,} of {plural(sums['expected'], 'delivery')}"
    return f"{arrived} arrived: {missing} missing."


def speed(report: Report) -> str:
    """How fast was it? One sentence; of several topics, the slowest counts."""
    rows = [row for row in report.gold.topics if row.latency_p50 is not None]
    if not rows:
        return "No latency is known."
    half = milliseconds(max(row.latency_p50 or 0.0 for row in rows))
    most = milliseconds(max(row.latency_p99 or 0.0 for row in rows))
    where = " in every topic" if len(rows) > 1 else ""
    if report.promises == ["newest"]:
        return f"Half had a value or a newer one within {half}, 99 % within {most}{where}."
    return f"Half within {half}, 99 % within {most}{where}."
