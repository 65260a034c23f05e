"""``rumormill demo``: real nodes in processes of their own, one of them killed, and the count."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

from rich.console import Console

from rumormill.cli.demo.orchestrate import Demo
from rumormill.cli.demo.plan import DemoPlan
from rumormill.cli.demo.progress import BarReporter, JsonReporter, LineReporter, Reporter
from rumormill.cli.demo.table import notes, result_table, row_object, total_object, verdict
from rumormill.cli.output import warn
from rumormill.cli.render import json_line
from rumormill.cli.sentences import EXIT_FAILED, EXIT_INTERRUPTED
from rumormill.cli.session import until_stopped

WIDE = 100
"""Columns of a table that goes into a pipe or a file."""


def run_demo(plan: DemoPlan, as_json: bool) -> int:
    """Run it and print the result; 0 only if no delivery is missing."""
    with tempfile.TemporaryDirectory(prefix="rumormill-demo-") as folder:
        demo = Demo(plan, _reporter(as_json), Path(folder))
        finished = asyncio.run(until_stopped(_run(demo)))
    if not finished:
        warn("interrupted; all processes of the demo are gone.")
        return EXIT_INTERRUPTED
    good, sentence = verdict(demo.ledger)
    if as_json:
        _print_json(demo, good, sentence)
    else:
        _print_table(demo, good, sentence)
    return 0 if good else EXIT_FAILED


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


def _print_json(demo: Demo, good: bool, sentence: str) -> None:
    for row in demo.ledger.rows():
        print(json_line("node", row_object(row)))
    print(json_line("total", total_object(demo.ledger)))
    print(json_line("verdict", {"ok": good, "text": sentence}))


def _print_table(demo: Demo, good: bool, sentence: str) -> None:
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    console.print()
    console.print(result_table(demo.plan, demo.ledger))
    console.print()
    for note in notes(demo.ledger, demo.began):
        console.print(note, style="dim")
    console.print()
    console.print(sentence, style="bold green" if good else "bold red")
