"""The report on a network: what the gold tables say, for people and for programs.

    from rumormill.pipeline.report import read_report, print_report

    print_report(read_report("tables"))

Reading needs no Spark and no Java: gold is small, and pyarrow is enough.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from rumormill.pipeline.report import page, terminal, terminal_comparison
from rumormill.pipeline.report.as_json import json_object
from rumormill.pipeline.report.comparison import Comparison, comparison_object
from rumormill.pipeline.report.figures import Report
from rumormill.pipeline.report.gold import Progress, read_gold

__all__ = ["Comparison", "Report", "print_report", "read_report", "report_html", "report_json"]


def read_report(tables: str | Path, progress: Progress | None = None) -> Report:
    """The report on the tables in this folder; ``TablesError`` says why there is none."""
    return Report(read_gold(Path(tables), progress))


def print_report(
    report: Report, console: Console | None = None, other: Report | None = None
) -> None:
    """Show it in a terminal, alone or beside another run."""
    console = console or Console()
    if other is None:
        terminal.print_report(report, console)
    else:
        terminal_comparison.print_comparison(Comparison(report, other), console)


def report_json(report: Report, other: Report | None = None) -> dict[str, Any]:
    """All figures as plain values; ``docs/report.md`` lists the keys."""
    result = json_object(report)
    if other is not None:
        both = Comparison(report, other)
        result["compare"] = {**comparison_object(both), "other": json_object(other)}
    return result


def report_html(report: Report, other: Report | None = None) -> str:
    """One page that needs nothing else."""
    return page.html_page(report, None if other is None else Comparison(report, other))
