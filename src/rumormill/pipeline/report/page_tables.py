"""The page's tables: every number as text for people and as an attribute for programs.

A cell carries its value to the last digit in ``data-value`` and the name that the JSON form gives
it in ``data-figure``; the row says in ``data-topic``, ``data-peer`` or ``data-event`` whose it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rumormill.core.words import printable
from rumormill.pipeline.report.comparison import Comparison, difference, times
from rumormill.pipeline.report.figures import Report
from rumormill.pipeline.report.markup import Markup, number, tag
from rumormill.pipeline.report.words import digits, milliseconds, percent, size

MOST_ROWS = 1000
"""Rows of one table; a browser gets slow with more, and the tables themselves have all."""


@dataclass(frozen=True)
class Column:
    """A column: its heading, what the heading means, and a row's cell."""

    heading: str
    hint: str
    cell: Callable[[Any], Markup]
    text: bool = False


def table(
    caption: str, columns: Sequence[Column], rows: Sequence[Any], **about_row: Callable[[Any], str]
) -> Markup:
    """A table that can be sorted; ``about_row`` makes each row's attributes."""
    head = tag("tr", [
        tag("th", column.heading, scope="col", title=column.hint or None,
            class_="text" if column.text else None)
        for column in columns
    ])  # fmt: skip
    body = [
        tag("tr", [column.cell(row) for column in columns],
            **{name: make(row) for name, make in about_row.items()})
        for row in rows[:MOST_ROWS]
    ]  # fmt: skip
    left_out = len(rows) - MOST_ROWS
    more = f" The first {MOST_ROWS:,}; {left_out:,} more are in --json." if left_out > 0 else ""
    whole = tag(
        "table", tag("caption", caption), tag("thead", head), tag("tbody", body), class_="sortable"
    )
    # A table that is wider than the window is scrolled, by keyboard too.
    box = tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)
    return Markup(box + (tag("p", more, class_="hint") if more else ""))


def cell(value: float | None, text: str, figure: str | None = None, **attributes: Any) -> Markup:
    """A number."""
    return tag("td", text, data_figure=figure, data_value=number(value), **attributes)


def count(value: int | None, figure: str | None = None, bad: bool = False) -> Markup:
    """A whole number; one that should be zero and is not stands out."""
    text = "-" if value is None else f"{value:,}"
    return cell(value, text, figure, class_="bad" if bad and value else None)


def name(text: str, shown: str | None = None) -> Markup:
    """A topic's or a peer's name, which may be long, or written from right to left."""
    whole = printable(text)
    short = tag("bdi", printable(shown or text), title=whole, class_="name")
    return tag("th", short, scope="row", class_="text", data_sort=whole)


def meter(share: float | None, rest: str = "track") -> Markup:
    """A bar, as wide as its cell; ``rest`` is the style of what is not filled."""
    share = min(1.0, max(0.0, share or 0.0))
    # A little that is missing must be seen, too.
    width = min(100 * share, 97.0) if share < 1 and rest == "bad" else 100 * share
    return tag(
        "svg", tag("rect", class_=rest, width="100", height="6"),
        tag("rect", class_="fill", width=f"{width:.2f}", height="6"),
        class_="meter", viewBox="0 0 100 6", preserveAspectRatio="none", aria_hidden="true",
    )  # fmt: skip


def ratio_meter(share: float | None, missing: int) -> Markup:
    """What arrived, and what did not."""
    return meter(share, "bad" if missing else "track")


def sparkline(values: Sequence[float | None], low: float, high: float) -> Markup:
    """A line without axes: the shape of a topic's minutes."""
    if sum(value is not None for value in values) < 2:
        return Markup("")
    span = (high - low) or 1.0
    step = 100 / (len(values) - 1)
    runs: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(f"{place * step:.1f},{18 - 16 * (value - low) / span:.1f}")
    lines = [tag("polyline", points=" ".join(run)) for run in runs if run]
    return tag("svg", lines, class_="spark", viewBox="0 0 100 20", preserveAspectRatio="none",
               aria_hidden="true")  # fmt: skip


