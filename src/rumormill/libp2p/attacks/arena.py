"""The arena: honest nodes and attackers on one network in virtual time, from a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from rumormill.core.machine import Peer, Publish, Subscribe
from rumormill.core.topic import Capabilities
from rumormill.core.trace import TraceEvent
from rumormill.libp2p.attacks.catalogue import find_attack
from rumormill.libp2p.attacks.honest import RATE, TOPIC, honest_node, usual_score, verdict
from rumormill.libp2p.attacks.outcome import Ledger, Outcome, outcome, standings
from rumormill.libp2p.attacks.scenario import Scenario
from rumormill.libp2p.attacks.sybil import Orders
from rumormill.libp2p.gossipsub.score import ScoreParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.simulate import Link, Simulation, topology
from rumormill.simulate.randomness import derive_random

HONEST_LINK: Final = Link(latency=0.05, jitter=0.005)
"""A round trip of 100 ms, as in the report that our figures are held against."""
HOSTILE_LINK: Final = Link(latency=0.01, jitter=0.001, bandwidth=2_000_000)
"""Attackers stand nearer than anybody, so that they come first."""
DIALS = 6
"""Honest nodes that each honest node dials."""
SETTLED = 3.0
"""Seconds that the honest nodes have before the first message."""
LAST_WORDS = 5.0
"""Seconds without a new message at the end, so that each has time to arrive."""
PAYLOAD = 64
START = 100.0
"""When the honest nodes come; attackers may be there before."""


class Size(NamedTuple):
    """How large a run is."""

    nodes: int = 24
    sybils: int = 20
    """For each honest node, or for all together where a few are enough."""
    seconds: float | None = None
    """How long it lasts, if not as long as the scenario says."""


class Arena:
    """One run of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        size: Size,
        seed: int = 1,
        *,
        score: ScoreParameters | None,
        sink: Callable[[TraceEvent], object] | None = None,
    ) -> None:
        self.scenario = scenario
        self.size = size
        self._seed = seed
        self._score = score
        self._sink = sink
        self._chance = derive_random(seed, "arena", scenario.name)
        count = scenario.attackers(size.nodes, size.sybils)
        self.honest = [f"node{number:03}" for number in range(size.nodes)]
        self.attackers = [f"sybil{number:04}" for number in range(count)]
        self.publishers = self.honest[: max(1, round(size.nodes * scenario.publishers))]
        self.ledger = Ledger(self.honest, self.victim, scenario, self._measured_from())
        self._known = frozenset(self.honest)
        self.simulation = Simulation(
            seed, START + min(0.0, scenario.joins), link=HONEST_LINK, check=verdict,
            sink=self._take, keep_deliveries=False, capabilities=Capabilities(1024 * 1024 - 1024),
        )  # fmt: skip
        self._published = 0

    def _measured_from(self) -> float:
        """From the first harm on."""
        scenario = self.scenario
        return START + max(scenario.meets + SETTLED, scenario.joins, scenario.begins)

    def _take(self, event: TraceEvent) -> None:
        """Attackers trace nothing, or nobody would be shown it."""
        if event.node in self._known:
            self.ledger.take(event)
            if self._sink is not None:
                self._sink(event)

    # ---- the run

    @property
    def seconds(self) -> float:
        """How long it lasts, from when the honest nodes come."""
        return self.scenario.seconds if self.size.seconds is None else self.size.seconds

    def run(self, tell: Callable[[float], object] | None = None) -> Outcome:
        """Let it happen; ``tell`` hears every second which part of it is done."""
        simulation, scenario = self.simulation, self.scenario
        self._add_attackers()
        if scenario.joins <= 0:
            self._add_honest_at_start()
        else:
            self._add_honest()
            simulation.at(START + scenario.joins, self._connect_attackers)
        simulation.at(START + scenario.meets + SETTLED, self._publish)
        end = START + self.seconds
        while simulation.now < end:
            simulation.run_until(min(end, simulation.now + 1.0))
            if tell is not None:
                tell((simulation.now - START) / self.seconds)
        sizes = (len(self.honest), len(self.attackers))
        return outcome(scenario, sizes, self.ledger, standings(self._attacked(), self.attackers))

    def _attacked(self) -> Iterator[Pubsub]:
        """The machines of the nodes that attackers dial."""
        for name in self._attackable():
            yield self.simulation.machine(name)

    def _attackable(self) -> list[Peer]:
        match self.scenario.target:
            case "one":
                return [self.victim]
            case "publishers":
                return self.publishers
            case _:
                return self.honest

    def _add_honest_at_start(self) -> None:
        """Attackers are there already, so honest nodes are dialed by them as soon as they come."""

        def come() -> None:
            self._add_honest()
            self._connect_attackers()

        self.simulation.at(START, come)

    def _add_honest(self) -> None:
        simulation, scenario = self.simulation, self.scenario
        for number, name in enumerate(self.honest):
            machine = honest_node(
                name, simulation.random_for(name), self._score,
                dict(scenario.gossipsub), dict(scenario.pubsub),
            )  # fmt: skip
            simulation.add_node(name, machine, address=_address(10, number))
            simulation.command(name, Subscribe(TOPIC))
        if scenario.meets:
            simulation.at(START + scenario.meets, self._connect_honest)
        else:
            self._connect_honest()

    def _connect_honest(self) -> None:
        dials = min(DIALS, len(self.honest) - 1)
        for a, b in topology.random_dials(self.honest, dials, self._chance):
            self.simulation.connect(a, b)

    # ---- attackers

    def _add_attackers(self) -> None:
        scenario = self.scenario
        if scenario.attacker is None:
            return
        for number, name in enumerate(self.attackers):
            chance = derive_random(self._seed, "attacker", name)
            orders = Orders(name, TOPIC, self.victim, START + scenario.begins, chance)
            place = number % scenario.addresses if scenario.addresses else number
            self.simulation.add_node(name, scenario.attacker(orders), address=_address(11, place))

    @property
    def victim(self) -> Peer:
        """The node that the attack is about, if it is about one."""
        return self.honest[0]

    def _connect_attackers(self) -> None:
        """Attackers dial, and honest nodes dial those that they were told of."""
        pairs: dict[tuple[Peer, Peer], None] = {}
        dialed = min(self.scenario.dialed, len(self.attackers))
        for name in self.honest:
            for other in self._chance.sample(self.attackers, dialed):
                pairs[name, other] = None
        for name in self.attackers:
            for other in self._targets():
                if (other, name) not in pairs:
                    pairs[name, other] = None
        for a, b in pairs:
            self.simulation.connect(a, b, HOSTILE_LINK)

    def _targets(self) -> list[Peer]:
        found = self._attackable()
        if len(found) == 1:
            return found
        return self._chance.sample(found, min(self.scenario.dials, len(found)))

    # ---- messages

    def _publish(self) -> None:
        """One of the publishers has its turn, and the next one is due."""
        now = self.simulation.now
        if now > START + self.seconds - LAST_WORDS:
            return
        name = self.publishers[self._published % len(self.publishers)]
        self._published += 1
        data = b"%08d" % self._published + bytes(PAYLOAD)
        self.simulation.command(name, Publish((TOPIC,), data))
        self.simulation.at(now + 1 / RATE, self._publish)


def _address(first: int, number: int) -> str:
    return f"/ip4/{first}.{number >> 16}.{number >> 8 & 255}.{number & 255}/tcp/4001"


USUAL: Any = object()


def run_attack(
    name: str,
    *,
    nodes: int = 24,
    sybils: int = 20,
    seed: int = 1,
    seconds: float | None = None,
    score: ScoreParameters | None = USUAL,
    sink: Callable[[TraceEvent], object] | None = None,
    tell: Callable[[float], object] | None = None,
) -> Outcome:
    """Run one attack of the catalogue. ``score=None`` leaves the honest nodes without a score."""
    given = usual_score() if score is USUAL else score
    size = Size(nodes, sybils, seconds)
    return Arena(find_attack(name), size, seed, score=given, sink=sink).run(tell)
