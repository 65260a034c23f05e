"""What a report and a comparison in the terminal share: tables, and the list of what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from rumormill.core.words import printable
from rumormill.report.comparison import WORDS, Comparison, difference, times
from rumormill.report.figures import Report, speed, verdict
from rumormill.report.problems import Weight
from rumormill.report.words import count

MOST_TOPICS = 20
MOST_FINDINGS = 25
"""Lines of a table; the JSON form has all."""

GOOD, BAD, DOUBT, QUIET = "green", "red", "yellow", "dim"
PICTURES = ("", "by minute", "runs", "kind", "reason", "treated as")
"""Headings of columns that are not numbers."""


MARKS = {Weight.PROBLEM: ("✗", BAD), Weight.WARNING: ("!", DOUBT), Weight.NOTE: ("·", QUIET)}

SIGNS = {1: GOOD, -1: BAD, 0: QUIET}

Cells = Sequence[str | Text]


def findings(report: Report) -> RenderableType:
    """What is wrong, and the notes."""
    found = report.findings
    problems = sum(one.weight < Weight.NOTE for one in found)
    head = Text("No problems found.", GOOD) if not problems else Text("What is wrong", "bold")
    lines = Table.grid(padding=(0, 1, 0, 0))
    for one in found[:MOST_FINDINGS]:
        mark, style = MARKS[one.weight]
        more = f" [{printable(one.more)}]" if one.more else ""
        lines.add_row(Text(mark, style), Text(printable(one.sentence)).append(more, QUIET))
    if len(found) > MOST_FINDINGS:
        lines.add_row("", Text(f"and {len(found) - MOST_FINDINGS} more; --json has all", QUIET))
    return Group(head, lines)


def compared(comparison: Comparison) -> Iterable[RenderableType]:
    """Two runs side by side, from top to bottom."""
    runs = Table.grid(padding=(0, 2, 1, 0))
    for name, report in (("This run", comparison.this), ("The other", comparison.other)):
        words = f"{printable(report.gold.place)}\n{verdict(report)} {speed(report)}"
        runs.add_row(Text(name, "bold"), Text(words))
    yield runs
    rows: dict[str, list[Cells]] = {}
    for label, column, pair in comparison.rows():
        sign = pair.verdict(column.better)
        rows.setdefault(label, []).append([
            column.name, column.show(pair.this), column.show(pair.other),
            Text(difference(column, pair), SIGNS[sign]), times(pair),
            Text(WORDS[sign], SIGNS[sign]),
        ])  # fmt: skip
    headings = ["figure", "this", "other", "difference", "times", ""]
    for label in list(rows)[:MOST_TOPICS]:
        yield table(printable(label), headings, rows[label]) or ""
    if len(rows) > MOST_TOPICS:
        yield Text(f"and {len(rows) - MOST_TOPICS:,} more topics; --json has all", QUIET)
    yield from map(Text, comparison.alone(most=10))
    yield findings(comparison.this)


def warned(value: int) -> Text:
    """A number that should be zero."""
    return Text(count(value), BAD if value else QUIET)


def table(
    title: str, headings: Sequence[str], rows: Sequence[Sequence[Any]], all_rows: int = 0,
    most: int = MOST_TOPICS,
) -> Table | None:  # fmt: skip
    """A table in the style of all; none, if it has no rows."""
    if not rows:
        return None
    made = Table(
        title=Text(title, "bold"), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False,
        pad_edge=False, padding=(0, 1, 0, 0), header_style=QUIET,
    )  # fmt: skip
    for place, heading in enumerate(headings):
        left = place == 0 or heading in PICTURES or " to " in heading
        # A name that does not fit is folded; a number never is.
        made.add_column(
            Text(heading), justify="left" if left else "right", no_wrap=place > 0, overflow="fold"
        )
    for row in rows:
        # A string would be searched for markup, and strangers choose names.
        made.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in row))
    if all_rows > most:
        made.caption = f"and {all_rows - most:,} more; --json has all"
        made.caption_justify = "left"
    return made
