"""``python -m bench.siege``: single attacks, printed and not kept.

python -m bench.siege --attacks iwant,ed25519 --attackers 1,8 --contestants ours,rust
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import sys

from rich.console import Console

from bench.__main__ import show
from bench.contestants import chosen, enter
from bench.progress import Progress
from bench.siege.families import FAMILIES
from bench.siege.siege import SiegePlan, run

NEEDED = {"spool": "ours", "libtorrent": "rust"}
"""Contestants that the others of the benchmarks bring along."""


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(name) for name in _names(text))


def main() -> None:
    """Do what the command line says."""
    attacks = ", ".join(f"{each.name}" for family in FAMILIES for each in family.attacks)
    parser = argparse.ArgumentParser(prog="python -m bench.siege", description=__doc__)
    parser.add_argument("--attacks", type=_names, default=(), help=f"of {attacks}")
    parser.add_argument("--families", type=_names, default=(), help="of gossipsub, bep50, http")
    parser.add_argument("--attackers", type=_numbers, default=(1, 8), help="how many: 1,8")
    parser.add_argument(
        "--contestants",
        type=_names,
        default=("ours",),
        help="of ours, spool, rust, js, go, libtorrent",
    )
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the 100 messages: 0.2 is quick"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    plan = SiegePlan(
        attackers=arguments.attackers,
        share=arguments.share,
        families=arguments.families,
        attacks=arguments.attacks,
        contestants=arguments.contestants,
    )
    wanted = [NEEDED.get(name, name) for name in arguments.contestants]
    with Progress(Console(stderr=True)) as progress:
        part = asyncio.run(run([enter(each) for each in chosen(wanted)], plan, progress))
    if arguments.json:
        print(json.dumps(part, indent=1))
    else:
        show({"siege": part}, as_json=False)


if __name__ == "__main__":
    main()
