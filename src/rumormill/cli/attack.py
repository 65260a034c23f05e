"""``rumormill attack``: attacks on a network in virtual time, and a table of what came of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich import box
from rich.console import Console
from rich.table import Table

from rumormill.cli.render import json_line
from rumormill.cli.sentences import EXIT_FAILED
from rumormill.live.families import family_of
from rumormill.live.family import AttackOutcome, AttackProgress, AttackWish

WIDE = 110
"""Columns of the table where it goes into a pipe or a file."""


def run_attacks(network: str, wish: AttackWish, as_json: bool = False) -> int:
    """Run them one after the other; 0 only if the network held against all."""
    outcomes: list[AttackOutcome] = []
    with _bar() as tell:
        for outcome in family_of(network).attack(network, wish, tell):
            outcomes.append(outcome)
            if as_json:
                print(json_line("attack", dict(outcome.fields)), flush=True)
    if not as_json:
        show(outcomes)
    return EXIT_FAILED if any(each.failures for each in outcomes) else 0


def show(outcomes: list[AttackOutcome]) -> None:
    """The table, and below it what fell short."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("attack", no_wrap=True)
    for name in outcomes[0].shown:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict")
    for each in outcomes:
        verdict = "FAIL" if each.failures else "pass"
        style = "red" if each.failures else ""
        table.add_row(each.attack, *each.shown.values(), verdict, style=style)
    console.print(table)
    for each in outcomes:
        for failure in each.failures:
            console.print(f"{each.attack}: {failure}", soft_wrap=True)


@contextmanager
def _bar() -> Iterator[AttackProgress]:
    """Who hears how far it is: a bar on a terminal; elsewhere nobody, as logs stay short."""
    if not sys.stderr.isatty():
        yield lambda name, share: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=30),
        TextColumn("{task.percentage:.0f} %"), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("attack", total=1.0)
        yield lambda name, share: bars.update(task, description=name, completed=share)
