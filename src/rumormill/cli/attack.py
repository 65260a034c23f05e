"""``rumormill attack``: attacks on gossipsub in virtual time, and a table of what came of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

from rumormill.cli.demo.table import milliseconds
from rumormill.cli.render import json_line
from rumormill.cli.sentences import EXIT_FAILED
from rumormill.libp2p.attacks import ATTACKS, Arena, Outcome, Scenario, Size, find_attack
from rumormill.libp2p.attacks.honest import usual_score
from rumormill.libp2p.attacks.recording import Recording

Tell = Callable[[float], object]
"""Hears which part of an attack is done."""

WIDE = 110
"""Columns of the table where it goes into a pipe or a file."""
COLUMNS = ("honest", "Sybils", "delivered", "p50", "p99", "worst honest", "attackers", "in meshes")


class Wish(NamedTuple):
    """What the user wants run."""

    names: tuple[str, ...] = ()
    """All, if there is none."""
    nodes: int = 20
    sybils: int = 20
    seed: int = 1
    score: bool = True
    spool: Path | None = None


def run_attacks(wish: Wish, as_json: bool = False) -> int:
    """Run them one after the other; 0 only if the network held against all."""
    scenarios = [find_attack(name) for name in wish.names] or list(ATTACKS.values())
    outcomes: list[Outcome] = []
    with ExitStack() as stack:
        recording = None if wish.spool is None else stack.enter_context(Recording(wish.spool))
        for scenario, tell in stack.enter_context(_with_bars(scenarios)):
            outcomes.append(_run(scenario, wish, recording, tell))
            if as_json:
                print(json_line("attack", outcomes[-1].to_json()), flush=True)
    if not as_json:
        show(outcomes)
    return 0 if all(each.passed for each in outcomes) else EXIT_FAILED


def _run(scenario: Scenario, wish: Wish, recording: Recording | None, tell: Tell) -> Outcome:
    sink = None if recording is None else recording.sink(scenario, scenario.seconds)
    score = usual_score() if wish.score else None
    size = Size(wish.nodes, wish.sybils)
    return Arena(scenario, size, wish.seed, score=score, sink=sink).run(tell)


def show(outcomes: list[Outcome]) -> None:
    """The table, and below it what fell short."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("attack", no_wrap=True)
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for each in outcomes:
        table.add_row(*_cells(each), style="" if each.passed else "red")
    console.print(table)
    for each in outcomes:
        for failure in each.failures:
            console.print(f"{each.attack}: {failure}", soft_wrap=True)


def _cells(outcome: Outcome) -> list[str]:
    return [
        outcome.attack,
        f"{outcome.nodes:,}",
        f"{outcome.sybils:,}",
        _percent(outcome.delivered),
        milliseconds(None if outcome.p50 is None else 1000 * outcome.p50),
        milliseconds(None if outcome.p99 is None else 1000 * outcome.p99),
        _points(outcome.worst_honest),
        _points(outcome.attackers_median) if outcome.attackers_left else _gone(outcome),
        f"{outcome.in_meshes:,} ({outcome.mesh_share:.0%})",
        "pass" if outcome.passed else "FAIL",
    ]


def _percent(share: float) -> str:
    """As many digits as it takes not to say 100 % of what is less.

    >>> _percent(1.0), _percent(0.9997), _percent(0.99999)
    ('100 %', '99.97 %', '99.99 %')
    """
    return "100 %" if share == 1 else f"{min(share * 100, 99.99):.2f} %"


def _points(score: float | None) -> str:
    return "-" if score is None else f"{score:.1f}"


def _gone(outcome: Outcome) -> str:
    return "dropped" if outcome.sybils else "-"


@contextmanager
def _with_bars(scenarios: list[Scenario]) -> Iterator[Iterator[tuple[Scenario, Tell]]]:
    """The scenarios, each with a bar on a terminal; elsewhere without, as logs stay short."""
    if not sys.stderr.isatty():
        yield ((scenario, lambda share: None) for scenario in scenarios)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=30),
        TextColumn("{task.percentage:.0f} %"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        whole = float(len(scenarios))
        task = bars.add_task("attack", total=whole)

        def move(done: int, share: float) -> None:
            bars.update(task, completed=done + share)

        def each() -> Iterator[tuple[Scenario, Tell]]:
            for number, scenario in enumerate(scenarios):
                bars.update(task, description=f"{scenario.name} ({number + 1} of {whole:.0f})")
                yield scenario, partial(move, number)

        yield each()
