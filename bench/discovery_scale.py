"""Many libp2p nodes in virtual time that know one address each: do they become one mesh, how soon,
at what cost?

The machines are those of a live node, from Noise to gossipsub, peer exchange and the file of peers.
A tenth of the nodes crashes each minute and comes back. Nothing is timed, all is counted, so it is
the same on every computer; only what the simulation itself costs depends on the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.progress import Progress
from rumormill.simulate.metrics import percentiles
from tests.helpers.libp2p.gathering import BOOTSTRAP_NODE, HEARTBEAT, LINK, Gathering, Knows, Sample

Row = dict[str, Any]

ROOM = {"max_connections": 4000, "max_connections_per_address": 4000}
"""Of a bootstrap node: everybody's first connection goes there."""


class Case(NamedTuple):
    """One network."""

    nodes: int
    knows: Knows
    joining: float = 60.0
    """Seconds in which all nodes come, one after the other."""
    remember: bool = True
    """Whether nodes keep a file of peers."""
    kademlia: bool = False
    """Whether they find each other by Kademlia, too."""
    seed: int = 1

    @property
    def words(self) -> str:
        """What it is called in tables."""
        known = "one bootstrap node" if self.knows == "first" else "any one node"
        return known

    @property
    def ways(self) -> str:
        """How its nodes find each other."""
        ways = ["exchange"]
        ways += ["kademlia"] if self.kademlia else []
        ways += ["remembered"] if self.remember else []
        return ", ".join(ways)


@dataclass(frozen=True)
class DiscoveryPlan:
    """Which networks, and what happens in each."""

    cases: tuple[Case, ...] = (
        Case(1000, "first"),
        Case(100, "first", joining=10.0),
        Case(100, "first", joining=10.0, remember=False),
        Case(100, "any", joining=10.0),
        Case(100, "any", joining=10.0, kademlia=True),
    )
    churn: float = 0.10
    """Share of the nodes that crash in a minute."""
    away: float = 60.0
    """Seconds until they are back, on average."""
    churning: float = 120.0
    """Seconds of churn."""
    messages: int = 20
    """That are published in these seconds, by any node."""


QUICK = DiscoveryPlan(
    cases=(Case(40, "first", joining=4.0), Case(20, "any", joining=2.0, kademlia=True)),
    churning=30.0,
    messages=5,
)


async def run(plan: DiscoveryPlan, progress: Progress) -> Row:
    """Simulate; returns the part ``discovery`` of the results."""
    seconds = sum(round(case.joining + 10 + plan.churning) for case in plan.cases)
    progress.begin("discovery", seconds // 10)
    rows = []
    for case in plan.cases:
        rows.append(
            measure(case, plan, Ticks(progress, f"{case.nodes} nodes, {case.words}, {case.ways}"))
        )
    return {
        "rows": rows,
        "churn": plan.churn,
        "away": plan.away,
        "churning": plan.churning,
        "heartbeat": HEARTBEAT,
        "latency": LINK.latency,
        "jitter": LINK.jitter,
    }


class Ticks:
    """A step of the progress bar for every ten seconds of virtual time."""

    def __init__(self, progress: Progress, words: str) -> None:
        self._progress = progress
        self._words = words
        self._seconds = 0.0

    def __call__(self, seconds: float) -> None:
        """So much time has passed."""
        if int((self._seconds + seconds) / 10) > int(self._seconds / 10):
            self._progress.step(f"discovery: {self._words}, {self._seconds + seconds:.0f} s")
        self._seconds += seconds


def measure(case: Case, plan: DiscoveryPlan, tell: Callable[[float], object]) -> Row:
    """One network, from its first node to the end of the churn."""
    began = time.process_time()
    first = case.knows == "first"
    gathering = Gathering(
        seed=case.seed, knows=case.knows, remember=case.remember,
        first_gossipsub=BOOTSTRAP_NODE if first else {}, first_host=ROOM if first else {},
        pubsub={"trace_packets": True}, kademlia=case.kademlia,
    )  # fmt: skip
    gathering.join(case.nodes, case.joining)
    gathering.run(case.joining, tell)
    gathering.run(10.0, tell)
    together = gathering.sample()
    waits, gathering.waits = gathering.waits, []
    to_join = gathering.take_counts()
    gathering.churn(plan.churn, plan.away)
    samples = _under_churn(gathering, plan, tell)
    churning = gathering.take_counts()
    assert gathering.churning is not None
    alive = samples[-1].alive
    minutes = plan.churning / 60
    return {
        "nodes": case.nodes, "known": case.words, "ways": case.ways, "seed": case.seed,
        "full": together.full, "settled": together.settled, "parts": together.parts,
        "connections": samples[-1].connections,
        **_waits("join", waits), **_waits("return", gathering.waits),
        "crashes": gathering.churning.leaves, "returns": gathering.churning.returns,
        "worst_full": min(each.full / each.settled for each in samples),
        "most_parts": max(each.parts for each in samples),
        "delivered": gathering.delivered(),
        "packets_to_join": to_join.packets / case.nodes,
        "bytes_to_join": to_join.bytes / case.nodes,
        "dials_to_join": to_join.dials / case.nodes,
        "packets_a_minute": churning.packets / alive / minutes,
        "bytes_a_minute": churning.bytes / alive / minutes,
        "dials_a_minute": churning.dials / alive / minutes,
        "cpu_seconds": time.process_time() - began,
        "simulated_seconds": case.joining + 10.0 + plan.churning,
    }  # fmt: skip


def _under_churn(
    gathering: Gathering, plan: DiscoveryPlan, tell: Callable[[float], object]
) -> list[Sample]:
    """Let nodes come and go, publish, and look at them every ten seconds."""
    samples = []
    steps = round(plan.churning / 10)
    for step in range(steps):
        for _ in range(plan.messages // steps + (step < plan.messages % steps)):
            gathering.publish()
        gathering.run(10.0, tell)
        samples.append(gathering.sample())
    return samples


def _waits(name: str, waits: Sequence[float]) -> Row:
    """How long it took to a full mesh, in seconds."""
    if not waits:
        return {f"{name}_{which}": None for which in ("50", "99", "max")}
    found = percentiles(waits, (50, 99))
    return {f"{name}_50": found[50], f"{name}_99": found[99], f"{name}_max": max(waits)}
