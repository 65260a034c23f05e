"""``rumormill demo``: acts of real nodes in processes of their own, one of which is killed.

What is played is what the families bring (:meth:`rumormill.live.family.Family.acts`). Each act is
made of the public commands alone. Spark makes tables and a report of each, and where the network
promises every message its count is the one that is shown.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from rumormill.cli.demo.plan import Plan, Wishes, plan_act
from rumormill.cli.demo.play import Play
from rumormill.cli.demo.process import Command
from rumormill.cli.demo.progress import BarReporter, JsonReporter, Reporter
from rumormill.cli.demo.secret import SecretPlay
from rumormill.cli.demo.spark import differing, figures_of, make_tables, missing_for_spark
from rumormill.cli.demo.table import Outcome
from rumormill.cli.networks.session import until_stopped
from rumormill.cli.words.output import warn
from rumormill.cli.words.render import json_line
from rumormill.cli.words.sentences import EXIT_FAILED, EXIT_INTERRUPTED, UsageError, full_stop
from rumormill.core.errors import ConfigError
from rumormill.live.family import DemoAct, SecretScene
from rumormill.live.family.families import families, family_of, find_family

WIDE = 100
"""Columns of a table that goes into a pipe or a file."""


def run_demo(
    network: str | None,
    wishes: Wishes,
    as_json: bool = False,
    spark: bool = True,
    page: Path | None = None,
) -> int:
    """Play the acts of a network, or of all; 0 only if every one of them went well.

    With ``spark``, if it is there, the count is Spark's; its report goes to ``page``, too.
    """
    plans = [plan_act(act, wishes) for act in acts_of(network)]
    problem = missing_for_spark() if spark else None
    if problem is not None:
        warn(f"without Spark, so without tables and report: {full_stop(problem)}")
    stage = Stage(as_json, spark and problem is None, page)
    if not asyncio.run(until_stopped(stage.play_all(plans))):
        warn("interrupted; all processes of the demo are gone.")
        return EXIT_INTERRUPTED
    return stage.close()


def acts_of(network: str | None) -> list[DemoAct]:
    """The acts of a network, or of all for which there is what they need: the rest is told of."""
    acts = [act for family in families() for act in family.acts()]
    if network is not None:
        family_of(network)  # what is missing is told
        acts = [act for act in acts if network in (act.network, *act.also)]
        acts = [act._replace(network=network) for act in acts]
    if not acts:
        raise UsageError(f"there is no act of {network or 'any network'}")
    return acts if network else [act for act in acts if _possible(act)]


def _possible(act: DemoAct) -> bool:
    try:
        family_of(act.network)
    except ConfigError as error:
        warn(f"without {act.title}: {full_stop(error.problem)}")
        return False
    return True


class Stage:
    """Where the acts are played: how far they are, and what came of them, is told."""

    def __init__(self, as_json: bool, spark: bool, page: Path | None) -> None:
        self._as_json, self._spark, self._page = as_json, spark, page
        self._good = True
        self._sentences: list[str] = []
        self._json_reporter = JsonReporter(lambda line: print(line, flush=True))
        self._console = Console(highlight=False)
        if not self._console.is_terminal:
            self._console.width = WIDE

    async def play_all(self, plans: list[Plan]) -> None:
        """One act after the other."""
        for plan in plans:
            if not self._as_json:
                self._console.rule(f"{plan.act.title}: {plan.act.network}")
            with tempfile.TemporaryDirectory(prefix="rumormill-demo-") as folder:
                await self._play(plan, Path(folder))
            scene = find_family(plan.act.network).secret_scene(plan.act.network)
            if scene is not None:
                with tempfile.TemporaryDirectory(prefix="rumormill-demo-") as folder:
                    await self._play_secret(scene, Path(folder))

    def close(self) -> int:
        """The end."""
        if self._as_json:
            text = " ".join(self._sentences)
            print(json_line("verdict", {"ok": self._good, "text": text}))
        return 0 if self._good else EXIT_FAILED

    async def _play(self, plan: Plan, folder: Path) -> None:
        reporter = self._reporter()
        play, tables = Play(plan, reporter, folder, keep=self._spark), folder / "tables"
        report = None
        try:
            await play.run()
            if self._spark:
                report = await make_tables(play.spools, tables, reporter)
        finally:
            reporter.close()
            await play.close()
        self._show(play, report, tables)
        if report is not None and self._page is not None:
            await self._write_page(tables, self._page)

    async def _play_secret(self, scene: SecretScene, folder: Path) -> None:
        reporter = self._reporter()
        play = SecretPlay(scene, reporter, folder)
        try:
            outcome = await play.run()
        finally:
            reporter.close()
            await play.close()
        self._good &= outcome.good
        self._sentences.append(outcome.sentence())
        if self._as_json:
            print(json_line("secret", {"network": scene.network, **outcome._asdict()}))
        else:
            style = "bold green" if outcome.good else "bold red"
            self._console.print(outcome.sentence(), "\n", style=style, sep="")

    def _reporter(self) -> Reporter:
        """For one act. Programs get one stream of events, whose first line is ``ready``."""
        if self._as_json:
            return self._json_reporter
        return BarReporter() if sys.stderr.isatty() else Reporter()

    # ---- what came of it

    def _show(self, play: Play, report: dict[str, Any] | None, tables: Path) -> None:
        figures, others = play.ledger.figures(), []
        if report is not None and play.every_message:
            told, figures = figures, figures_of(report, play.topic, play.ids)
            others = differing(told, figures, play.plan.victim)
        outcome = Outcome(play, figures)
        good, sentence = outcome.good and not others, outcome.verdict()
        if others:
            sentence += f" But nodes {others} told otherwise than Spark counted."
        self._good &= good
        self._sentences.append(sentence)
        if self._as_json:
            self._print_json(outcome, report)
        else:
            self._print_people(outcome, None if report is None else tables)
            self._console.print(sentence, "\n", style="bold green" if good else "bold red", sep="")

    def _print_json(self, outcome: Outcome, report: dict[str, Any] | None) -> None:
        for row in outcome.row_objects():
            print(json_line("node", row))
        print(json_line("total", outcome.total_object()))
        if report is not None:
            print(json_line("report", report))

    def _print_people(self, outcome: Outcome, tables: Path | None) -> None:
        console = self._console
        console.print()
        if tables is not None:
            console.print("What 'rumormill report' says of what they kept:\n", style="bold")
            sys.stdout.flush()
            # Its stdout is ours: on a terminal it knows the width, and may use colour.
            words = ("-m", "rumormill.cli", "report", "--tables", str(tables))
            subprocess.run((sys.executable, *words), check=True)
        console.print(outcome.table())
        console.print()
        for note in outcome.notes():
            console.print(note, style="dim")
        console.print()

    async def _write_page(self, tables: Path, page: Path) -> None:
        words = ("report", "--tables", str(tables), "--html", str(page))
        await Command("rumormill report", words).run()
        if not self._as_json:
            self._console.print(f"The report with plots: {page} (any browser shows it).\n")