def topics_table(report: Report) -> Markup:
    """One row a topic, with all its figures."""
    several = len(report.networks) > 1

    def ratio(label: str) -> Markup:
        row = report.topics[label]
        bar = ratio_meter(row.ratio, row.missing)
        return tag("td", percent(row.ratio), bar, class_="with-meter", data_figure="ratio",
                   data_value=number(row.ratio))  # fmt: skip

    def over_time(label: str) -> Markup:
        ratios = [minute.ratio for minute in report.minutes.get(label, ())]
        low = min([0.9, *(value for value in ratios if value is not None)])
        return tag("td", sparkline(ratios, low, 1.0))

    def of(get: Callable[[Any], Any], figure: str, show: Callable[[Any], str]) -> Any:
        return lambda label: cell(
            get(report.topics[label]), show(get(report.topics[label])), figure
        )

    def whole(get: Callable[[Any], Any], figure: str, bad: bool = False) -> Any:
        return lambda label: count(get(report.topics[label]), figure, bad)

    columns = [
        Column("topic", "", name, text=True),
        *([Column("network", "", lambda label: tag("td", report.topics[label].network,
                                                   class_="text"), text=True)] if several else []),
        Column("ratio", "the share of the expected deliveries that happened", ratio),
        Column("by minute", "the ratio, minute by minute", over_time),
        Column("missing", "expected and not delivered",
               whole(lambda row: row.missing, "missing", bad=True)),
        Column("p50", "half of the deliveries took at most this",
               of(lambda row: row.latency_p50, "latency_ms.p50", milliseconds)),
        Column("p90", "nine tenths of the deliveries took at most this",
               of(lambda row: row.latency_p90, "latency_ms.p90", milliseconds)),
        Column("p99", "99 of 100 deliveries took at most this",
               of(lambda row: row.latency_p99, "latency_ms.p99", milliseconds)),
        Column("max", "the slowest delivery",
               of(lambda row: row.latency_max, "latency_ms.max", milliseconds)),
        Column("published", "messages published", whole(lambda row: row.published, "published")),
        Column("expected", "deliveries owed: peers subscribed at publish time, without the "
               "publisher, over all messages", whole(lambda row: row.expected, "expected")),
        Column("delivered", "first copies that reached a peer other than the publisher",
               whole(lambda row: row.delivered, "delivered")),
        Column("duplicates / delivery", "copies of what a peer already had, for each first copy",
               of(lambda row: row.duplicates_per_delivery, "duplicates_per_delivery", digits)),
        Column("hops", "from the publisher, on average",
               of(lambda row: row.hops_mean, "hops.mean", digits)),
        Column("most hops", "the longest way", whole(lambda row: row.hops_max, "hops.max")),
        Column("bytes / delivery", "bytes received for each delivery",
               of(lambda row: row.bytes_per_delivery, "bytes_per_delivery", size)),
        Column("by gossip", "deliveries that a peer had to ask for (IWANT)",
               whole(lambda row: row.recoveries, "recoveries")),
    ]  # fmt: skip
    return table("Topics", columns, list(report.topics), data_topic=str)


def peers_table(report: Report) -> Markup:
    """One row a peer."""
    most = max((row.contribution or 0.0 for row in report.peers.values()), default=0.0)

    def share(label: str) -> Markup:
        value = report.peers[label].contribution
        bar = meter((value or 0.0) / most if most else 0.0)
        return tag("td", percent(value), bar, class_="with-meter", data_figure="contribution",
                   data_value=number(value))  # fmt: skip

    def clock(label: str) -> Markup:
        skew = report.skew.get(label)
        if skew is None or not skew.estimated:
            return cell(None, "-" if skew is None else "unknown", "skew.offset_ms", class_="quiet")
        return cell(skew.offset_ms, f"{digits(skew.offset_ms)} ms", "skew.offset_ms")

    def whole(figure: str, bad: bool = False) -> Any:
        return lambda label: count(getattr(report.peers[label], figure), figure, bad)

    columns = [
        Column("peer", "", lambda label: name(label, report.short_names[label]), text=True),
        Column("published", "messages of its own", whole("published")),
        Column("delivered", "messages that reached it", whole("delivered")),
        Column("duplicates", "copies of what it already had", whole("duplicates")),
        Column("handed on", "first copies that others got from it", whole("first_sent")),
        Column("repeated", "copies that others already had", whole("repeat_sent")),
        Column("contribution", "its share of all first copies", share),
        Column("refused by others", "its messages that others rejected",
               whole("rejected_by_others", True)),
        Column("rejected", "messages that it rejected", whole("rejected_here")),
        Column("ignored", "messages that it ignored", whole("ignored_here")),
        Column("dropped", "what it dropped for want of room", whole("dropped_here", True)),
        Column("clock", "how far its clock is ahead of the others'", clock),
    ]  # fmt: skip
    return table("Peers", columns, list(report.peers), data_peer=str)


def events_table(report: Report) -> Markup:
    """One row a kind of event."""
    most = max(report.events.values(), default=0)
    columns = [
        Column("event", "", name, text=True),
        Column("count", "", lambda kind: tag(
            "td", f"{report.events[kind]:,}", meter(report.events[kind] / most if most else 0),
            class_="with-meter", data_figure="count", data_value=number(report.events[kind]))),
    ]  # fmt: skip
    return table("Trace events", columns, list(report.events), data_event=str)


def comparison_table(comparison: Comparison) -> Markup:
    """Every topic's every figure in both runs."""
    words = {1: "better", -1: "worse", 0: ""}

    def verdict(row: Any) -> str:
        return words[row[2].verdict(row[1].better)]

    columns = [
        Column("topic", "", lambda row: name(row[0]), text=True),
        Column("figure", "", lambda row: tag("td", row[1].title, class_="text"), text=True),
        Column("this run", "", lambda row: cell(row[2].this, row[1].shown(row[2].this), "this")),
        Column("the other", "",
               lambda row: cell(row[2].other, row[1].shown(row[2].other), "other")),
        Column("difference", "this run less the other; pp: percentage points", lambda row: cell(
            row[2].difference, difference(row[1], row[2]), "difference")),
        Column("times", "this run divided by the other",
               lambda row: cell(row[2].ratio, times(row[2]), "ratio")),
        Column("", "", lambda row: tag("td", verdict(row), class_=f"text {verdict(row)}"),
               text=True),
    ]  # fmt: skip
    return table(
        "This run and the other", columns, list(comparison.rows()),
        data_topic=lambda row: row[0], data_compare=lambda row: row[1].name,
    )  # fmt: skip


def plain_table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> Markup:
    """The numbers of a plot: the first column names the row."""
    columns = [
        Column(heading, "", lambda row, place=place: row[place], text=place == 0)  # type: ignore[misc]
        for place, heading in enumerate(headings)
    ]
    return table(caption, columns, list(rows))
