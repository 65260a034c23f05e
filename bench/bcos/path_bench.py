"""Ours beside the bare paths, in turns: unicast round trips and multicast across two nodes.

In each round all paths get new processes, warm up, and then take turns case by case, so that
whatever else the machine does disturbs all alike. What counts is how they compare within a round.
"""

from __future__ import annotations

import contextlib
import statistics
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bench.bcos.bare_lines import LINES
from bench.bcos.load import STEP
from bench.bcos.paths import CASES, HOPS, Case, FourProcesses, Sample, bare_path, our_path
from bench.progress import Progress
from bench.siege.processes import SiegeError

Row = dict[str, Any]

BARE = tuple(f"bare-{tls}" for tls in LINES)
PATHS: dict[str, Callable[[Path, Path], AbstractAsyncContextManager[FourProcesses]]] = {
    **{name: partial(bare_path, tls) for name, tls in zip(BARE, LINES, strict=True)},
    "ours": our_path,
}


@dataclass(frozen=True)
class PathPlan:
    """How much is measured."""

    rounds: int = 5
    seconds: float = 2.0
    """Roughly, of one measurement."""
    warm_up_seconds: float = 0.5
    warm_up_count: int = 320
    fewest: int = 320
    most: int = 200_000


QUICK = PathPlan(rounds=1, seconds=0.0, warm_up_seconds=0.0, warm_up_count=160, fewest=160)


class Measured:
    """The samples of all rounds: those of one round stand at the same place in all lists."""

    def __init__(self) -> None:
        self.samples: dict[tuple[str, Case], list[Sample]] = {}
        self.failures: list[str] = []


async def run(certificates: Path, plan: PathPlan, progress: Progress) -> Row:
    """Measure all; returns what the tables are made of."""
    measured = Measured()
    for number in range(plan.rounds):
        where = f"bcos: round {number + 1} of {plan.rounds}"
        # Whoever comes first in one round comes last in the next.
        names = list(PATHS) if number % 2 == 0 else list(reversed(PATHS))
        progress.step(where)
        try:
            await _round(certificates, names, plan, measured)
        except SiegeError as error:
            measured.failures.append(f"round {number + 1}: {error}")
            progress.say(f"{where}: {error}")
    return results(plan.rounds, measured)


async def _round(
    certificates: Path, names: Sequence[str], plan: PathPlan, measured: Measured
) -> None:
    found: dict[tuple[str, Case], Sample] = {}
    async with _started(certificates, names) as paths:
        for case in CASES:
            counts = {name: await _warm_up(paths[name], case, plan) for name in names}
            for name in names:
                found[name, case] = await paths[name].measure(case, counts[name])
    # A round counts as a whole or not at all: a sample without its counterpart is of no use.
    for key, sample in found.items():
        measured.samples.setdefault(key, []).append(sample)


@contextlib.asynccontextmanager
async def _started(
    certificates: Path, names: Sequence[str]
) -> AsyncIterator[dict[str, FourProcesses]]:
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield {
            name: await stack.enter_async_context(PATHS[name](certificates, folder))
            for name in names
        }


async def _warm_up(path: FourProcesses, case: Case, plan: PathPlan) -> int:
    """Send more and more until the time is up; how many will take the seconds of the plan."""
    count, seconds = plan.warm_up_count, 0.0
    while True:
        sample = await path.measure(case, count)
        seconds += sample["seconds"]
        if seconds >= plan.warm_up_seconds:
            return count_for(sample["per_second"], plan)
        count = min(count * 2, plan.most)


def count_for(per_second: float, plan: PathPlan) -> int:
    """Messages that take the seconds of the plan, as a multiple of :data:`STEP`."""
    count = int(min(max(per_second * plan.seconds, plan.fewest), plan.most))
    return max(count - count % STEP, STEP)


# ---- results


def results(rounds: int, measured: Measured) -> Row:
    """Each path's figures, and what ours are over those of each bare path."""
    names = [name for name in PATHS if any(name == each for each, _ in measured.samples)]
    return {
        "rounds": rounds,
        "failed_rounds": measured.failures,
        "rows": [
            {"path": name, "case": case.name, **_figures(measured.samples[name, case])}
            for case in CASES
            for name in names
            if (name, case) in measured.samples
        ],
        "ratios": [
            {"case": case.name, "over": bare, **ratios(ours, measured.samples[bare, case])}
            for case in CASES
            if (ours := measured.samples.get(("ours", case)))
            for bare in BARE
        ],
    }


def _figures(samples: Sequence[Sample]) -> Row:
    return {
        "per_second": summary([each["per_second"] for each in samples], max),
        "cpu_us": summary([each["cpu_us"] for each in samples], min),
        "p50_us": summary([each["p50_us"] for each in samples], min),
        "p99_us": summary([each["p99_us"] for each in samples], min),
        "hops_us": {hop: summary([each["hops_us"][hop] for each in samples], min) for hop in HOPS},
        "lost": sum(each["sent"] - each["received"] for each in samples),
        "samples": list(samples),
    }


def ratios(ours: Sequence[Sample], bare: Sequence[Sample]) -> Row:
    """How many times the bare path ours takes: each round for itself, then their median."""
    pairs = list(zip(ours, bare, strict=True))

    def over(figure: Callable[[Sample], float]) -> dict[str, float]:
        return summary([figure(own) / figure(other) for own, other in pairs], min)

    return {
        "time": over(lambda sample: 1 / sample["per_second"]),
        "cpu": over(lambda sample: sample["cpu_us"]),
        "p50": over(lambda sample: sample["p50_us"]),
        "p99": over(lambda sample: sample["p99_us"]),
        "hops": {hop: over(_at_hop(hop)) for hop in HOPS},
    }


def _at_hop(hop: str) -> Callable[[Sample], float]:
    return lambda sample: float(sample["hops_us"][hop])


def summary(
    values: Sequence[float], better: Callable[[Sequence[float]], float]
) -> dict[str, float]:
    """The median counts; the best is what goals show beside it.

    >>> summary([3.0, 1.0, 2.0], min)
    {'best': 1.0, 'median': 2.0}
    """
    return {"best": better(values), "median": statistics.median(values)}
