"""What is wrong, in sentences: the first thing that a person wants to read.

A *problem* is something lost, or an alert. A *warning* says that a figure deserves less trust. A
*note* explains what might otherwise surprise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from rumormill.core.words import plural
from rumormill.report.gold import Gold
from rumormill.report.rows import AlertRow, BinRow, ProblemRow, TopicRow, ValueRow
from rumormill.report.words import listed, percent

Namer = Callable[[str, str], str]
"""From a network and a topic's or a peer's name to what it is called in a sentence."""

ALERTS: Final = "docs/alerts.md"
"""Where each kind of alert has a section of its name."""

MOST_PEERS: Final = 5
"""With alerts of one kind that are told of one by one."""

LOSSES: Final = ("lost", "captured")
"""In the kind of a problem that the tables tell: something is gone, not only uncertain."""

NEGATIVE_LATENCY: Final = "negative_latency"
HOP_UNKNOWN: Final = "hop_unknown"
CLOCK_UNKNOWN: Final = "clock_unknown"
"""Kinds of problems that the tables tell and that can be seen in the other tables as well."""


class Weight(IntEnum):
    """How bad it is."""

    PROBLEM = 0
    WARNING = 1
    NOTE = 2


@dataclass(frozen=True)
class Finding:
    """One sentence, and how much it weighs."""

    weight: Weight
    kind: str
    sentence: str
    more: str | None = None
    """Where to read on."""


def find_problems(gold: Gold, topic: Namer, peer: Namer) -> list[Finding]:
    """Everything worth saying about these tables, the worst first."""
    search = _Search(gold, lambda *key: f"topic {topic(*key)}", peer)
    found = [
        *search.alerts(),
        *search.missing_deliveries(),
        *search.told_by_the_tables(),
        *search.behind(),
        *search.refused_and_dropped(),
        *search.torn_meshes(),
        *search.negative_latencies(),
        *search.unknown_clocks(),
        *search.surprises(),
        *search.unknown_ways(),
        *search.about_the_reading(),
    ]
    return sorted(found, key=lambda finding: finding.weight)


class _Search:
    """Each method looks for one kind of trouble."""

    def __init__(self, gold: Gold, topic: Namer, name: Namer) -> None:
        self._gold = gold
        self._topic = topic
        self._name = name
        self._told = {row.kind for row in gold.problems}

    def alerts(self) -> Iterator[Finding]:
        """One sentence for each kind, topic and peer, however many minutes it lasted.

        Of many peers one sentence for all: attackers come in crowds.
        """
        groups: defaultdict[tuple[str, str, str | None], defaultdict[str | None, list[AlertRow]]]
        groups = defaultdict(lambda: defaultdict(list))
        for row in self._gold.alerts:
            groups[row.kind, row.network, row.topic][row.node].append(row)
        for (kind, network, topic), peers in groups.items():
            about = [self._topic(network, topic)] if topic else []
            names = [self._name(network, node) for node in peers if node]
            if len(names) > MOST_PEERS:
                every = [row for rows in peers.values() for row in rows]
                yield _alert(kind, [*about, f"{len(names)} peers ({listed(names)})"], every)
                continue
            for node, rows in peers.items():
                peer = [f"peer {self._name(network, node)}"] if node else []
                yield _alert(kind, [*about, *peer], rows)

    def missing_deliveries(self) -> Iterator[Finding]:
        """Messages that did not reach those that their network promised them to."""
        for row in self._gold.topics:
            if row.missing:
                yield self._of(row, Weight.PROBLEM, "missing", _lost(row))

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
            sentence = _sentence(f"{where}{_detail(rows[0])}{like_it}")
            yield Finding(weight, kind, sentence)

    def behind(self) -> Iterator[Finding]:
        """Nodes that do not have the newest value."""
        groups: defaultdict[tuple[str, str], list[ValueRow]] = defaultdict(list)
        nodes: Counter[tuple[str, str]] = Counter()
        for row in self._gold.values:
            nodes[row.network, row.topic] += 1
            if row.behind:
                groups[row.network, row.topic].append(row)
        for key, rows in groups.items():
            names = listed([self._name(row.network, row.node) for row in rows])
            do = "does" if len(rows) == 1 else "do"
            yield Finding(
                Weight.WARNING, "behind",
                f"{_upper(self._topic(*key))}: {len(rows)} of {plural(nodes[key], 'peer')} {do} "
                f"not have the newest value ({names}).",
            )  # fmt: skip

    def refused_and_dropped(self) -> Iterator[Finding]:
        """Messages that receivers refused, and what peers threw away for want of room."""
        refused = sum(row.rejected_here for row in self._gold.peers)
        if refused:
            names = self._busiest("rejected_by_others")
            by = f"; they came from {names}" if names else ""
            yield Finding(Weight.WARNING, "rejected", f"{plural(refused, 'message')} rejected{by}.")
        dropped = sum(row.dropped_here for row in self._gold.peers)
        if dropped:
            names = self._busiest("dropped_here")
            yield Finding(
                Weight.WARNING, "dropped",
                f"{plural(dropped, 'thing')} dropped for want of room, by {names}.",
            )  # fmt: skip

    def _busiest(self, figure: str) -> str:
        rows = [row for row in self._gold.peers if getattr(row, figure)]
        rows.sort(key=lambda row: -getattr(row, figure))
        return listed([self._name(row.network, row.node) for row in rows])

    def torn_meshes(self) -> Iterator[Finding]:
        """Meshes that were in pieces, where no alert says so already."""
        alerted = {(row.network, row.topic) for row in self._gold.alerts if row.kind == "partition"}
        pieces: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for row in self._gold.mesh_minutes:
            pieces[row.network, row.topic].append(row.components or 0)
        for key, found in pieces.items():
            torn = [number for number in found if number > 1]
            if torn and key not in alerted:
                yield Finding(
                    Weight.WARNING, "torn mesh",
                    f"{_upper(self._topic(*key))}: the mesh was in {max(torn)} pieces, "
                    f"in {len(torn)} of {plural(len(found), 'minute')}.",
                )  # fmt: skip

    def negative_latencies(self) -> Iterator[Finding]:
        """Deliveries that seem to come before their publication: clocks that differ."""
        if NEGATIVE_LATENCY in self._told:
            return
        for row, negative in self._sums("negative"):
            share = percent(negative / row.delivered if row.delivered else None)
            yield self._of(
                row, Weight.WARNING, NEGATIVE_LATENCY, f"{share} of the latencies are below zero: "
                "the clocks differ by more than what could be corrected.",
            )  # fmt: skip

    def unknown_clocks(self) -> Iterator[Finding]:
        """Peers whose clock could not be compared with the others'.

        It takes copies both ways. So that is as it must be for those to which nothing came, and
        for all where nobody who got messages sent any.
        """
        got = {(row.network, row.node) for row in self._gold.peers
               if row.delivered + row.duplicates}  # fmt: skip
        gave = {(row.network, row.node) for row in self._gold.peers
                if row.published + row.first_sent + row.repeat_sent}  # fmt: skip
        two_way = {network for network, _ in got & gave}
        nodes = Counter(row.network for row in self._gold.clocks)
        for network, count in nodes.items():
            blind = [row.node for row in self._gold.clocks
                     if row.network == network and not row.estimated]  # fmt: skip
            if count < 2 or not blind:
                continue  # nobody to compare with, or all could be
            why, weight = "", Weight.WARNING
            if not any((network, node) in got for node in blind):
                why, weight = ", as they only published", Weight.NOTE
            elif network not in two_way:
                why, weight = ", as messages went one way only", Weight.NOTE
            all_of = "all" if len(blind) == count else f"{len(blind)} of"
            names = listed([self._name(network, node) for node in blind])
            yield Finding(
                weight, "skew",
                f"{_upper(network)}: the clocks of {all_of} {plural(count, 'peer')} could not be "
                f"compared{why} ({names}): latency there is as their own clocks say.",
            )  # fmt: skip

    def surprises(self) -> Iterator[Finding]:
        """Messages without subscribers, deliveries nobody expected, values that were skipped."""
        for row in self._gold.topics:
            if row.published and not row.expected:
                yield self._of(
                    row, Weight.NOTE, "nobody there",
                    f"{plural(row.published, 'message')} published while nobody else was "
                    "subscribed.",
                )  # fmt: skip
            if row.skipped:
                yield self._of(
                    row, Weight.NOTE, "skipped", f"{plural(row.skipped, 'value')} skipped, as a "
                    "newer one came first: this network promises the newest value, not each.",
                )  # fmt: skip
            if row.unexpected:
                yield self._of(
                    row, Weight.NOTE, "unexpected", f"{plural(row.unexpected, 'delivery')} at "
                    "peers that were not expected to get the message: not known as subscribed yet "
                    "when it was published, or about to end without a word. Ratio and latency "
                    "leave them out.",
                )  # fmt: skip

    def unknown_ways(self) -> Iterator[Finding]:
        """Deliveries of which the number of hops is not known."""
        if HOP_UNKNOWN in self._told:
            return
        for row, strayed in self._sums("strayed"):
            yield self._of(
                row, Weight.NOTE, HOP_UNKNOWN, f"the way of {strayed:,} of "
                f"{plural(row.delivered, 'delivery')} is not known, as the trace of a peer on it "
                "is missing; hops leave them out.",
            )  # fmt: skip

    def about_the_reading(self) -> Iterator[Finding]:
        """What this report could not read, or read of several states."""
        if self._gold.missing:
            names = listed([f"gold.{name}" for name in self._gold.missing], most=20)
            yield Finding(Weight.WARNING, "missing table", f"Not there to be read: {names}.")
        if not self._gold.settled:
            yield Finding(
                Weight.NOTE, "unsettled",
                "The tables were being written while they were read: they may be some seconds "
                "apart from each other.",
            )  # fmt: skip
        if self._gold.shown_since is not None:
            yield Finding(
                Weight.NOTE, "shown since",
                f"Minutes are shown since {self._gold.shown_since:%Y-%m-%d %H:%M} UTC, totals are "
                "of all time; --minutes shows more.",
            )  # fmt: skip

    def _of(self, row: TopicRow, weight: Weight, kind: str, words: str) -> Finding:
        return Finding(weight, kind, f"{_upper(self._topic(row.network, row.topic))}: {words}")

    def _sums(self, column: str) -> Iterator[tuple[TopicRow, int]]:
        """The topics of which this column of their bins is not zero."""
        sums: Counter[tuple[str, str, str]] = Counter()
        rows: Sequence[BinRow] = self._gold.latencies
        for each in rows:
            sums[each.key] += getattr(each, column)
        return ((row, sums[row.key]) for row in self._gold.topics if sums[row.key])


def _lost(row: TopicRow) -> str:
    """What is missing of a topic, in the words of its promise."""
    share = percent(row.ratio)
    if row.promise == "newest":
        return (
            f"{row.missing:,} of {plural(row.expected, 'time')} a subscriber had neither the value "
            f"nor a newer one in time ({share} had)."
        )
    if row.promise == "one":
        return (
            f"{row.missing:,} of {plural(row.expected, 'message')} reached no subscriber "
            f"({share} did)."
        )
    be = "is" if row.missing == 1 else "are"
    wanted = plural(row.expected, "expected delivery")
    return f"{row.missing:,} of {wanted} {be} missing ({share} arrived)."


def _detail(row: ProblemRow) -> str:
    """The row in words, with its count in front."""
    if row.detail is None:
        return f"{row.kind.replace('_', ' ')}, {plural(row.count, 'time')}"
    return row.detail if row.detail[:1].isdigit() else f"{row.count:,} {row.detail}"


def _alert(kind: str, about: Sequence[str], rows: Sequence[AlertRow]) -> Finding:
    """One sentence about alerts of one kind, in the words of the first of them."""
    sentence = ", ".join([kind.capitalize(), *about])
    sentence += f": {rows[0].detail}" if rows[0].detail else ""
    more = f"{ALERTS}#{kind}"
    return Finding(Weight.PROBLEM, f"alert {kind}", f"{sentence}{_when(rows)}.", more)


def _when(rows: Sequence[AlertRow]) -> str:
    minutes = sorted({row.minute for row in rows if row.minute is not None})
    if not minutes:
        return ""
    first = minutes[0].strftime("%H:%M UTC")
    return f" ({first})" if len(minutes) == 1 else f" ({len(minutes)} minutes, first at {first})"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _sentence(text: str) -> str:
    return _upper(text) + ("" if text.endswith((".", "!", "?")) else ".")
