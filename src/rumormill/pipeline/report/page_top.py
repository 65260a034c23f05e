"""The top of the page: the verdict, the first numbers, and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rumormill.core.words import plural, printable
from rumormill.pipeline.report.figures import Report, speed, verdict
from rumormill.pipeline.report.markup import Markup, number, tag
from rumormill.pipeline.report.page_tables import ratio_meter
from rumormill.pipeline.report.problems import Finding, Weight
from rumormill.pipeline.report.words import digits, milliseconds, percent

MOST_FINDINGS = 6
"""Sentences that stand on the page at once; the others are a click away."""

ICONS = {
    "good": "M4 12.5 9.5 18 20 6.5",
    "bad": "M6 6 18 18 M18 6 6 18",
    "doubt": "M12 5V13 M12 18.5V18.6",
}


def heading(report: Report) -> Markup:
    """Did everything arrive, and how fast: two sentences."""
    style = "good" if report.total.delivered else "doubt"
    if report.total.missing:
        style = "bad"
    icon = tag("svg", tag("path", d=ICONS[style]), viewBox="0 0 24 24")
    return tag(
        "section", tag("div", icon, class_=f"seal {style}", aria_hidden="true"),
        tag("h1", verdict(report)), tag("p", speed(report)), class_="verdict",
    )  # fmt: skip


@dataclass(frozen=True)
class Headlines:
    """The few numbers of a run that one looks for first."""

    report: Report

    def slowest(self, figure: str) -> float | None:
        """A latency of the topic where it is largest, in milliseconds."""
        values = [getattr(row, figure) for row in self.report.gold.topics]
        return max((value for value in values if value is not None), default=None)

    @property
    def hops(self) -> float | None:
        """The mean over all deliveries."""
        rows = [row for row in self.report.gold.topics if row.hops_mean is not None]
        weight = sum(row.delivered for row in rows)
        total = sum((row.hops_mean or 0.0) * row.delivered for row in rows)
        return total / weight if weight else None

    @property
    def degree(self) -> float | None:
        """The mean over all topics, in their last minutes."""
        last = [minutes[-1].degree_mean for minutes in self.report.mesh.values()]
        known = [mean for mean in last if mean is not None]
        return sum(known) / len(known) if known else None


@dataclass(frozen=True)
class Tile:
    """One number, what it is called, and how it is said."""

    title: str
    figure: str
    of: Callable[[Headlines], float | None]
    shown: Callable[[float | None], str]
    words: Callable[[Headlines], str]


def _count(value: float | None) -> str:
    return f"{value or 0:,.0f}"


def _delivery_words(this: Headlines) -> str:
    sums = this.report.total
    return f"{sums.delivered - sums.unexpected:,} of {plural(sums.expected, 'delivery')}"


def _latency_words(this: Headlines) -> str:
    most, last = this.slowest("latency_p99"), this.slowest("latency_max")
    if most is None:
        return "not known"
    where = " in every topic" if len(this.report.topics) > 1 else ""
    return f"99 % within {milliseconds(most)}, all within {milliseconds(last)}{where}"


def _duplicate_words(this: Headlines) -> str:
    return f"{plural(this.report.total.duplicates, 'copy')} of what peers already had"


def _hop_words(this: Headlines) -> str:
    most = max((row.hops_max or 0 for row in this.report.gold.topics), default=0)
    recovered = plural(this.report.total.recoveries, "delivery")
    return f"at most {most}; {recovered} by gossip" if most else "not known"


def _mesh_words(this: Headlines) -> str:
    last = [minutes[-1] for minutes in this.report.mesh.values()]
    if not last:
        return "not known"
    least = min(row.degree_min or 0 for row in last)
    return f"{least} to {max(row.degree_max or 0 for row in last)} in the last minute"


def _message_words(this: Headlines) -> str:
    peers, topics = len(this.report.peers), len(this.report.topics)
    return f"{plural(peers, 'peer')}, {plural(topics, 'topic')}"


TILES = (
    Tile("Delivered", "ratio", lambda it: it.report.total.ratio, percent, _delivery_words),
    Tile("Latency, half within", "latency_p50", lambda it: it.slowest("latency_p50"), milliseconds,
         _latency_words),
    Tile("Duplicates / delivery", "duplicates_per_delivery",
         lambda it: it.report.total.duplicates_per_delivery, digits, _duplicate_words),
    Tile("Hops", "hops_mean", lambda it: it.hops, digits, _hop_words),
    Tile("Mesh degree", "degree_mean", lambda it: it.degree, digits, _mesh_words),
    Tile("Messages", "published", lambda it: it.report.total.published, _count, _message_words),
)  # fmt: skip


def tiles(report: Report, other: Report | None) -> Markup:
    """The first numbers, and what they were in the other run."""
    this, there = Headlines(report), Headlines(other) if other else None
    return tag("dl", [_tile(tile, this, there) for tile in TILES], class_="tiles")


def _tile(tile: Tile, this: Headlines, other: Headlines | None) -> Markup:
    value = tile.of(this)
    beside = f"the other run: {tile.shown(tile.of(other))}" if other else None
    bar = None
    if tile.figure == "ratio":
        bar = tag("dd", ratio_meter(value, this.report.total.missing), class_="last")
    return tag(
        "div", tag("dt", tile.title),
        tag("dd", tile.shown(value), data_total=tile.figure, data_value=number(value)),
        tag("dd", tile.words(this), class_="small"),
        tag("dd", beside, class_="small quiet") if beside else None, bar, class_="tile",
    )  # fmt: skip


def findings(report: Report) -> Markup:
    """What is wrong, and what is worth a note."""
    found = report.findings
    wrong = sum(one.weight < Weight.NOTE for one in found)
    title = plural(wrong, "problem") if wrong else "No problems found"
    shown, rest = found[:MOST_FINDINGS], found[MOST_FINDINGS:]
    return tag(
        "section", tag("h2", title), tag("ul", [_finding(one) for one in shown]),
        tag("details", tag("summary", f"{len(rest)} more"),
            tag("ul", [_finding(one) for one in rest])) if rest else None,
        class_="findings", id="problems", aria_label="What is wrong",
    )  # fmt: skip


def _finding(one: Finding) -> Markup:
    word = one.weight.name.lower()
    return tag("li", tag("span", word, class_=f"badge {word}"),
               tag("span", printable(one.sentence), data_problem=word))  # fmt: skip
