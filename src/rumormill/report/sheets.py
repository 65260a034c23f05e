"""The page's tables: every number as text for people and as an attribute for programs.

A cell carries its value to the last digit in ``data-value`` and the name that the JSON form gives
it in ``data-figure``; the row says in ``data-topic``, ``data-peer`` or ``data-event`` whose it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from rumormill.core.words import printable
from rumormill.report.columns import PEERS, SCORES, TOPICS, Column
from rumormill.report.comparison import WORDS, Comparison, difference, times
from rumormill.report.figures import PROMISES, Report
from rumormill.report.words import count, milliseconds, span

MOST_ROWS: Final = 1000
"""Rows of one table; a browser gets slow with more, and the JSON form has all."""


@dataclass(frozen=True)
class Cell:
    """What stands in a cell."""

    text: str = ""
    kind: str = "number"
    """``number``, ``name`` (the row's heading) or ``text``."""
    value: Any = None
    figure: str = ""
    style: str = ""
    whole: str = ""
    """The name, where ``text`` is a shorter form."""
    share: float | None = None
    """With a bar that is so full."""
    lost: bool = False
    """The rest of the bar is something lost."""
    spark: Sequence[str] = ()
    """With lines of these points."""

    @property
    def exact(self) -> str | None:
        """The value to the last digit, if it is a number."""
        return None if self.value is None else json.dumps(self.value)


@dataclass(frozen=True)
class Sheet:
    """A table that can be sorted."""

    caption: str
    headings: Sequence[tuple[str, str, bool]]
    """What each column is called, what it means, and whether it is text."""
    rows: Sequence[tuple[Mapping[str, str], Sequence[Cell]]]
    """Each with its attributes."""
    left_out: int = 0


Heading = str | tuple[str, str]
"""What a column is called, and what it means."""


def sheet(
    caption: str, headings: Sequence[Heading], rows: Sequence[Sequence[Cell]], *about: str
) -> Sheet:
    """A table from its cells, cut where it is too long; ``about``: what the first of them name."""
    pairs = [(it, "") if isinstance(it, str) else it for it in headings]
    kinds = [cell.kind for cell in rows[0]] if rows else ["name"] * len(pairs)
    return Sheet(
        caption,
        [(*pair, kind != "number") for pair, kind in zip(pairs, kinds, strict=True)],
        [
            ({key: cell.whole for key, cell in zip(about, row, strict=False)}, row)
            for row in rows[:MOST_ROWS]
        ],
        max(0, len(rows) - MOST_ROWS),
    )


def name(text: str, shown: str | None = None) -> Cell:
    """A topic's or a peer's name, which may be long, or written from right to left."""
    whole = printable(text)
    return Cell(printable(shown or text), "name", whole=whole)


def number(
    value: Any, show: Callable[[Any], str] = count, figure: str = "", share: float | None = None
) -> Cell:
    """A number, with a bar where it has a share."""
    return Cell(show(value), value=value, figure=figure, share=share)


def headings_of(columns: Sequence[Column]) -> list[Heading]:
    """What these columns are called, and what they mean."""
    return [(column.heading, column.hint) for column in columns]


def figure(column: Column, figures: Mapping[str, Any], most: float | None = None) -> Cell:
    """A figure as its column shows it; a bar is full at ``most``."""
    value = column.of(figures)
    if column.style == "text":
        return Cell(printable(column.show(value)), "text")
    share = None
    if column.style == "meter":
        share = min(1.0, max(0.0, (value or 0.0) / (most or 1.0)))
    bad = column.style == "bad" and bool(value)
    return Cell(column.show(value), value=value, figure=column.figure, share=share,
                style="bad" if bad else "")  # fmt: skip


def topics(report: Report, figures: Mapping[str, Any]) -> Sheet:
    """One row a topic, with all its figures."""
    never = {"skipped"} if "newest" not in report.promises else set()
    never |= set() if report.spared else {"spared"}
    columns = [it for it in TOPICS if it.figure not in never]
    several, promising = len(report.networks) > 1, report.promises not in ([], ["every"])
    rows = []
    for label, topic in figures["topics"].items():
        ratio, *cells = (figure(column, topic) for column in columns)
        words = [Cell(printable(topic["network"]), "text")] * several
        words += [Cell(PROMISES.get(topic["promise"], topic["promise"]), "text")] * promising
        ratio = replace(ratio, lost=bool(topic["missing"]))
        by_minute = Cell(spark=sparkline(*report.ratios(label), 1.0))
        rows.append([name(label), *words, ratio, by_minute, *cells])
    ratio_heading, *others = headings_of(columns)
    promise = ("promised to", "what the network promises of each message")
    return sheet("Topics", [
        "topic", *["network"] * several, *[promise] * promising, ratio_heading,
        ("by minute", "the ratio, minute by minute"), *others,
    ], rows, "topic")  # fmt: skip


def peers(report: Report, figures: Mapping[str, Any]) -> Sheet:
    """One row a peer."""
    most = max((row.contribution or 0.0 for row in report.peers.values()), default=0.0)
    rows = []
    for label, peer in figures["peers"].items():
        cells = {column.figure: figure(column, peer, most) for column in PEERS}
        if peer["skew"] and not peer["skew"]["estimated"]:
            clock = "skew.offset_ms"
            cells[clock] = Cell("unknown", figure=clock, style="quiet")
        rows.append([name(label, report.short_names[label]), *cells.values()])
    return sheet("Peers", ["peer", *headings_of(PEERS)], rows, "peer")


def scores(report: Report, figures: Mapping[str, Any]) -> Sheet:
    """What others think of each peer, the lowest first."""
    rows = []
    for label, peer in figures["scores"].items():
        levels = ", ".join(f"{level.replace('_', ' ')}: {many}"
                           for level, many in peer["levels"].items())  # fmt: skip
        line = peer["minutes"]["score"] if peer["minutes"] else []
        known = [value for value in line if value is not None]
        spark = sparkline(line, min(known, default=0.0), max(known, default=0.0))
        rows.append([name(label, report.short_names[label]),
                     *(figure(column, peer) for column in SCORES), Cell(spark=spark),
                     Cell(printable(levels), "text")])  # fmt: skip
    return sheet("Scores", [
        "peer", *headings_of(SCORES),
        ("by minute", "the lowest of what others thought then; of those that fell lowest"),
        ("treated as", "by how many others, in the end"),
    ], rows, "score")  # fmt: skip


def causes(figures: Mapping[str, Any]) -> Sheet:
    """Kinds of events and their reasons."""
    most = max((row["count"] for row in figures["causes"]), default=0) or 1
    rows = [
        [name(row["event"]), Cell(printable(row["reason"]), "text"),
         number(row["count"], count, "count", row["count"] / most)]
        for row in figures["causes"]
    ]  # fmt: skip
    return sheet("Reasons", ["event", "reason", "count"], rows)


def counted(caption: str, what: str, counts: Mapping[str, int]) -> Sheet:
    """Kinds of something and how many there are."""
    most = max(counts.values(), default=0) or 1
    rows = [[name(kind), number(many, count, "count", many / most)]
            for kind, many in counts.items()]  # fmt: skip
    return sheet(caption, [what, "count"], rows, what)


def slow_peers(report: Report) -> Sheet:
    """The mean latency of each peer, the slowest first."""
    known = [(row.latency_mean, label) for label, row in report.peers.items()
             if row.latency_mean is not None]  # fmt: skip
    known.sort(reverse=True)
    most = known[0][0] if known else 1.0
    rows = [
        [name(label, report.short_names[label]),
         number(mean, milliseconds, "latency_mean", max(0.0, mean / most) if most > 0 else 0.0)]
        for mean, label in known
    ]  # fmt: skip
    return sheet("Latency by peer", ["peer", "mean"], rows)


def compared(comparison: Comparison) -> Sheet:
    """Every topic's every figure in both runs."""
    rows = [
        [name(label), Cell(column.name, "text", whole=column.figure),
         number(pair.this, column.show, "this"), number(pair.other, column.show, "other"),
         Cell(difference(column, pair), value=pair.difference, figure="difference"),
         Cell(times(pair), value=pair.ratio, figure="ratio"),
         Cell(word, "text", style=word)]
        for label, column, pair in comparison.rows()
        for word in [WORDS[pair.verdict(column.better)]]
    ]  # fmt: skip
    return sheet("This run and the other", [
        "topic", "figure", "this run", "the other",
        ("difference", "this run less the other; pp: percentage points"),
        ("times", "this run divided by the other"), "",
    ], rows, "topic", "compare")  # fmt: skip


def behind(report: Report) -> Sheet:
    """Who does not have the newest value, and how much older its own is."""
    rows = [
        [name(row.topic), name(row.node, report.peer(row.network, row.node)),
         number((row.newest_at - row.value_at).total_seconds()
                if row.newest_at and row.value_at else None, _age)]
        for row in report.gold.values if row.behind
    ]  # fmt: skip
    return sheet("Peers without the newest value", ["topic", "peer", "its value is older by"], rows)


def _age(seconds: float | None) -> str:
    return "it has none" if seconds is None else span(seconds)


def own(table: Mapping[str, Any]) -> Sheet:
    """A user's table."""
    numeric = [
        all(isinstance(row[at], int | float) for row in table["rows"] if row[at] is not None)
        and at > 0 for at in range(len(table["columns"]))
    ]  # fmt: skip
    rows = [
        [number(value, lambda it: "-" if it is None else f"{it:,}") if is_number
         else Cell(printable("-" if value is None else str(value)), "text" if at else "name")
         for at, (value, is_number) in enumerate(zip(row, numeric, strict=True))]
        for row in table["rows"]
    ]  # fmt: skip
    return sheet(printable(table["title"]), [printable(it) for it in table["columns"]], rows)


def sparkline(values: Sequence[float | None], low: float, high: float) -> list[str]:
    """Points of a line without axes: the shape of a topic's minutes, broken where unknown."""
    if sum(value is not None for value in values) < 2:
        return []
    step = 100 / (len(values) - 1)
    runs: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            height = 18 - 16 * (value - low) / ((high - low) or 1.0)
            runs[-1].append(f"{place * step:.1f},{height:.1f}")
    return [" ".join(run) for run in runs if run]
