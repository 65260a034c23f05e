"""Our forwarder beside ndnd, with the same producer and consumer.

The ends are there twice: bare ones (:mod:`bench.ndn.bare`), for which the forwarder is the
bottleneck, and applications on python-ndn, which most users have. In each round every forwarder is
new, and they take turns case by case.
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
from bench.ndn.ends import STARTING, words_of
from bench.ndn.samples import Sample, count_for, in_turns, sample_of
from bench.progress import Progress
from bench.siege.processes import Program, SiegeError
from rumormill.core.percentiles import percentile
from tests.helpers.interop.ndn_forwarders import RunningForwarder, start_forwarder
from tests.helpers.interop.ndn_python import PythonProgram
from tests.helpers.interop.peer_process import PeerProcessError

Row = dict[str, Any]

FORWARDERS = ("ndnd", "ours")
HOPS = ("forwarder", "producer", "consumer")
PATIENCE = 120.0


class Case(NamedTuple):
    """What is measured."""

    ends: str
    face: str
    window: int
    size: int


CASES = tuple(
    Case(*case)
    for case in itertools.product(("bare", "python-ndn"), ("tcp", "unix"), (1, 16), (100, 1024))
)


@dataclass(frozen=True)
class ForwardingPlan:
    """How much is measured."""

    rounds: int = 5
    seconds: float = 1.0
    """Roughly, of one measurement."""
    warm_up_count: int = 500
    most: int = 100_000


QUICK = ForwardingPlan(rounds=1, seconds=0.1, warm_up_count=100)


class Measured:
    """The samples of all rounds: those of one round stand at the same place in all lists."""

    def __init__(self) -> None:
        self.samples: dict[tuple[str, Case], list[Sample]] = {}
        self.failures: list[str] = []


async def run(plan: ForwardingPlan, progress: Progress) -> Row:
    """Measure all; returns what the tables are made of."""
    measured = Measured()
    for number in range(plan.rounds):
        for ends, face in itertools.product(("bare", "python-ndn"), ("tcp", "unix")):
            where = f"ndn, forwarding, {ends} ends over {face}: round {number + 1}"
            progress.step(where)
            names = FORWARDERS if number % 2 == 0 else tuple(reversed(FORWARDERS))
            try:
                await _round(ends, face, names, plan, measured)
            except (SiegeError, PeerProcessError) as error:
                measured.failures.append(f"{where}: {words_of(error)}")
                progress.say(f"{where}: {words_of(error)}")
    return results(plan.rounds, measured)


async def _round(
    ends: str, face: str, names: Sequence[str], plan: ForwardingPlan, measured: Measured
) -> None:
    found: dict[tuple[str, Case], Sample] = {}
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        paths: dict[str, Way] = {}
        for name in names:
            forwarder = await stack.enter_async_context(await start_forwarder(name, folder))
            paths[name] = await stack.enter_async_context(PATHS[ends](forwarder, face))
        for case in CASES:
            if (case.ends, case.face) != (ends, face):
                continue
            counts: dict[str, int] = {}
            for name in names:
                warm = await paths[name].measure(case, plan.warm_up_count)
                counts[name] = count_for(warm, plan.seconds, case.window, plan.most)

            async def measure(
                name: str, counts: dict[str, int] = counts, case: Case = case
            ) -> Sample:
                return await paths[name].measure(case, counts[name])

            for name, sample in (await in_turns(names, measure)).items():
                found[name, case] = sample
    for key, sample in found.items():
        measured.samples.setdefault(key, []).append(sample)


class Way:
    """A consumer, a forwarder and a producer."""

    def __init__(self, forwarder: RunningForwarder, producer: int, consumer: int) -> None:
        self._processes = (forwarder.process_id, producer, consumer)

    async def ask(self, case: Case, count: int) -> dict[str, Any]:
        """Send Interests; returns ``seconds``, ``p50_us`` and ``p99_us``."""
        raise NotImplementedError

    async def measure(self, case: Case, count: int) -> Sample:
        """Send so many Interests."""
        before = self._cpu()
        done = await self.ask(case, count)
        after = self._cpu()
        hops = [end - begin for begin, end in zip(before, after, strict=True)]
        percentiles = {name: done[name] for name in ("p50_us", "p99_us")}
        cpu = dict(zip(HOPS, hops, strict=True))
        return sample_of(count, count, done["seconds"], percentiles, cpu)

    def _cpu(self) -> list[float]:
        return [cpu_seconds(pid) for pid in self._processes]


class BarePath(Way):
    """With the bare ends."""

    def __init__(self, forwarder: RunningForwarder, producer: Program, consumer: Program) -> None:
        super().__init__(forwarder, producer.pid, consumer.pid)
        self._consumer = consumer

    async def ask(self, case: Case, count: int) -> dict[str, Any]:
        """See :class:`Way`."""
        await self._consumer.say(count=count, window=case.window, size=case.size)
        done = await self._consumer.expect("done", PATIENCE)
        if done["nacks"]:
            raise SiegeError(f"{done['nacks']} of {count} Interests got a Nack")
        return done


class PythonPath(Way):
    """With applications on python-ndn."""

    def __init__(
        self, forwarder: RunningForwarder, producer: PythonProgram, consumer: PythonProgram
    ) -> None:
        super().__init__(forwarder, producer.process_id, consumer.process_id)
        self._producer = producer
        self._consumer = consumer
        self._served: set[int] = set()
        self._runs = itertools.count()

    async def ask(self, case: Case, count: int) -> dict[str, Any]:
        """See :class:`Way`."""
        # A prefix of its own for each run: no store may know the names.
        prefix = f"/bench/{case.size}/{next(self._runs)}"
        await self._producer.tell("serve", prefix=prefix, size=case.size)
        fields = {"prefix": prefix, "count": count, "window": case.window}
        done = await self._consumer.tell("ping", PATIENCE, **fields)
        if done["wrong"]:
            raise SiegeError(f"{done['wrong']} of {count} answers were wrong")
        ordered = sorted(done["times_ms"])
        p50, p99 = ((percentile(ordered, share) or 0.0) * 1000 for share in (0.5, 0.99))
        return {"seconds": done["seconds"], "p50_us": p50, "p99_us": p99}


@contextlib.asynccontextmanager
async def bare_path(forwarder: RunningForwarder, face: str) -> AsyncIterator[Way]:
    """The bare ends on a forwarder."""
    address = getattr(forwarder, face)
    producer = Program.module("the bare producer", "bench.ndn.bare", "producer", address)
    consumer = Program.module("the bare consumer", "bench.ndn.bare", "consumer", address)
    async with producer, consumer:
        await producer.expect("ready", STARTING)
        await consumer.expect("ready", STARTING)
        yield BarePath(forwarder, producer, consumer)


@contextlib.asynccontextmanager
async def python_path(forwarder: RunningForwarder, face: str) -> AsyncIterator[Way]:
    """Applications on python-ndn on a forwarder."""
    address = getattr(forwarder, face)
    async with (
        await PythonProgram.start(address, "/producer") as producer,
        await PythonProgram.start(address, "/consumer") as consumer,
    ):
        yield PythonPath(forwarder, producer, consumer)


PATHS: dict[str, Callable[[RunningForwarder, str], contextlib.AbstractAsyncContextManager[Way]]] = {
    "bare": bare_path,
    "python-ndn": python_path,
}


# ---- results


def results(rounds: int, measured: Measured) -> Row:
    """The figures of both, and what ours are over ndnd's."""
    return {
        "rounds": rounds,
        "failed_rounds": measured.failures,
        "rows": [
            {"forwarder": name, **case._asdict(), **_figures(samples)}
            for case in CASES
            for name in FORWARDERS
            if (samples := measured.samples.get((name, case)))
        ],
        "ratios": [
            {**case._asdict(), **ratios(ours, other)}
            for case in CASES
            if (ours := measured.samples.get(("ours", case)))
            and (other := measured.samples.get(("ndnd", case)))
        ],
    }


def _figures(samples: Sequence[Sample]) -> Row:
    return {
        "per_second": summary([each["per_second"] for each in samples], max),
        "p50_us": summary([each["p50_us"] for each in samples], min),
        "p99_us": summary([each["p99_us"] for each in samples], min),
        "hops_us": {hop: summary([each["hops_us"][hop] for each in samples], min) for hop in HOPS},
        "samples": list(samples),
    }


def ratios(ours: Sequence[Sample], other: Sequence[Sample]) -> Row:
    """Ours over ndnd: each round for itself, then their median."""
    pairs = list(zip(ours, other, strict=True))
    return {
        "per_second": summary([own["per_second"] / its["per_second"] for own, its in pairs], max),
        "cpu_us": summary(
            [own["hops_us"]["forwarder"] / its["hops_us"]["forwarder"] for own, its in pairs], min
        ),
    }
