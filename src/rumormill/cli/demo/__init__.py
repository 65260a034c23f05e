"""``rumormill demo``: real nodes in processes of their own, one of them killed, and the count.

The first act is a gossipsub (or floodsub) network, with Spark reading along; the second a topic on
the BitTorrent DHT.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Console

from rumormill.cli.demo.agreement import compared
from rumormill.cli.demo.analysis import Analysis, missing_for_spark
from rumormill.cli.demo.cast import Cast
from rumormill.cli.demo.orchestrate import Demo
from rumormill.cli.demo.overlay_act import OverlayAct, OverlayPlan
from rumormill.cli.demo.overlay_table import Outcome
from rumormill.cli.demo.plan import DemoPlan
from rumormill.cli.demo.progress import BarReporter, JsonReporter, LineReporter, Reporter
from rumormill.cli.demo.table import notes, result_table, row_object, total_object, verdict
from rumormill.cli.output import warn
from rumormill.cli.render import json_line
from rumormill.cli.report import write_page
from rumormill.cli.sentences import EXIT_FAILED, EXIT_INTERRUPTED, full_stop
from rumormill.cli.session import until_stopped
from rumormill.core.errors import ConfigError

if TYPE_CHECKING:
    from rumormill.pipeline.report import Report

WIDE = 100
"""Columns of a table that goes into a pipe or a file."""


class Verdict(NamedTuple):
    """How an act went."""

    good: bool
    sentence: str


class Stage:
    """Where the acts of one demo are played: how far they are, and what came of them, is told."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.verdicts: list[Verdict] = []
        self._json_reporter = JsonReporter(lambda line: print(line, flush=True))

    def reporter(self) -> Reporter:
        """For one act. Programs get one stream of events, whose first line is ``ready``."""
        if self.as_json:
            return self._json_reporter
        return BarReporter() if sys.stderr.isatty() else LineReporter()

    def console(self) -> Console:
        """For the tables of one act."""
        console = Console(highlight=False)
        if not console.is_terminal:
            console.width = WIDE
        return console

    def play(self, act: Cast) -> bool:
        """Run an act; False if a signal cut it short. No process of it is left either way."""
        return asyncio.run(until_stopped(_run(act)))

    def judge(self, good: bool, sentence: str) -> None:
        """Say how an act went."""
        self.verdicts.append(Verdict(good, sentence))
        if not self.as_json:
            console = self.console()
            console.print()
            console.print(sentence, style="bold green" if good else "bold red")

    def close(self) -> int:
        """The end: 0 only if every act went well."""
        good = all(verdict.good for verdict in self.verdicts)
        if self.as_json:
            text = " ".join(verdict.sentence for verdict in self.verdicts)
            print(json_line("verdict", {"ok": good, "text": text}))
        return 0 if good else EXIT_FAILED


def run_demo(
    plan: DemoPlan,
    as_json: bool,
    spark: bool = True,
    page: Path | None = None,
    overlay: bool = True,
) -> int:
    """Run it and print the result; 0 only if no delivery is missing.

    Where there is Spark, it reads along, and its report comes after the table; the same as a page
    goes to ``page``. With ``overlay`` the second act follows.
    """
    stage = Stage(as_json)
    finished = _network_act(stage, plan, spark, page)
    if finished and overlay and overlay_possible():
        finished = _overlay_act(stage)
    return stage.close() if finished else _interrupted()


def run_overlay_demo(as_json: bool) -> int:
    """The second act alone."""
    stage = Stage(as_json)
    return stage.close() if _overlay_act(stage) else _interrupted()


def _interrupted() -> int:
    warn("interrupted; all processes of the demo are gone.")
    return EXIT_INTERRUPTED


async def _run(act: Cast) -> None:
    try:
        await act.run()
    finally:
        act.reporter.close()
        await act.close()


# ---- the first act


def _network_act(stage: Stage, plan: DemoPlan, spark: bool, page: Path | None) -> bool:
    with tempfile.TemporaryDirectory(prefix="rumormill-demo-") as name:
        folder = Path(name)
        analysis = analysis_for(folder, plan) if spark else None
        demo = Demo(plan, stage.reporter(), folder, analysis)
        if not stage.play(demo):
            return False
        report = None if analysis is None else _read_report(analysis)
    good, sentence = verdict(demo.ledger)
    if report is not None:
        from rumormill.pipeline.report import report_html, report_json

        agrees, comparison = compared(demo.ledger, demo.ids, report_json(report)["peers"])
        good, sentence = good and agrees, f"{sentence} {comparison}"
    if stage.as_json:
        _print_json(demo, report)
    else:
        _print_people(demo, report, stage.console())
    stage.judge(good, sentence)
    if report is not None and page is not None:
        write_page(page, report_html(report))
        if not stage.as_json:
            print(f"The report with plots: {page} (any browser shows it).")
    return True


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


def _print_json(demo: Demo, report: Report | None) -> None:
    for row in demo.ledger.rows():
        print(json_line("node", row_object(row)))
    print(json_line("total", total_object(demo.ledger)))
    if report is not None:
        from rumormill.pipeline.report import report_json

        print(json_line("report", report_json(report)))


def _print_people(demo: Demo, report: Report | None, console: Console) -> None:
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


# ---- the second act


def overlay_possible() -> bool:
    """Whether what bep50 needs is installed; if not, a word about it."""
    from rumormill.live.families import family_of

    try:
        family_of("bep50")
    except ConfigError as error:
        warn(f"without the second act: {full_stop(error.problem)}")
        return False
    return True


def _overlay_act(stage: Stage) -> bool:
    if not stage.as_json:
        console = stage.console()
        console.print()
        console.rule("a topic on the BitTorrent DHT: bep50")
    with tempfile.TemporaryDirectory(prefix="rumormill-demo-") as folder:
        act = OverlayAct(OverlayPlan(), stage.reporter(), Path(folder))
        if not stage.play(act):
            return False
    outcome = Outcome.of(act)
    if stage.as_json:
        for row in outcome.row_objects():
            print(json_line("overlay_node", row))
        print(json_line("overlay", outcome.total_object()))
    else:
        console = stage.console()
        console.print()
        console.print(outcome.table())
        console.print()
        for note in outcome.notes():
            console.print(note, style="dim")
    stage.judge(outcome.good, outcome.verdict())
    return True
