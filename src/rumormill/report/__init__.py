"""The report on a network: what the gold tables say, for people and for programs.

    from rumormill.report import read_report, print_report

    print_report(read_report("tables"))

Reading needs neither Spark nor Java: pyiceberg and pyarrow are enough.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from rumormill.report import page, terminal
from rumormill.report.as_json import json_object
from rumormill.report.comparison import Comparison
from rumormill.report.export import write_csv
from rumormill.report.figures import Report
from rumormill.report.gold import Progress, Wanted, read_gold
from rumormill.report.store import TablesError, open_store

__all__ = [
    "Comparison",
    "Report",
    "TablesError",
    "Wanted",
    "export_csv",
    "print_report",
    "read_report",
    "report_html",
    "report_json",
]


def read_report(
    tables: str | Path, wanted: Wanted | None = None, progress: Progress | None = None
) -> Report:
    """The report on the tables at this place; :class:`TablesError` says why there is none."""
    return Report(read_gold(open_store(str(tables)), wanted, progress))


def print_report(
    report: Report, console: Console | None = None, other: Report | None = None
) -> None:
    """Show it in a terminal, alone or beside another run."""
    console = console or Console()
    if other is None:
        terminal.print_report(report, console)
    else:
        terminal.print_comparison(Comparison(report, other), console)


def report_json(report: Report, other: Report | None = None) -> dict[str, Any]:
    """All figures as plain values; ``docs/report.md`` lists the keys."""
    if other is None:
        return json_object(report)
    both = Comparison(report, other)
    return {**both.here, "compare": both.plain()}


def report_html(report: Report, other: Report | None = None) -> str:
    """One page that needs nothing else."""
    return page.html_page(report, None if other is None else Comparison(report, other))


def export_csv(tables: str | Path, folder: Path) -> list[Path]:
    """Each gold table as a CSV file in this folder, which is made if need be."""
    return write_csv(open_store(str(tables)), folder)
