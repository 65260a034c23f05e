"""``python -m bench``: see :mod:`bench`."""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import bench
from bench import profile, results, versions
from bench.bystanders import Bystanders
from bench.contestants import NAMES, Entry, chosen, enter
from bench.parts import PARTS, tables_of
from bench.progress import Progress

CHANGES = ("events", "minutes", "rounds")
"""What the command line may say of a plan."""

BUSY = 0.5
"""Load per core from which on the figures are said to be doubtful."""


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description=bench.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    choices = [*PARTS, "all", "profile"]
    parser.add_argument("part", nargs="?", choices=choices, default="all", metavar="PART")
    parser.add_argument("--quick", action="store_true", help="few messages: does it work at all?")
    parser.add_argument(
        "--only", type=_names, default=(), help=f"some of {','.join(NAMES)}, with commas"
    )
    parser.add_argument(
        "--events", type=int, help="trace events of tables and questions, of a minute in minutes"
    )
    parser.add_argument(
        "--minutes", type=_numbers, help="which minutes count in minutes: 1,10,100,300"
    )
    parser.add_argument("--rounds", type=int, help="how often everything is measured")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument(
        "--output",
        type=Path,
        help="folder for the results; bench/results, or its folder scratch if less is measured",
    )
    arguments = parser.parse_args()
    arguments.changes = {
        name: value for name in CHANGES if (value := getattr(arguments, name)) is not None
    }
    if arguments.output is None:
        partial = arguments.quick or arguments.only or arguments.changes
        arguments.output = bench.RESULTS / "scratch" if partial else bench.RESULTS
    return arguments


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: none of {', '.join(NAMES)}")
    return names


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(","))


def enter_all(only: Sequence[str], progress: Progress) -> list[Entry]:
    """Everyone who takes part, built where that has not been done before."""
    contestants = chosen(only)
    progress.begin("peers", len(contestants))
    entries: list[Entry] = []
    for contestant in contestants:
        progress.step(f"peers: {contestant.name}")
        entries.append(enter(contestant))
    return entries


async def measure(
    parts: Sequence[str],
    entries: Sequence[Entry],
    quick: bool,
    progress: Progress,
    changes: dict[str, Any],
) -> dict[str, Any]:
    """Measure these parts, one after the other; ``changes`` are of their plans."""
    measured: dict[str, Any] = {}
    for name in parts:
        bystanders = Bystanders()
        circumstances = {
            "machine": versions.machine(),
            "quick": quick,
            "versions": PARTS[name].made_of(entries),
            "missing": {entry.name: entry.missing for entry in entries if entry.missing},
        }
        part = await PARTS[name].measure(entries, quick, progress, **changes)
        measured[name] = {**circumstances, "others_cores": bystanders.cores(), **part}
    return measured


def warn_if_busy(progress: Progress) -> None:
    """Say so if something else is running."""
    machine = versions.machine()
    if machine["load"][0] > BUSY * machine["cores"]:
        progress.say(
            f"The machine is busy (load {machine['load'][0]} on {machine['cores']} cores): the"
            " figures will be worse than they could be."
        )


def main() -> None:
    """Measure, write, show."""
    arguments = parse_arguments()
    # Whoever ends us by a signal ends what we started, too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    with Progress(Console(stderr=True)) as progress:
        if arguments.part == "profile":
            files = asyncio.run(profile.run(arguments.output, arguments.quick, progress))
        else:
            parts = list(PARTS) if arguments.part == "all" else [arguments.part]
            needed = any(PARTS[part].peers for part in parts)
            entries = enter_all(arguments.only, progress) if needed else []
            warn_if_busy(progress)
            measured = asyncio.run(
                measure(parts, entries, arguments.quick, progress, arguments.changes)
            )
            results.write(arguments.output, measured)
            files = [arguments.output / results.MARKDOWN_FILE, arguments.output / results.JSON_FILE]
    if arguments.part != "profile":
        show(measured, as_json=arguments.json)
    Console(stderr=True).print("Written:", *(str(file) for file in files))


def show(measured: dict[str, Any], *, as_json: bool) -> None:
    """Print what was measured just now."""
    if as_json:
        print(json.dumps(measured, indent=1))
        return
    console = Console()
    if not console.is_terminal:
        console = Console(width=180)
    for table in tables_of(measured):
        console.print(table.to_rich())
        for note in table.notes:
            console.print(note, style="dim")


if __name__ == "__main__":
    main()
