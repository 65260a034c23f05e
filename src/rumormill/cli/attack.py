"""``rumormill attack``: attacks on a network in virtual time, and a table of what came of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from rich import box
from rich.console import Console
from rich.table import Table

from rumormill.cli.attack_alerts import alerts_raised, with_alerts
from rumormill.cli.words.render import json_line
from rumormill.cli.words.sentences import EXIT_FAILED, UsageError
from rumormill.live.family import AttackOutcome, AttackProgress, AttackWish
from rumormill.live.family.families import family_of
from rumormill.system.packages import require

WIDE = 150
"""Columns of the table where it goes into a pipe or a file."""
MOST_SEEDS = 1000


def run_attacks(network: str, wish: AttackWish, as_json: bool = False, alerts: bool = False) -> int:
    """Run them one after the other; 0 only if the network held against all."""
    outcomes: list[AttackOutcome] = []
    with ExitStack() as stack:
        if alerts:
            wish = _with_spool(wish, stack)
        with _bar() as tell:
            for outcome in family_of(network).attack(network, wish, tell):
                outcomes.append(outcome)
                if as_json and not alerts:
                    _print_runs(outcome)
        if alerts:
            assert wish.spool is not None
            outcomes = with_alerts(outcomes, alerts_raised(wish.spool))
    if not as_json:
        show(outcomes)
    elif alerts:
        for outcome in outcomes:
            _print_runs(outcome)
    return EXIT_FAILED if any(each.failures for each in outcomes) else 0


def parse_seeds(text: str) -> tuple[int, ...]:
    """Seeds as a user writes them.

    >>> parse_seeds("7"), parse_seeds("1-3,9")
    ((7,), (1, 2, 3, 9))
    """
    seeds: dict[int, None] = {}
    for part in text.split(","):
        first, separator, last = part.partition("-")
        if not first.isdecimal() or (separator and not last.isdecimal()):
            raise UsageError(f"--seeds {text}: must be numbers, as 1, 1-5 or 1,4,9")
        every = range(int(first), int(last or first) + 1)
        if not every or len(every) > MOST_SEEDS:
            raise UsageError(f"--seeds {text}: must be 1 to {MOST_SEEDS} numbers, the least first")
        seeds.update(dict.fromkeys(every))
    return tuple(seeds)


def _with_spool(wish: AttackWish, stack: ExitStack) -> AttackWish:
    """The pipeline is asked for before the attacks take their time."""
    from rumormill.pipeline.extra import require_spark

    require_spark()
    require(("pyiceberg", "pyarrow"), "rumormill[report]", "the alerts", key="alerts")
    if wish.spool is not None:
        return wish
    folder = stack.enter_context(TemporaryDirectory(prefix="rumormill-attack-"))
    return wish._replace(spool=Path(folder))


def _print_runs(outcome: AttackOutcome) -> None:
    for each in outcome.runs:
        print(json_line("attack", dict(each)), flush=True)


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
