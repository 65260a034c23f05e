"""The overlay of BEP 50 with many nodes in virtual time: who gets a new value, when, at what cost.

The machines are those of a live node. Datagrams get lost, nodes crash and come back with empty
tables, newcomers arrive. Nothing is timed, all is counted, so it is the same on every computer;
only what the simulation itself costs depends on the machine.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.progress import Progress
from tests.helpers.bep50.overlay_swarm import IN_TIME, LINK, Publication, Swarm, mean

Row = dict[str, Any]


class Case(NamedTuple):
    """One network."""

    nodes: int
    publications: int
    """Of each size."""
    seed: int = 1
    joining: float = 120.0
    """Seconds in which all nodes begin, one after the other."""
    resumed: bool = False
    """They begin with tables as if saved by an earlier run: it takes far less than to join."""
    churning: float = 120.0
    """Seconds of churn before the first publication."""


@dataclass(frozen=True)
class ScalePlan:
    """Which networks, and what happens in each."""

    cases: tuple[Case, ...] = (
        *(Case(1000, publications=10, seed=seed) for seed in (1, 2, 3)),
        Case(10_000, publications=4, joining=60.0, resumed=True, churning=60.0),
    )
    sizes: tuple[int, ...] = (100, 999)
    """Bytes of the values, bencoded: a small one is put at once, of a large one it is asked first
    who lacks it."""
    settling: float = 60.0
    churn: float = 0.10
    """Share of the nodes that crash in a minute."""
    away: float = 60.0
    """Seconds until they are back, on average."""
    pause: float = 2.0
    """Seconds between the count of a publication and the next one."""


QUICK = ScalePlan(
    cases=(
        Case(60, publications=2, joining=20.0, churning=30.0),
        Case(80, publications=2, joining=10.0, churning=30.0, resumed=True),
    ),
    settling=20.0,
)


async def run(plan: ScalePlan, progress: Progress) -> Row:
    """Simulate; returns the part ``scale`` of the results."""
    progress.begin("scale", len(plan.cases))
    rows = []
    for case in plan.cases:
        progress.step(f"scale: {case.nodes} nodes, seed {case.seed}")
        rows += measure(case, plan)
    return {
        "rows": rows,
        "seconds_in_time": IN_TIME,
        "loss": LINK.loss,
        "churn": plan.churn,
        "away": plan.away,
        "latency": LINK.latency,
        "jitter": LINK.jitter,
    }


def measure(case: Case, plan: ScalePlan) -> list[Row]:
    """One network from its first node to its last publication; a row for each size."""
    began = time.process_time()
    swarm = Swarm(seed=case.seed)
    begin = swarm.resume if case.resumed else swarm.join
    begin(case.nodes, case.joining, plan.settling)
    to_join = swarm.size / case.nodes
    swarm.churn(plan.churn, plan.away)
    before, since = swarm.size, swarm.simulation.now
    swarm.simulation.run_for(case.churning)
    quiet = (swarm.size - before) / (swarm.simulation.now - since) / case.nodes
    rows = []
    for size in plan.sizes:
        publications = []
        for _ in range(case.publications):
            publications.append(swarm.publish(size))
            swarm.simulation.run_for(plan.pause)
        rows.append({"nodes": case.nodes, "size": size, "seed": case.seed, "resumed": case.resumed,
                     **_figures(publications), **_tables(swarm)})  # fmt: skip
    cpu = time.process_time() - began
    whole = {
        "bytes_to_join": to_join,
        "quiet_bytes_per_second": quiet,
        "cpu_seconds": cpu,
        "packets_per_cpu_second": swarm.packets / cpu,
        "drops": dict(swarm.simulation.drops),
    }
    return [row | whole for row in rows]


def _figures(publications: Sequence[Publication]) -> Row:
    expected = sum(len(each.expected) for each in publications)
    missing = sum(len(each.missing) for each in publications)
    hops = [
        hops for each in publications for name, hops in each.hops.items() if name in each.expected
    ]
    alive = [each.alive for each in publications]
    return {
        "publications": len(publications),
        "expected": expected,
        "missing": missing,
        "ratio": 1 - missing / expected,
        "worst_ratio": min(each.ratio for each in publications),
        "newcomers": sum(each.newcomers for each in publications),
        "behind": sum(each.behind for each in publications),
        "copies_per_node": mean([each.copies / each.alive for each in publications]),
        "bytes_per_node": mean([each.size / each.alive for each in publications]),
        "hops_mean": mean(hops),
        "hops_max": max(hops, default=0),
        "alive": mean(alive),
        **{
            f"seconds_to_{percent}": _middle([each.within(percent) for each in publications])
            for percent in (50, 99, 100)
        },
    }


def _middle(times: Sequence[float | None]) -> float | None:
    """The median over the publications; None if in half of them it did not come to it in time."""
    ordered = sorted(math.inf if each is None else each for each in times)
    middle = ordered[len(ordered) // 2]
    return None if middle == math.inf else middle


def _tables(swarm: Swarm) -> Row:
    sizes, known = swarm.table_sizes(), list(swarm.known_by().values())
    return {
        "log2_nodes": math.log2(len(sizes)),
        "table_mean": mean(sizes),
        "table_max": max(sizes),
        "known_by_mean": mean(known),
        "known_by_min": min(known),
        "known_by_max": max(known),
        "dead_entries": swarm.dead_entries(),
    }
