"""The part ``siege`` of the benchmarks: every attack on everyone whom it concerns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.contestants import Entry
from bench.progress import Progress
from bench.siege.families import CALM, FAMILIES, Family
from bench.siege.measure import Case, besiege
from bench.siege.nodes import Contestant

Row = dict[str, Any]

TAKE_PART = ("ours", "rust", "js")
"""Of those whom the benchmarks know."""


@dataclass(frozen=True)
class SiegePlan:
    """How much is measured."""

    attackers: tuple[int, ...] = (1, 8)
    share: float = 1.0
    """Of the messages that the honest side sends."""
    calm_seconds: float = 0.5
    """That the honest side sends for in peace, before each attack."""
    families: tuple[str, ...] = ()
    """Only these; all without any."""
    attacks: tuple[str, ...] = ()
    """Only these; all without any."""
    contestants: tuple[str, ...] = ()
    """Only these; all without any."""


QUICK = SiegePlan(
    attackers=(1,),
    share=0.2,
    attacks=("iwant", "ed25519", "half-open", "nested", "silent"),
)


async def run(entries: Sequence[Entry], plan: SiegePlan, progress: Progress) -> dict[str, Any]:
    """Besiege everyone who is there; returns the part ``siege`` of the results."""
    cases, left_out = _cases(entries, plan)
    progress.begin("siege", len(cases))
    rows: list[Row] = []
    for case in cases:
        progress.step(f"siege: {case.words}")
        rows.append(await besiege(case))
    return {"attackers": plan.attackers, "left_out": left_out, "rows": rows}


def _cases(entries: Sequence[Entry], plan: SiegePlan) -> tuple[list[Case], list[str]]:
    present = [entry for entry in entries if entry.name in (*TAKE_PART, *plan.contestants)]
    cases: list[Case] = []
    left_out: list[str] = []
    for family in FAMILIES:
        if plan.families and family.name not in plan.families:
            continue
        if missing := family.missing():
            left_out.append(f"{family.name}: left out, {missing}")
            continue
        contestants = [
            each
            for each in family.contestants(present)
            if not plan.contestants or each.name in plan.contestants
        ]
        # Row by row, so that those who are compared are measured one right after the other.
        for attack, attackers in _attacks(family, plan):
            cases += [
                _case(family, attack, attackers, contestant, plan)
                for contestant in contestants
                if attackers <= 1 or not contestant.alone_only
            ]
    return cases, left_out


def _attacks(family: Family, plan: SiegePlan) -> list[tuple[str, int]]:
    wanted = [each for each in family.attacks if not plan.attacks or each.name in plan.attacks]
    counts = plan.attackers if family.counts else (1,)
    return [(CALM, 0)] * bool(wanted) + [
        (attack.name, count)
        for attack in wanted
        for count in counts
        # Who asks for many of a single kind gets them.
        if count <= attack.most_attackers or plan.attacks
    ]


def _case(
    family: Family, attack: str, attackers: int, contestant: Contestant, plan: SiegePlan
) -> Case:
    load = replace(family.load, count=max(1, int(family.load.count * plan.share)))
    calm = replace(load, count=max(1, int(plan.calm_seconds * load.rate)))
    return Case(family, attack, attackers, contestant, load, calm)
