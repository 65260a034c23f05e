"""The report in a terminal: what happened first, tables after it, what is wrong last.

Every table fits into 80 columns; a wider terminal gets longer bars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from rumormill.core.words import plural, printable
from rumormill.pipeline.report.bars import bar, distribution, sparkline
from rumormill.pipeline.report.figures import Report, speed, verdict
from rumormill.pipeline.report.problems import Weight
from rumormill.pipeline.report.words import digits, percent, size

MOST_TOPICS = 20
MOST_PEERS = 15
MOST_EVENTS = 30
"""Lines of a table; the JSON form has all."""

MOST_FINDINGS = 25
NARROW, WIDE = 80, 140
GOOD, BAD, DOUBT, QUIET = "green", "red", "yellow", "dim"
PICTURES = ("", "by minute")
"""Headings of columns of bars."""

MARKS = {Weight.PROBLEM: ("✗", BAD), Weight.WARNING: ("!", DOUBT), Weight.NOTE: ("·", QUIET)}


def print_report(report: Report, console: Console) -> None:
    """All of it, on this console."""
    for part in sections(report, console.width):
        console.print(part)
        console.print()


def sections(report: Report, width: int) -> Iterable[RenderableType]:
    """The parts of the report from top to bottom, for a terminal so many columns wide."""
    room = 8 + max(0, min(width, WIDE) - NARROW) // 3
    yield _heading(report)
    if report.topics:
        yield _topics(report, room)
        yield _latency(report, room)
        yield _spreading(report)
    if report.mesh:
        yield _mesh(report, room)
    if report.hops:
        yield _hops(report, room)
    if report.peers:
        yield _peers(report, room)
    if report.events:
        yield _events(report, room)
    yield findings(report)


def _heading(report: Report) -> RenderableType:
    about = [", ".join(map(printable, report.networks)) or "no network"]
    about += [plural(len(report.peers), "peer"), plural(len(report.topics), "topic")]
    if report.period:
        first, last = report.period
        minutes = int((last - first).total_seconds()) // 60 + 1
        about += [f"{first:%Y-%m-%d %H:%M} UTC", plural(minutes, "minute")]
    mark, style = ("✓", GOOD) if report.total.delivered else ("-", DOUBT)
    if report.total.missing:
        mark, style = "✗", BAD
    return Group(
        Text(" · ".join(about), QUIET),
        Text(""),
        Text.assemble((f"{mark} ", style), (verdict(report), f"bold {style}")),
        Text(f"  {speed(report)}"),
    )


def _topics(report: Report, room: int) -> Table:
    table = new_table(
        "Topics", "topic", "published", "expected", "missing", "ratio", "", "by minute"
    )
    for label in _shown_topics(report):
        row = report.topics[label]
        style = BAD if row.missing else GOOD if row.expected else QUIET
        ratios = [minute.ratio for minute in report.minutes.get(label, ())]
        low = min([0.9, *(ratio for ratio in ratios if ratio is not None)])
        table.add_row(
            _topic(report, label), f"{row.published:,}", f"{row.expected:,}",
            Text(f"{row.missing:,}", BAD if row.missing else QUIET),
            Text(percent(row.ratio), style), bar(row.ratio, room, style),
            Text(sparkline(ratios, room + 4, low, 1.0), style),
        )  # fmt: skip
    return _cut(table, len(report.topics), MOST_TOPICS)


def _latency(report: Report, room: int) -> Table:
    labels = _shown_topics(report)
    points = {label: report.latency.get(label, ()) for label in labels}
    values = [point.latency_ms for row in points.values() for point in row if point.latency_ms > 0]
    low, high = min(values, default=1.0), max(values, default=1.0)
    axis = f"{digits(low)} to {digits(high)} ms" if values else ""
    table = new_table("Latency, ms", "topic", "p50", "p90", "p99", "max", axis)
    for label in labels:
        row = report.topics[label]
        shape = [(point.latency_ms, point.share) for point in points[label]]
        table.add_row(
            _topic(report, label), digits(row.latency_p50), digits(row.latency_p90),
            digits(row.latency_p99), digits(row.latency_max),
            Text(distribution(shape, max(16, 3 * room), low, high), "cyan"),
        )  # fmt: skip
    return _cut(table, len(report.topics), MOST_TOPICS)


def _spreading(report: Report) -> Table:
    table = new_table(
        "Cost", "topic", "duplicates/\ndelivery", "bytes/\ndelivery", "hops\nmean", "hops\nmax",
        "by\ngossip",
    )  # fmt: skip
    for label in _shown_topics(report):
        row = report.topics[label]
        table.add_row(
            _topic(report, label), digits(row.duplicates_per_delivery),
            size(row.bytes_per_delivery), digits(row.hops_mean), _or_dash(row.hops_max),
            f"{row.recoveries:,}",
        )  # fmt: skip
    return _cut(table, len(report.topics), MOST_TOPICS)


def _mesh(report: Report, room: int) -> Table:
    table = new_table(
        "Mesh", "topic", "peers", "degree", "least", "most", "pieces", "grafts", "prunes",
        "by minute",
    )  # fmt: skip
    shown = [label for label in _shown_topics(report) if report.mesh.get(label)]
    for label in shown or list(report.mesh)[:MOST_TOPICS]:
        minutes = report.mesh[label]
        last = minutes[-1]
        pieces = max(minute.components or 0 for minute in minutes)
        degrees = [minute.degree_mean for minute in minutes]
        table.add_row(
            _topic(report, label), str(last.nodes), digits(last.degree_mean),
            _or_dash(last.degree_min), _or_dash(last.degree_max),
            Text(str(pieces), BAD if pieces > 1 else ""),
            f"{sum(m.grafts for m in minutes):,}", f"{sum(m.prunes for m in minutes):,}",
            Text(sparkline(degrees, room, low=0), "cyan"),
        )  # fmt: skip
    return _cut(table, len(report.mesh), MOST_TOPICS)


def _hops(report: Report, room: int) -> Table:
    deliveries: Counter[int] = Counter()
    for rows in report.hops.values():
        for row in rows:
            deliveries[row.hop] += row.deliveries
    everything, most = sum(deliveries.values()), max(deliveries.values(), default=0)
    table = new_table("Hops", "from the publisher", "deliveries", "share", "")
    for hop, count in sorted(deliveries.items()):
        share = count / everything if everything else None
        table.add_row(
            str(hop), f"{count:,}", percent(share), bar(count / most if most else 0, 3 * room)
        )
    return table


def _peers(report: Report, room: int) -> Table:
    wide = room > 12
    refused = any(row.rejected_by_others for row in report.peers.values())
    lacking = any(row.missing for row in report.peers.values())
    table = new_table(
        "Peers", "peer", "published", "got", *(["missing"] if lacking else []), "duplicates",
        "handed\non", "share",
        *([""] if wide else []), *(["refused"] if refused else []), "clock\nms",
    )  # fmt: skip
    most = max((row.contribution or 0.0 for row in report.peers.values()), default=0.0)
    for label, row in list(report.peers.items())[:MOST_PEERS]:
        skew = report.skew.get(label)
        clock = "?" if skew and not skew.estimated else digits(skew.offset_ms if skew else None)
        share = (row.contribution or 0.0) / most if most else 0.0
        bad = BAD if row.rejected_by_others else QUIET
        table.add_row(
            _name(report.short_names[label]), f"{row.published:,}", f"{row.delivered:,}",
            *([Text(f"{row.missing:,}", BAD if row.missing else QUIET)] if lacking else []),
            f"{row.duplicates:,}", f"{row.first_sent:,}", percent(row.contribution),
            *([bar(share, room)] if wide else []),
            *([Text(f"{row.rejected_by_others:,}", bad)] if refused else []), clock,
        )  # fmt: skip
    return _cut(table, len(report.peers), MOST_PEERS)


def _events(report: Report, room: int) -> Table:
    most = max(report.events.values(), default=0)
    table = new_table("Trace events", "event", "count", "")
    for kind, count in list(report.events.items())[:MOST_EVENTS]:
        table.add_row(_name(kind), f"{count:,}", bar(count / most if most else 0, 3 * room))
    return _cut(table, len(report.events), MOST_EVENTS)


def findings(report: Report) -> RenderableType:
    """What is wrong, and the notes."""
    found = report.findings
    problems = sum(one.weight < Weight.NOTE for one in found)
    head = Text("No problems found.", GOOD) if not problems else Text("What is wrong", "bold")
    lines = Table.grid(padding=(0, 1, 0, 0))
    for one in found[:MOST_FINDINGS]:
        mark, style = MARKS[one.weight]
        lines.add_row(Text(mark, style), Text(printable(one.sentence)))
    if len(found) > MOST_FINDINGS:
        lines.add_row("", Text(f"and {len(found) - MOST_FINDINGS} more; --json has all", QUIET))
    return Group(head, lines)


def _shown_topics(report: Report) -> list[str]:
    """The topics that are worth a line: all, or those with losses and then the busiest."""
    labels = list(report.topics)
    if len(labels) <= MOST_TOPICS:
        return labels
    labels.sort(key=lambda label: (-report.topics[label].missing, -report.topics[label].delivered))
    return labels[:MOST_TOPICS]


def new_table(title: str, *headings: str) -> Table:
    """An empty table in the style of all."""
    table = Table(
        title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False,
        pad_edge=False, padding=(0, 1, 0, 0), header_style=QUIET,
    )  # fmt: skip
    for place, heading in enumerate(headings):
        left = place == 0 or heading in PICTURES or " to " in heading
        # A name that does not fit is folded; a number never is.
        table.add_column(
            heading, justify="left" if left else "right", no_wrap=place > 0, overflow="fold"
        )
    return table


def _cut(table: Table, count: int, most: int) -> Table:
    if count > most:
        table.caption = f"and {count - most:,} more; --json has all"
        table.caption_justify = "left"
    return table


def _topic(report: Report, label: str) -> Text:
    return _name(report.short_topics[label])


def _name(text: str) -> Text:
    return Text(printable(text))


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)
