"""Two runs side by side in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from rumormill.core.words import printable
from rumormill.pipeline.report.comparison import Comparison, difference, times
from rumormill.pipeline.report.figures import Report, speed, verdict
from rumormill.pipeline.report.terminal import BAD, GOOD, MOST_TOPICS, QUIET, findings, new_table
from rumormill.pipeline.report.words import listed

SIGNS = {1: ("better", GOOD), -1: ("worse", BAD), 0: ("", QUIET)}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """What each run was like, then figure by figure, then what is wrong with this one."""
    for part in sections(comparison):
        console.print(part)
        console.print()


def sections(comparison: Comparison) -> Iterable[RenderableType]:
    """The parts from top to bottom."""
    runs = Table.grid(padding=(0, 2, 1, 0))
    runs.add_row(Text("This run", "bold"), _run(comparison.this))
    runs.add_row(Text("The other", "bold"), _run(comparison.other))
    yield runs
    for place, label in enumerate(comparison.topics):
        if place == MOST_TOPICS:
            more = len(comparison.topics) - MOST_TOPICS
            yield Text(f"and {more:,} more topics; --json has all", QUIET)
            break
        yield _topic(comparison, label)
    alone = []
    if comparison.only_here:
        alone.append(f"Only in this run: {_names(comparison.only_here)}.")
    if comparison.only_there:
        alone.append(f"Only in the other: {_names(comparison.only_there)}.")
    if alone:
        yield Text("\n".join(alone))
    yield findings(comparison.this)


def _run(report: Report) -> Text:
    folder = printable(str(report.gold.folder))
    return Text(f"{folder}\n{verdict(report)} {speed(report)}")


def _topic(comparison: Comparison, label: str) -> Table:
    table = new_table(printable(label), "figure", "this", "other", "difference", "times", "")
    for topic, figure, pair in comparison.rows():
        if topic == label:
            word, style = SIGNS[pair.verdict(figure.better)]
            table.add_row(
                figure.title, figure.shown(pair.this), figure.shown(pair.other),
                Text(difference(figure, pair), style), times(pair), Text(word, style),
            )  # fmt: skip
    return table


def _names(labels: list[str]) -> str:
    return listed([printable(label) for label in labels], most=10)
