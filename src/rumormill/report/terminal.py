"""The report in a terminal: what happened first, tables after it, what is wrong last.

Every table fits into 80 columns; a wider terminal gets longer bars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from rumormill.core.words import plural, printable
from rumormill.report.as_json import json_object
from rumormill.report.bars import bar, distribution, sparkline
from rumormill.report.comparison import Comparison
from rumormill.report.figures import PROMISES, Report, speed, verdict
from rumormill.report.terminal_parts import (
    BAD,
    DOUBT,
    GOOD,
    MOST_TOPICS,
    QUIET,
    Cells,
    compared,
    findings,
    table,
    warned,
)
from rumormill.report.words import (
    count,
    digits,
    milliseconds,
    of_expected,
    percent,
    size,
    span,
)

MOST_PEERS = 15
MOST_EVENTS = 30
MOST_OWN = 10
MOST_SLOW = 5
MOST_SCORES = 8
MOST_CAUSES = 15
"""Lines of a table; the JSON form has all."""

NARROW, WIDE = 80, 140


def print_report(report: Report, console: Console) -> None:
    """All of it, on this console."""
    for part in _Sections(report, console.width).all():
        console.print(part)
        console.print()


def print_comparison(comparison: Comparison, console: Console) -> None:
    """What each run was like, then figure by figure, then what is wrong with this one."""
    for part in compared(comparison):
        console.print(part)
        console.print()


class _Sections:
    """The parts of the report from top to bottom, for a terminal so many columns wide."""

    def __init__(self, report: Report, width: int) -> None:
        self.report = report
        self.figures = json_object(report)
        self.wide = width >= WIDE
        self.room = 8 + max(0, min(width, WIDE) - NARROW) // 3

    def all(self) -> Iterator[RenderableType]:
        yield self.heading()
        yield from (part for part in (
            self.topics(), self.latency(), self.cost(), self.mesh(), self.hops(), self.peers(),
            self.scores(), self.slowest(), self.control(), self.churn(), self.lifetimes(),
            self.counted("Agents", "runs", "nodes", self.figures["agents"]),
            self.counted("Trace events", "event", "count", self.figures["events"]),
            self.causes(), *self.own(),
        ) if part is not None)  # fmt: skip
        yield findings(self.report)

    def heading(self) -> RenderableType:
        report, total = self.report, self.report.total
        about = [", ".join(map(printable, report.networks)) or "no network"]
        about += [plural(len(report.peers), "peer"), plural(len(report.topics), "topic")]
        if report.gold.period:
            about += [f"{report.gold.period[0]:%Y-%m-%d %H:%M} UTC"]
            about += [plural(self.figures["period"]["minutes"], "minute")]
        mark, style = ("✓", GOOD) if total["delivered"] else ("-", DOUBT)
        if total["missing"]:
            mark, style = "✗", BAD
        return Group(
            Text(" · ".join(about), QUIET),
            Text(""),
            Text.assemble((f"{mark} ", style), (verdict(report), f"bold {style}")),
            Text(f"  {speed(report)}"),
        )

    # ---- topics

    def shown_topics(self) -> list[str]:
        """The topics that are worth a line: all, or those with losses and then the busiest."""
        rows = self.report.topics
        if len(rows) <= MOST_TOPICS:
            return list(rows)
        order = sorted(rows, key=lambda label: (-rows[label].missing, -rows[label].delivered))
        return order[:MOST_TOPICS]

    def topics(self) -> Table | None:
        report, room = self.report, self.room
        others = report.promises not in ([], ["every"])
        skipping = "newest" in report.promises
        headings = ["topic", "published", "expected", "missing", *(["skipped"] * skipping),
                    "ratio", *([""] if self.wide or not others else []), "by minute"]  # fmt: skip
        rows: list[Cells] = []
        for label in self.shown_topics():
            row = report.topics[label]
            style = BAD if row.missing else GOOD if row.expected else QUIET
            ratios, low = report.ratios(label)
            name = self.topic(label)
            if others:
                name.append(f"\n  {PROMISES.get(row.promise, row.promise)}", QUIET)
            rows.append([
                name, count(row.published), count(row.expected),
                warned(row.missing), *([count(row.skipped)] * skipping),
                Text(percent(row.ratio), style),
                *([bar(row.ratio, room, style)] if self.wide or not others else []),
                Text(sparkline(ratios, room + 4, low, 1.0), style),
            ])  # fmt: skip
        return table("Topics", headings, rows, len(report.topics))

    def latency(self) -> Table | None:
        labels = self.shown_topics()
        points = {label: self.report.latency.get(label, ()) for label in labels}
        values = [latency for row in points.values() for latency, _ in row if latency > 0]
        low, high = min(values, default=1.0), max(values, default=1.0)
        axis = f"{digits(low)} to {digits(high)} ms" if values else ""
        rows = [
            [self.topic(label), *(digits(getattr(self.report.topics[label], f"latency_{part}"))
                                  for part in ("p50", "p90", "p99", "max")),
             Text(distribution(points[label], max(16, 3 * self.room), low, high), "cyan")]
            for label in labels
        ]  # fmt: skip
        title = "Latency, ms"
        if "newest" in self.report.promises:
            title += "; newest values: until it or a newer one came"
        headings = ["topic", "p50", "p90", "p99", "max", axis]
        return table(title, headings, rows, len(self.report.topics))

    def cost(self) -> Table | None:
        spared = bool(self.report.spared)
        rows = [
            [self.topic(label), digits(row.duplicates_per_delivery),
             *([count(self.report.spared.get(label, 0))] * spared), size(row.bytes_per_delivery),
             digits(row.hops_mean), count(row.hops_max), count(row.recoveries)]
            for label in self.shown_topics() for row in [self.report.topics[label]]
        ]  # fmt: skip
        headings = ["topic", "duplicates/\ndelivery", *(["spared"] * spared),
                    "bytes/\ndelivery", "hops\nmean",
                    "hops\nmax", "by\ngossip"]  # fmt: skip
        return table("Cost", headings, rows, len(self.report.topics))

    def mesh(self) -> Table | None:
        report = self.report
        shown = [label for label in self.shown_topics() if report.mesh.get(label)]
        rows: list[Cells] = []
        for label in shown or list(report.mesh)[:MOST_TOPICS]:
            minutes = report.mesh[label]
            last = minutes[-1]
            pieces = max(minute.components or 0 for minute in minutes)
            rows.append([
                self.topic(label), count(last.nodes), digits(last.degree_mean),
                count(last.degree_min), count(last.degree_max),
                Text(str(pieces), BAD if pieces > 1 else ""),
                count(sum(m.grafts for m in minutes)), count(sum(m.prunes for m in minutes)),
                Text(sparkline([m.degree_mean for m in minutes], self.room, low=0), "cyan"),
            ])  # fmt: skip
        headings = ["topic", "peers", "degree", "least", "most", "pieces", "grafts", "prunes",
                    "by minute"]  # fmt: skip
        return table("Mesh", headings, rows, len(report.mesh))

    def hops(self) -> Table | None:
        deliveries: Counter[int] = Counter()
        for hops in self.report.hops.values():
            deliveries.update({hop.hop: hop.deliveries for hop in hops})
        everything = sum(deliveries.values()) or 1
        order = sorted(deliveries)
        pictures = self.bars([deliveries[hop] for hop in order])
        headings = ["from the publisher", "deliveries", "share", ""]
        rows = [[str(hop), count(deliveries[hop]), percent(deliveries[hop] / everything), picture]
                for hop, picture in zip(order, pictures, strict=True)]  # fmt: skip
        return table("Hops", headings, rows)

    # ---- nodes

    def peers(self) -> Table | None:
        peers = self.figures["peers"]
        shown = list(peers.items())[:MOST_PEERS]
        refused = any(row["rejected_by_others"] for row in peers.values())
        lacking = any(row["missing"] for row in peers.values())
        headings = ["peer", "published", "got", *(["missing"] * lacking), "latency\nmean",
                    *(["duplicates"] * self.wide), "handed\non", "share", *([""] * self.wide),
                    *(["refused"] * refused), "clock\nms"]  # fmt: skip
        pictures = self.bars([row["contribution"] or 0.0 for _, row in shown], self.room)
        rows: list[Cells] = []
        for (label, row), picture in zip(shown, pictures, strict=True):
            skew = row["skew"]
            clock = "?" if skew and not skew["estimated"] else digits(skew and skew["offset_ms"])
            rows.append([
                self.peer(label), count(row["published"]), count(row["delivered"]),
                *([warned(row["missing"])] * lacking), milliseconds(row["latency_mean"]),
                *([count(row["duplicates"])] * self.wide), count(row["first_sent"]),
                percent(row["contribution"]),
                *([picture] * self.wide), *([warned(row["rejected_by_others"])] * refused), clock,
            ])  # fmt: skip
        return table("Peers", headings, rows, len(peers), MOST_PEERS)

    def scores(self) -> Table | None:
        """What others think of the peers that fell lowest, and how most of them are treated."""
        scores = self.figures["scores"]
        rows: list[Cells] = []
        for label, peer in list(scores.items())[:MOST_SCORES]:
            line = peer["minutes"]["score"] if peer["minutes"] else ()
            worst, many = list(peer["levels"].items())[-1]
            rows.append([
                self.peer(label), Text(digits(peer["score"]), BAD if peer["score"] < 0 else ""),
                digits(peer["lowest"]), digits(peer["highest"]),
                printable(f"{worst.replace('_', ' ')} by {many}"),
                Text(sparkline(line, self.room), "cyan"),
            ])  # fmt: skip
        headings = ["peer", "score", "lowest", "highest", "treated as", "by minute"]
        return table("Scores", headings, rows, len(scores), MOST_SCORES)

    # ---- traffic

    def slowest(self) -> Table | None:
        rows = [
            [printable(self.report.topic(row.network, row.topic)),
             f"{row.published_at:%H:%M:%S}" if row.published_at else "-",
             milliseconds(row.slowest_ms), of_expected(row.reached, row.expected),
             printable(self.report.peer(row.network, last.node)) if last else "-",
             count(last.hop if last else None)]
            for row in self.report.gold.slowest[:MOST_SLOW]
            for last in [row.tree[-1] if row.tree else None]
        ]  # fmt: skip
        headings = ["topic", "published", "took", "reached", "last at", "hops"]
        return table("Slowest messages", headings, rows)

    def control(self) -> Table | None:
        total = {kind: many for kind, many in self.figures["control"]["total"].items() if many}
        minutes = self.figures["control"]["minutes"]
        rows = [[kind.replace("_", " "), size(many) if "bytes" in kind else count(many),
                 Text(sparkline(minutes.get(kind, ()), 3 * self.room, low=0), "cyan")]
                for kind, many in total.items()]  # fmt: skip
        return table("Traffic sent", ["what", "in all", "by minute"], rows)

    def churn(self) -> Table | None:
        churn = self.figures["churn"]
        rows = [[kind.replace("_", " "), count(sum(values)),
                 Text(sparkline(values, 3 * self.room, low=0), "cyan")]
                for kind, values in churn.items() if kind != "time"]  # fmt: skip
        return table("Connections", ["what", "in all", "by minute"], rows)

    def lifetimes(self) -> Table | None:
        rows: list[Cells] = []
        for kind, found in self.figures["lifetimes"].items():
            pictures = self.bars(found["ended"])
            for within, ended, picture in zip(found["within_s"], found["ended"], pictures,
                                              strict=True):  # fmt: skip
                rows.append([f"{kind}, within {span(within)}", count(ended), picture])
        return table("How long it lasted", ["what ended", "ended", ""], rows)

    def causes(self) -> Table | None:
        """Why things were refused, spared or dropped."""
        causes = self.figures["causes"]
        rows = [[printable(row["event"]), printable(row["reason"]), count(row["count"])]
                for row in causes[:MOST_CAUSES]]  # fmt: skip
        return table("Reasons", ["event", "reason", "count"], rows, len(causes), MOST_CAUSES)

    def own(self) -> Iterator[Table]:
        """The tables of users."""
        for own in self.figures["tables"].values():
            rows = [[Text(printable("-" if value is None else str(value))) for value in row]
                    for row in own["rows"][:MOST_OWN]]  # fmt: skip
            made = table(printable(own["title"]), list(map(printable, own["columns"])), rows,
                         len(own["rows"]) + own["left_out"], MOST_OWN)  # fmt: skip
            if made is not None:
                yield made

    # ---- pieces

    def counted(self, title: str, what: str, many: str, counts: dict[str, int]) -> Table | None:
        shown = dict(list(counts.items())[:MOST_EVENTS])
        rows = [[Text(printable(kind)), count(number), picture]
                for (kind, number), picture in zip(shown.items(), self.bars(list(shown.values())),
                                                   strict=True)]  # fmt: skip
        return table(title, [what, many, ""], rows, len(counts), MOST_EVENTS)

    def bars(self, values: Sequence[float], width: int | None = None) -> list[Text]:
        most = max(values, default=0)
        return [bar(value / most if most else 0, width or 3 * self.room) for value in values]

    def topic(self, label: str) -> Text:
        return Text(printable(self.report.short_topics[label]))

    def peer(self, label: str) -> Text:
        return Text(printable(self.report.short_names[label]))
