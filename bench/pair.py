"""Two processes: one publishes, one subscribes, over TCP, Noise and yamux.

The publisher never has more messages under way than a window that the subscriber acknowledges, so
nothing is lost and both are as fast as the slower of them. Each round starts new processes and
lets them warm up; the implementations take turns, so that whatever else the machine is doing
disturbs them alike.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench import signatures
from bench.contestants import Entry, problem_of
from bench.progress import Progress
from tests.helpers.interop.peer_process import PeerProcessError, RouterPeer, bench_pair

POLICIES = {"signed": "StrictSign", "unsigned": "StrictNoSign"}


class Case(NamedTuple):
    """What is sent."""

    signing: str
    size: int

    @property
    def name(self) -> str:
        return f"{self.signing} {self.size} B"


CASES = (
    Case("signed", 100),
    Case("signed", 1000),
    # From 1024 bytes on, go says IDONTWANT; rust does above 1000.
    Case("signed", 1024),
    Case("unsigned", 1024),
)


@dataclass(frozen=True)
class PairPlan:
    """How much is measured."""

    rounds: int = 3
    seconds: float = 2.0
    """Roughly, of one measurement."""
    warm_up_seconds: float = 2.5
    """In all. js is slow until its code is compiled."""
    warm_up_count: int = 200
    fewest: int = 200
    most: int = 200_000
    window: int = 512
    signature_passes: int = 60


QUICK = PairPlan(
    rounds=1,
    seconds=0.1,
    warm_up_seconds=0.0,
    warm_up_count=100,
    fewest=100,
    # Not by the rate: that of a hundred messages, which fit into one window, says nothing.
    most=200,
    signature_passes=3,
)

SMALL_WINDOW = 64
"""For py, which is slow to a degree that a large one only makes it slower."""

METRICS = {"messages_per_second": max, "publisher_us": min, "subscriber_us": min}
"""What is measured, and which of several values is the best."""

Sample = dict[str, float]


class Measured:
    """The samples of all rounds."""

    def __init__(self) -> None:
        self.samples: dict[tuple[str, str], list[Sample]] = {}
        self.failures: dict[tuple[str, str], str] = {}
        self.signatures: list[dict[str, signatures.Costs]] = []

    def add(self, contestant: str, case: Case, sample: Sample) -> None:
        self.samples.setdefault((contestant, case.name), []).append(sample)

    def failed(self, contestant: str, cases: Sequence[Case], problem: str) -> None:
        for case in cases:
            self.failures.setdefault((contestant, case.name), problem)


async def run(entries: Sequence[Entry], plan: PairPlan, progress: Progress) -> dict[str, Any]:
    """Measure everyone who is there; returns the part ``pair`` of the results."""
    measured = Measured()
    present = [entry for entry in entries if entry.program is not None]
    progress.begin("pair", plan.rounds * len(present) * len(POLICIES))
    for number in range(plan.rounds):
        measured.signatures.append(_signatures(plan))
        # Whoever comes first in one round comes last in the next.
        for entry in present[number:] + present[:number]:
            for signing in POLICIES:
                progress.step(f"pair: round {number + 1} of {plan.rounds}, {entry.name} {signing}")
                await _measure(entry, signing, plan, measured)
    return _results(entries, plan, measured)


def _signatures(plan: PairPlan) -> dict[str, signatures.Costs]:
    sizes = dict.fromkeys(case.size for case in CASES)
    return {str(size): signatures.measure(size, plan.signature_passes) for size in sizes}


async def _measure(entry: Entry, signing: str, plan: PairPlan, measured: Measured) -> None:
    """One round of one contestant: new processes, then every size."""
    cases = [case for case in CASES if case.signing == signing]
    try:
        subscriber = await entry.start(policy=POLICIES[signing])
        async with subscriber:
            dial = [subscriber.address]
            publisher = await entry.start(policy=POLICIES[signing], dial=dial)
            async with publisher:
                bench = _Pair(publisher, subscriber, _window(entry, plan))
                rate = await bench.warm_up(plan)
                for case in cases:
                    count = int(min(max(rate * plan.seconds, plan.fewest), plan.most))
                    measured.add(entry.name, case, await bench.measure(case.size, count))
    except PeerProcessError as problem:
        missing = [case for case in cases if (entry.name, case.name) not in measured.samples]
        measured.failed(entry.name, missing or cases, problem_of(problem))


def _window(entry: Entry, plan: PairPlan) -> int:
    return SMALL_WINDOW if entry.name == "py" else plan.window


class _Pair:
    """Two running nodes that are connected."""

    def __init__(self, publisher: RouterPeer, subscriber: RouterPeer, window: int) -> None:
        self._publisher, self._subscriber = publisher, subscriber
        self._window = window
        self._topics: Iterator[str] = (f"bench-{number}" for number in range(1000))

    async def warm_up(self, plan: PairPlan) -> float:
        """Send more and more until the time is up; returns messages per second."""
        count, seconds = plan.warm_up_count, 0.0
        while True:
            sample = await self.measure(CASES[-1].size, count)
            seconds += sample["seconds"]
            if seconds >= plan.warm_up_seconds:
                return sample["messages_per_second"]
            count = min(count * 2, plan.most)

    async def measure(self, size: int, count: int) -> Sample:
        topic = next(self._topics)
        sent, received = await bench_pair(
            self._publisher, self._subscriber, topic, count=count, size=size, window=self._window
        )
        return {
            "sent": sent["count"],
            "received": received["count"],
            "seconds": sent["seconds"],
            # To the last acknowledgement. The subscriber's own time would begin with the first
            # message that it sees, and some hundred of them may come at once.
            "messages_per_second": count / sent["seconds"],
            "publisher_us": sent["cpu_seconds"] / count * 1e6,
            "subscriber_us": received["cpu_seconds"] / count * 1e6,
        }


# ---- results


def _results(entries: Sequence[Entry], plan: PairPlan, measured: Measured) -> dict[str, Any]:
    return {
        "rounds": plan.rounds,
        "signatures": _best_signatures(measured.signatures),
        "rows": [_row(entry, case, measured) for case in CASES for entry in entries],
    }


def _best_signatures(rounds: Sequence[dict[str, signatures.Costs]]) -> dict[str, Any]:
    def each_round(size: str, route: str) -> list[float]:
        return [costs[size][route] for costs in rounds]

    return {
        size: {
            route: {
                "best": min(each_round(size, route)),
                "median": statistics.median(each_round(size, route)),
            }
            for route in costs
        }
        for size, costs in rounds[0].items()
    }


def _row(entry: Entry, case: Case, measured: Measured) -> dict[str, Any]:
    key = (entry.name, case.name)
    samples = measured.samples.get(key, [])
    row: dict[str, Any] = {
        "contestant": entry.name,
        "case": case.name,
        "signing": case.signing,
        "size": case.size,
        "missing": entry.missing or ("" if samples else measured.failures.get(key, "")),
        "failed_rounds": measured.failures.get(key, ""),
        "samples": samples,
    }
    if samples:
        for metric, better in METRICS.items():
            values = [sample[metric] for sample in samples]
            row[metric] = {"best": better(values), "median": statistics.median(values)}
    return row
