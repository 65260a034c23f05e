"""``rumormill demo``: real nodes in processes of their own, one of them killed, and the count."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from rumormill.cli.demo.agreement import compared
from rumormill.cli.demo.analysis import Analysis, missing_for_spark
from rumormill.cli.demo.orchestrate import Demo
from rumormill.cli.demo.plan import DemoPlan
from rumormill.cli.demo.progress import BarReporter, JsonReporter, LineReporter, Reporter
from rumormill.cli.demo.table import notes, result_table, row_object, total_object, verdict
from rumormill.cli.output import warn
from rumormill.cli.render import json_line
from rumormill.cli.report import write_page
from rumormill.cli.sentences import EXIT_FAILED, EXIT_INTERRUPTED, full_stop
from rumormill.cli.session import until_stopped

if TYPE_CHECKING:
    from rumormill.pipeline.report import Report

WIDE = 100
"""Columns of a table that goes into a pipe or a file."""


def run_demo(plan: DemoPlan, as_json: bool, spark: bool = True, page: Path | None = None) -> int:
    """Run it and print the result; 0 only if no delivery is missing.

    Where there is Spark, it reads along, and its report comes after the table; the same as a page
    goes to ``page``.
    """
    with tempfile.TemporaryDirectory(prefix="rumormill-demo-") as name:
        folder = Path(name)
        analysis = analysis_for(folder, plan) if spark else None
        demo = Demo(plan, _reporter(as_json), folder, analysis)
        finished = asyncio.run(until_stopped(_run(demo)))
        if not finished:
            warn("interrupted; all processes of the demo are gone.")
            return EXIT_INTERRUPTED
        report = None if analysis is None else _read_report(analysis)
    good, sentence = verdict(demo.ledger)
    if report is not None:
        from rumormill.pipeline.report import report_html, report_json

        agrees, comparison = compared(demo.ledger, demo.ids, report_json(report)["peers"])
        good, sentence = good and agrees, f"{sentence} {comparison}"
    if as_json:
        _print_json(demo, report, good, sentence)
    else:
        _print_people(demo, report, good, sentence)
    if report is not None and page is not None:
        write_page(page, report_html(report))
        if not as_json:
            print(f"The report with plots: {page} (any browser shows it).")
    return 0 if good else EXIT_FAILED


def _read_report(analysis: Analysis) -> Report:
    from rumormill.pipeline.report import read_report

    return read_report(analysis.tables)


def analysis_for(folder: Path, plan: DemoPlan) -> Analysis | None:
    """The Spark side of a demo; None, and a word about it, where there is no Spark."""
    problem = missing_for_spark()
    if problem is None:
        return Analysis(folder, plan.nodes)
    warn(f"without Spark, so without tables and report: {full_stop(problem)}")
    return None


async def _run(demo: Demo) -> None:
    try:
        await demo.run()
    finally:
        demo.reporter.close()
        await demo.close()


def _reporter(as_json: bool) -> Reporter:
    if as_json:
        return JsonReporter(lambda line: print(line, flush=True))
    return BarReporter() if sys.stderr.isatty() else LineReporter()


def _print_json(demo: Demo, report: Report | None, good: bool, sentence: str) -> None:
    for row in demo.ledger.rows():
        print(json_line("node", row_object(row)))
    print(json_line("total", total_object(demo.ledger)))
    if report is not None:
        from rumormill.pipeline.report import report_json

        print(json_line("report", report_json(report)))
    print(json_line("verdict", {"ok": good, "text": sentence}))


def _print_people(demo: Demo, report: Report | None, good: bool, sentence: str) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    console.print()
    console.print(result_table(demo.plan, demo.ledger))
    console.print()
    for note in notes(demo.ledger, demo.began):
        console.print(note, style="dim")
    if report is not None:
        console.print()
        console.rule("what Spark made of it: rumormill report")
        from rumormill.pipeline.report import print_report

        print_report(report, console)
    console.print()
    console.print(sentence, style="bold green" if good else "bold red")
