"""Ten processes that are all connected with each other, a mesh of six, one publisher.

What is counted: CPU of all ten processes, and copies that any of them got, per delivery to one of
the nine subscribers. A rate counts as delivered if everything has arrived :data:`PATIENCE` seconds
after the last message was published.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.contestants import MESH_LOW, Contestant, Entry, problem_of
from bench.progress import Progress
from tests.helpers.interop.peer_process import Event, PeerProcessError, RouterPeer

NODES = 10
SIZE = 1024
LARGE = 64 * 1024
"""Of messages that are worth an IDONTWANT to everybody."""
TOPIC = "mesh"

PATIENCE = 10.0
"""Seconds after the last message in which the rest may arrive."""
SETTLING = 20.0
"""Seconds in which the meshes must have formed."""
PAUSE = 1.0
TELLING = 0.99
"""The delivery ratio below which latencies say nothing."""


class Load(NamedTuple):
    """What one node publishes."""

    rate: int
    size: int = SIZE

    def __str__(self) -> str:
        return f"{self.size} B at {self.rate}/s"


@dataclass(frozen=True)
class MeshPlan:
    """How much is measured."""

    rates: tuple[int, ...] = (50, 100, 200, 500, 1000)
    large_rate: int = 20
    """Of large messages, which come last."""
    rounds: int = 2
    seconds: float = 10.0
    """Of each rate."""
    warm_up_seconds: float = 5.0
    """At the lowest rate."""

    @property
    def loads(self) -> list[Load]:
        """All that is measured, in this order."""
        return [*map(Load, self.rates), Load(self.large_rate, LARGE)]


QUICK = MeshPlan(rates=(50, 200), large_rate=10, rounds=1, seconds=2.0, warm_up_seconds=0.5)

METRICS: dict[str, Callable[[list[float]], float]] = {
    "ratio": min,
    "p50_ms": min,
    "p99_ms": min,
    "worst_p99_ms": min,
    "cpu_us_per_delivery": min,
    "copies_per_delivery": statistics.median,
    "verifies_per_delivery": max,
    "achieved_rate": max,
}
"""What is measured, and what counts of several rounds: of times the best, since others disturb
them; of what depends on the node alone, the worst."""

Sample = dict[str, float | None]
Samples = dict[tuple[str, Load], list[Sample]]
Failures = dict[tuple[str, Load], str]


async def run(entries: Sequence[Entry], plan: MeshPlan, progress: Progress) -> dict[str, Any]:
    """Measure everyone who is there; returns the part ``mesh`` of the results."""
    taking_part = [entry for entry in entries if entry.contestant.in_meshes]
    present = [entry for entry in taking_part if entry.program is not None]
    samples: Samples = {}
    failures: Failures = {}
    loads = plan.loads
    progress.begin("mesh", plan.rounds * len(present) * len(loads))
    for number in range(plan.rounds):
        for entry in present[number:] + present[:number]:
            runner = _Runner(entry, plan)
            try:
                for load in loads:
                    words = f"round {number + 1} of {plan.rounds}, {entry.name}, {load}"
                    progress.step(f"mesh: {words}")
                    sample = await runner.measure(load)
                    samples.setdefault((entry.name, load), []).append(sample)
            except PeerProcessError as problem:
                failures[entry.name, load] = problem_of(problem)
            finally:
                await runner.stop()
    rows = [_row(entry, load, samples, failures) for load in loads for entry in taking_part]
    return {
        "rounds": plan.rounds,
        "nodes": NODES,
        "size": SIZE,
        "seconds": plan.seconds,
        "rows": [row for row in rows if row["size"] == SIZE],
        "large": [row for row in rows if row["size"] == LARGE],
    }


class _Runner:
    """Measures one rate after the other, on the same processes as long as they keep up."""

    def __init__(self, entry: Entry, plan: MeshPlan) -> None:
        self._entry = entry
        self._plan = plan
        self._mesh: FullMesh | None = None

    async def measure(self, load: Load) -> Sample:
        if self._mesh is None:
            self._mesh = await FullMesh.start(self._entry)
            lowest = min(self._plan.rates)
            await self._mesh.measure(lowest, int(lowest * self._plan.warm_up_seconds))
        sample = await self._mesh.measure(load.rate, int(load.rate * self._plan.seconds), load.size)
        # What is still under way, or broken, would be in the way of the next rate.
        if sample["ratio"] != 1.0 or not await self._mesh.whole():
            await self.stop()
        return sample

    async def stop(self) -> None:
        mesh, self._mesh = self._mesh, None
        if mesh is not None:
            await mesh.stop()


class FullMesh:
    """Ten running nodes of one implementation."""

    def __init__(self, contestant: Contestant, stack: AsyncExitStack) -> None:
        self.nodes: list[RouterPeer] = []
        self._contestant = contestant
        self._stack = stack
        self._degree = 0.0

    @classmethod
    async def start(cls, entry: Entry) -> FullMesh:
        """Start the nodes, connect each with each, wait until their meshes stand."""
        mesh = cls(entry.contestant, AsyncExitStack())
        try:
            await mesh._start(entry)
            await mesh._connect()
            await mesh._settle()
        except BaseException:
            await mesh.stop()
            raise
        return mesh

    async def stop(self) -> None:
        """End all processes."""
        await asyncio.gather(*(node.stop() for node in self.nodes), return_exceptions=True)
        await self._stack.aclose()

    async def _start(self, entry: Entry) -> None:
        options = entry.contestant.mesh_options
        for _ in range(NODES):
            node = await entry.start(topics=[TOPIC], options=options)
            self.nodes.append(await self._stack.enter_async_context(node))

    async def _connect(self) -> None:
        for node, other in itertools.combinations(self.nodes, 2):
            await node.dial(other.address)
        for node, other in itertools.permutations(self.nodes, 2):
            await node.sees(other.id, TOPIC, timeout=SETTLING)

    async def _settle(self) -> None:
        deadline = time.monotonic() + SETTLING
        while True:
            degrees = [len(await node.mesh(TOPIC)) for node in self.nodes]
            if min(degrees) >= MESH_LOW:
                break
            if time.monotonic() > deadline:
                problem = f"no mesh of {MESH_LOW} within {SETTLING:.0f} s: {degrees}"
                raise PeerProcessError(f"the {self._contestant.name} nodes have {problem}")
            await asyncio.sleep(PAUSE)
        self._degree = statistics.mean(degrees)
        await asyncio.sleep(PAUSE)

    async def whole(self) -> bool:
        """Whether each node is still connected with each."""
        known = [len(await node.peers()) for node in self.nodes]
        return min(known) == NODES - 1

    # ---- one rate

    async def measure(self, rate: int, count: int, size: int = SIZE) -> Sample:
        """Publish ``count`` messages at this rate and wait for them."""
        publisher, *subscribers = self.nodes
        for node in self.nodes:
            await node.bench_reset(TOPIC)
        sent = await publisher.bench_rate(TOPIC, rate=rate, count=count, size=size)
        await asyncio.sleep(PAUSE)
        reports = await self._reports(subscribers, count)
        own = await publisher.bench_report()
        return self._sample(sent, own, reports)

    async def _reports(self, subscribers: Sequence[RouterPeer], count: int) -> list[Event]:
        """The reports of the subscribers, once nothing is missing or nothing comes any more."""
        deadline = time.monotonic() + PATIENCE
        reports: list[Event] = []
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(2 * PATIENCE):
                while True:
                    reports = [await node.bench_report() for node in subscribers]
                    complete = all(report["distinct"] >= count for report in reports)
                    if complete or time.monotonic() > deadline:
                        return reports
                    await asyncio.sleep(PAUSE)
        raise PeerProcessError(f"the {self._contestant.name} nodes are too busy to report")

    def _sample(self, sent: Event, own: Event, reports: Sequence[Event]) -> Sample:
        everyone = [own, *reports]
        deliveries = sum(report["distinct"] for report in reports)
        copies = sum(report["copies"] for report in everyone)
        verifies: int | None = None
        if self._contestant.verifies_every_copy:
            verifies = copies
        elif all("verifies" in report for report in everyone):
            verifies = sum(report["verifies"] for report in everyone)
        ratio = deliveries / (sent["count"] * len(reports))
        # What never arrives is later than anything: then there is no 99th of a hundred.
        timed = reports if ratio >= TELLING else []
        return {
            "count": sent["count"],
            "deliveries": deliveries,
            "repeated": sum(report["received"] for report in reports) - deliveries,
            "ratio": ratio,
            "p50_ms": _over_nodes(timed, "p50_ms", statistics.median),
            "p99_ms": _over_nodes(timed, "p99_ms", statistics.median),
            "worst_p99_ms": _over_nodes(timed, "p99_ms", max),
            "cpu_us_per_delivery": _per(
                sum(report["cpu_seconds"] for report in everyone) * 1e6, deliveries
            ),
            "copies_per_delivery": _per(copies, deliveries),
            "verifies_per_delivery": _per(verifies, deliveries),
            "achieved_rate": sent["count"] / sent["seconds"],
            "failed": sent["failed"],
            "mesh_degree": self._degree,
        }


def _over_nodes(reports: Sequence[Event], field: str, summary: Any) -> float | None:
    values = [report[field] for report in reports if report[field] is not None]
    return float(summary(values)) if values else None


def _per(total: float | None, deliveries: int) -> float | None:
    return total / deliveries if total is not None and deliveries else None


# ---- results


def _row(entry: Entry, load: Load, samples: Samples, failures: Failures) -> dict[str, Any]:
    own = samples.get((entry.name, load), [])
    # Where a round failed, it did not come to what is measured later.
    problems = [
        text
        for (name, at), text in failures.items()
        if name == entry.name and (at.size, at.rate) <= (load.size, load.rate)
    ]
    row: dict[str, Any] = {
        "contestant": entry.name,
        "rate": load.rate,
        "size": load.size,
        "missing": entry.missing or ("" if own else "; ".join(problems)),
        "verifies_known_by": entry.contestant.verifies_known_by,
        "samples": own,
    }
    for metric, better in METRICS.items():
        values = [value for sample in own if (value := sample[metric]) is not None]
        if values:
            row[metric] = {"best": better(values), "median": statistics.median(values)}
    return row
