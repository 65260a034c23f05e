"""What is wrong, in sentences: the first thing that a person wants to read.

A *problem* is something lost, or an alert. A *warning* says that a figure deserves less trust. A
*note* explains what might otherwise surprise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from rumormill.core.words import plural
from rumormill.pipeline.report.gold import Gold
from rumormill.pipeline.report.rows import AlertRow, ProblemRow
from rumormill.pipeline.report.words import listed, milliseconds, percent

Names = Mapping[tuple[str, str], str]
"""What the sentences call the topic or the peer of (network, name)."""
Namer = Callable[[str, str], str]
"""From a network and a topic's or a peer's name to what it is called in a sentence."""

LOSSES = ("lost", "gap", "captured")
"""In the kind of a problem that the tables tell: something is gone, not only uncertain."""


NEGATIVE_LATENCY = "negative_latency"
HOP_UNKNOWN = "hop_unknown"
CLOCK_UNKNOWN = "clock_unknown"
"""Kinds of problems that the tables tell and that can be seen in the other tables as well."""


class Weight(IntEnum):
    """How bad it is."""

    PROBLEM = 0
    WARNING = 1
    NOTE = 2


@dataclass(frozen=True, order=True)
class Finding:
    """One sentence, and how much it weighs."""

    weight: Weight
    kind: str
    sentence: str


def find_problems(gold: Gold, topics: Names, peers: Names) -> list[Finding]:
    """Everything worth saying about these tables, the worst first."""

    def name(network: str, node: str) -> str:
        return peers.get((network, node), node)

    def topic(network: str, it: str) -> str:
        return f"topic {topics.get((network, it), it)}"

    search = _Search(gold, name, topic)
    found = [
        *search.alerts(),
        *search.missing_deliveries(),
        *search.told_by_the_tables(),
        *search.rejections(),
        *search.drops(),
        *search.torn_meshes(),
        *search.negative_latencies(),
        *search.unknown_clocks(),
        *search.nobody_there(),
        *search.unknown_ways(),
        *search.missing_tables(),
    ]
    return sorted(found, key=lambda finding: finding.weight)


class _Search:
    """Each method looks for one kind of trouble."""

    def __init__(self, gold: Gold, name: Namer, topic: Namer) -> None:
        self._gold = gold
        self._name = name
        self._topic = topic
        self._told = {row.kind for row in gold.problems}

    def alerts(self) -> Iterator[Finding]:
        """One sentence for each kind, topic and peer, however many minutes it lasted."""
        groups: defaultdict[tuple[str, str, str | None, str | None], list[AlertRow]]
        groups = defaultdict(list)
        for row in self._gold.alerts:
            groups[row.kind, row.network, row.topic, row.node].append(row)
        for (kind, network, topic, node), rows in groups.items():
            about = [self._topic(network, topic)] if topic else []
            about += [f"peer {self._name(network, node)}"] if node else []
            sentence = f"{kind.capitalize()}{', ' if about else ''}{', '.join(about)}"
            sentence += f": {rows[0].detail}" if rows[0].detail else ""
            yield Finding(Weight.PROBLEM, f"alert {kind}", f"{sentence}{_when(rows)}.")

    def missing_deliveries(self) -> Iterator[Finding]:
        """Messages that did not reach everybody who was subscribed."""
        for row in self._gold.topics:
            if row.missing:
                yield Finding(
                    Weight.PROBLEM,
                    "missing",
                    f"{_upper(self._topic(row.network, row.topic))}: {row.missing:,} of "
                    f"{plural(row.expected, 'expected delivery')} "
                    f"{'is' if row.missing == 1 else 'are'} missing "
                    f"({percent(row.ratio)} arrived).",
                )

    def told_by_the_tables(self) -> Iterator[Finding]:
        """What the pipeline itself found lacking; one sentence for each kind and topic."""
        groups: defaultdict[tuple[str, str | None, str | None], list[ProblemRow]]
        groups = defaultdict(list)
        for row in self._gold.problems:
            if row.kind != CLOCK_UNKNOWN:  # told with the names of the peers, further down
                groups[row.kind, row.network, row.topic].append(row)
        for (kind, network, topic), rows in groups.items():
            where = f"{self._topic(network or '', topic)}: " if topic else ""
            more = len(rows) - 1
            total = sum(row.count for row in rows)
            like_it = f" (and {more} more of this kind, {total:,} in all)" if more else ""
            weight = Weight.NOTE if kind == HOP_UNKNOWN else Weight.WARNING
            if any(word in kind for word in LOSSES):
                weight = Weight.PROBLEM
            yield Finding(weight, kind, _sentence(f"{where}{_detail(rows[0])}{like_it}"))

    def rejections(self) -> Iterator[Finding]:
        """Messages that receivers refused, and whose they were."""
        refused = sum(row.rejected_here for row in self._gold.peers)
        senders = [row for row in self._gold.peers if row.rejected_by_others]
        if refused:
            senders.sort(key=lambda row: -row.rejected_by_others)
            names = listed([self._name(row.network, row.node) for row in senders])
            by = f"; they came from {names}" if names else ""
            yield Finding(Weight.WARNING, "rejected", f"{plural(refused, 'message')} rejected{by}.")

    def drops(self) -> Iterator[Finding]:
        """What peers threw away for want of room."""
        rows = [row for row in self._gold.peers if row.dropped_here]
        if rows:
            rows.sort(key=lambda row: -row.dropped_here)
            names = listed([self._name(row.network, row.node) for row in rows])
            count = plural(sum(row.dropped_here for row in rows), "thing")
            yield Finding(
                Weight.WARNING, "dropped", f"{count} dropped for want of room, by {names}."
            )

    def torn_meshes(self) -> Iterator[Finding]:
        """Meshes that were in pieces, where no alert says so already."""
        alerted = {(row.network, row.topic) for row in self._gold.alerts if row.kind == "partition"}
        torn: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        minutes: defaultdict[tuple[str, str], int] = defaultdict(int)
        for row in self._gold.mesh_minutes:
            key = row.network, row.topic
            minutes[key] += 1
            if (row.components or 0) > 1 and key not in alerted:
                torn[key].append(row.components or 0)
        for key, pieces in torn.items():
            yield Finding(
                Weight.WARNING,
                "torn mesh",
                f"{_upper(self._topic(*key))}: the mesh was in {max(pieces)} pieces, "
                f"in {len(pieces)} of {plural(minutes[key], 'minute')}.",
            )

    def negative_latencies(self) -> Iterator[Finding]:
        """Deliveries that seem to come before their publication: clocks that differ."""
        if NEGATIVE_LATENCY in self._told:
            return
        share: dict[tuple[str, str], float] = {}
        lowest: dict[tuple[str, str], float] = {}
        for row in self._gold.latency_cdf:
            if row.latency_ms < 0:
                key = row.network, row.topic
                share[key] = max(share.get(key, 0.0), row.share)
                lowest[key] = min(lowest.get(key, 0.0), row.latency_ms)
        for key, part in share.items():
            yield Finding(
                Weight.WARNING,
                NEGATIVE_LATENCY,
                f"{_upper(self._topic(*key))}: about {percent(part)} of the latencies are below "
                f"zero, down to {milliseconds(lowest[key])}: the clocks differ by more than what "
                "could be corrected.",
            )

    def unknown_clocks(self) -> Iterator[Finding]:
        """Peers whose clock could not be compared with the others'.

        It takes copies both ways. So that is as it must be for those to which nothing came, and
        for all where nobody who got messages sent any.
        """
        by_network: defaultdict[str, list[str]] = defaultdict(list)
        nodes: defaultdict[str, int] = defaultdict(int)
        deaf = {(row.network, row.node) for row in self._gold.peers
                if not row.delivered + row.duplicates}  # fmt: skip
        two_way = {row.network for row in self._gold.peers
                   if row.delivered + row.duplicates
                   and row.published + row.first_sent + row.repeat_sent}  # fmt: skip
        expecting: set[str] = set()
        for row in self._gold.skew:
            nodes[row.network] += 1
            if not row.estimated:
                by_network[row.network].append(self._name(row.network, row.node))
                if (row.network, row.node) not in deaf:
                    expecting.add(row.network)
        for network, names in by_network.items():
            if nodes[network] < 2:
                continue  # nobody to compare with
            all_of = "all" if len(names) == nodes[network] else f"{len(names)} of"
            why, weight = "", Weight.WARNING
            if network not in expecting:
                why, weight = ", as they only published", Weight.NOTE
            elif network not in two_way:
                why, weight = ", as messages went one way only", Weight.NOTE
            yield Finding(
                weight,
                "skew",
                f"{_upper(network)}: the clocks of {all_of} {plural(nodes[network], 'peer')} could "
                f"not be compared{why} ({listed(names)}): latency there is as their own clocks "
                "say.",
            )

    def nobody_there(self) -> Iterator[Finding]:
        """Topics with messages and without subscribers."""
        for row in self._gold.topics:
            if row.published and not row.expected:
                yield Finding(
                    Weight.NOTE,
                    "nobody there",
                    f"{_upper(self._topic(row.network, row.topic))}: "
                    f"{plural(row.published, 'message')} published while nobody else was "
                    "subscribed.",
                )
            if row.unexpected:
                yield Finding(
                    Weight.NOTE,
                    "unexpected",
                    f"{_upper(self._topic(row.network, row.topic))}: "
                    f"{plural(row.unexpected, 'delivery')} at peers that were not expected to get "
                    "the message: not known as subscribed yet when it was published, or about to "
                    "end without a word. Ratio and latency leave them out.",
                )

    def unknown_ways(self) -> Iterator[Finding]:
        """Deliveries of which the number of hops is not known."""
        if HOP_UNKNOWN in self._told:
            return
        known: defaultdict[tuple[str, str], int] = defaultdict(int)
        for hop in self._gold.hops:
            known[hop.network, hop.topic] += hop.deliveries
        for row in self._gold.topics if self._gold.hops else ():
            lacking = row.delivered - known[row.network, row.topic]
            if lacking > 0:
                yield Finding(
                    Weight.NOTE,
                    HOP_UNKNOWN,
                    f"{_upper(self._topic(row.network, row.topic))}: the way of {lacking:,} of "
                    f"{plural(row.delivered, 'delivery')} is not known, as the trace of a peer on "
                    "it is missing; hops leave them out.",
                )

    def missing_tables(self) -> Iterator[Finding]:
        """Tables of which there is no file."""
        if self._gold.missing:
            names = listed([f"gold/{name}" for name in self._gold.missing], most=20)
            yield Finding(Weight.WARNING, "missing table", f"Not there to be read: {names}.")


def _detail(row: ProblemRow) -> str:
    """The row in words, with its count in front."""
    if row.detail is None:
        return f"{row.kind.replace('_', ' ')}, {plural(row.count, 'time')}"
    return row.detail if row.detail[:1].isdigit() else f"{row.count:,} {row.detail}"


def _when(rows: Sequence[AlertRow]) -> str:
    minutes = sorted(row.minute for row in rows if row.minute is not None)
    if not minutes:
        return ""
    first = minutes[0].strftime("%H:%M UTC")
    return f" ({first})" if len(minutes) == 1 else f" ({len(minutes)} minutes, first at {first})"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    return _upper(text) + ("" if text.endswith((".", "!", "?")) else ".")
