"""Publisher to subscriber, ours beside the original, over the same forwarder.

Ours also without one: the subscriber is a node then, with a forwarder inside.

In each round both get new processes on one forwarder, warm up, and take turns case by case, so that
whatever else the machine does disturbs both alike. A message counts when its publisher knows that
it was delivered: both protocols are one, and tell by an acknowledgement.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bench.bcos.path_bench import summary
from bench.bcos.paths import cpu_seconds
from bench.ndn.ends import (
    CONTESTANTS,
    SIGNERS,
    End,
    confirmed,
    start_inside,
    start_pair,
    until_delivered,
    words_of,
)
from bench.ndn.samples import Sample, count_for, in_turns, sample_of
from bench.progress import Progress
from bench.siege.processes import SiegeError
from rumormill.core.percentiles import percentile
from tests.helpers.interop.ndn_forwarders import RunningForwarder, start_forwarder
from tests.helpers.interop.peer_process import PeerProcessError

Row = dict[str, Any]

TOPIC = "/bench/topic"
SIZE = 1024
WINDOWS = (1, 32)
INSIDE = "inside"
FORWARDERS = ("ndnd", "ours", INSIDE)
HOPS = ("publisher", "forwarder", "subscriber")


class Case(NamedTuple):
    """What is measured."""

    forwarder: str
    signer: str
    window: int


def contestants_on(forwarder: str) -> tuple[str, ...]:
    """Who can be measured on a forwarder."""
    return ("ours",) if forwarder == INSIDE else CONTESTANTS


CASES = tuple(Case(*case) for case in itertools.product(FORWARDERS, SIGNERS, WINDOWS))


@dataclass(frozen=True)
class PubSubPlan:
    """How much is measured."""

    rounds: int = 5
    seconds: float = 2.0
    """Roughly, of one measurement."""
    warm_up_count: int = 200
    most: int = 50_000


QUICK = PubSubPlan(rounds=1, seconds=0.2, warm_up_count=64)


class Measured:
    """The samples of all rounds: those of one round stand at the same place in all lists."""

    def __init__(self) -> None:
        self.samples: dict[tuple[str, Case], list[Sample]] = {}
        self.failures: list[str] = []


async def run(plan: PubSubPlan, progress: Progress) -> Row:
    """Measure all; returns what the tables are made of."""
    measured = Measured()
    for number in range(plan.rounds):
        for forwarder, signer in itertools.product(FORWARDERS, SIGNERS):
            where = f"ndn, messages over {forwarder}, {signer}: round {number + 1}"
            progress.step(where)
            # Whoever comes first in one round comes last in the next.
            names = contestants_on(forwarder)[:: 1 if number % 2 == 0 else -1]
            try:
                await _round(forwarder, signer, names, plan, measured)
            except (SiegeError, PeerProcessError, TimeoutError) as error:
                problem = words_of(error) if not isinstance(error, TimeoutError) else "no delivery"
                measured.failures.append(f"{where}: {problem}")
                progress.say(f"{where}: {problem}")
    return results(plan.rounds, measured)


class Pair:
    """A publisher and a subscriber, and the forwarder between them."""

    def __init__(self, publisher: End, subscriber: End, forwarder: RunningForwarder | None) -> None:
        self._publisher = publisher
        self._subscriber = subscriber
        between = None if forwarder is None else forwarder.process_id
        self._processes = (publisher.pid, between, subscriber.pid)

    async def begin(self) -> None:
        """Subscribe, until messages arrive."""
        await self._subscriber.receive(TOPIC)
        await until_delivered(self._publisher, TOPIC, SIZE)

    async def measure(self, window: int, count: int) -> Sample:
        """Publish so many."""
        before = self._cpu()
        done = await self._publisher.publish(TOPIC, count, SIZE, window)
        after = self._cpu()
        ordered = sorted(done["times_ms"])
        hops = [end - begin for begin, end in zip(before, after, strict=True)]
        percentiles = {
            "p50_ms": percentile(ordered, 0.5) or 0.0,
            "p99_ms": percentile(ordered, 0.99) or 0.0,
        }
        cpu = dict(zip(HOPS, hops, strict=True))
        return sample_of(count, confirmed(done), done["seconds"], percentiles, cpu)

    def _cpu(self) -> list[float]:
        return [0.0 if pid is None else cpu_seconds(pid) for pid in self._processes]


async def _round(
    forwarder: str, signer: str, names: Sequence[str], plan: PubSubPlan, measured: Measured
) -> None:
    found: dict[tuple[str, Case], Sample] = {}
    async with _started(forwarder, signer, names) as pairs:
        for window in WINDOWS:
            case = Case(forwarder, signer, window)
            counts: dict[str, int] = {}
            for name in names:
                warm = await pairs[name].measure(window, plan.warm_up_count)
                counts[name] = count_for(warm, plan.seconds, window, plan.most)

            async def measure(
                name: str, counts: dict[str, int] = counts, window: int = window
            ) -> Sample:
                return await pairs[name].measure(window, counts[name])

            for name, sample in (await in_turns(names, measure)).items():
                found[name, case] = sample
    # A round counts as a whole or not at all: a sample without its counterpart is of no use.
    for key, sample in found.items():
        measured.samples.setdefault(key, []).append(sample)


@contextlib.asynccontextmanager
async def _started(
    forwarder: str, signer: str, names: Sequence[str]
) -> AsyncIterator[dict[str, Pair]]:
    """Each contestant on a forwarder of its own, or with one inside."""
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        pairs = {}
        for name in names:
            if forwarder == INSIDE:
                pairs[name] = Pair(*await start_inside(stack, signer, folder), None)
            else:
                place = await stack.enter_async_context(await start_forwarder(forwarder, folder))
                ends = await start_pair(stack, name, signer, place.tcp, folder)
                pairs[name] = Pair(*ends, place)
            await pairs[name].begin()
        yield pairs


# ---- results


def results(rounds: int, measured: Measured) -> Row:
    """The figures of both, and what ours are over the original's."""
    return {
        "rounds": rounds,
        "failed_rounds": measured.failures,
        "rows": [
            {"contestant": name, **case._asdict(), **_figures(samples)}
            for case in CASES
            for name in CONTESTANTS
            if (samples := measured.samples.get((name, case)))
        ],
        "ratios": [
            {**case._asdict(), **ratios(ours, original)}
            for case in CASES
            if (ours := measured.samples.get(("ours", case)))
            and (original := measured.samples.get(("original", case)))
        ],
    }


def _figures(samples: Sequence[Sample]) -> Row:
    return {
        "per_second": summary([each["per_second"] for each in samples], max),
        "p50_ms": summary([each["p50_ms"] for each in samples], min),
        "p99_ms": summary([each["p99_ms"] for each in samples], min),
        "cpu_us": summary([each["cpu_us"] for each in samples], min),
        "hops_us": {hop: summary([each["hops_us"][hop] for each in samples], min) for hop in HOPS},
        "unconfirmed": sum(each["count"] - each["done"] for each in samples),
        "samples": list(samples),
    }


def ratios(ours: Sequence[Sample], original: Sequence[Sample]) -> Row:
    """Ours over the original: each round for itself, then their median."""
    pairs = list(zip(ours, original, strict=True))

    def over(metric: str, better: Callable[[Sequence[float]], float]) -> dict[str, float]:
        return summary([own[metric] / other[metric] for own, other in pairs], better)

    return {
        "per_second": over("per_second", max),
        "p50_ms": over("p50_ms", min),
        "cpu_us": over("cpu_us", min),
    }
