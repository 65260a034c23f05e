"""What came of an attack: deliveries among honest nodes, how long they took, scores and places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from rumormill.core import trace
from rumormill.core.machine import Peer
from rumormill.core.percentiles import percentile
from rumormill.core.trace import TraceEvent
from rumormill.libp2p.attacks.honest import TOPIC
from rumormill.libp2p.attacks.scenario import PassFigures, Scenario
from rumormill.libp2p.gossipsub import GossipsubRouter
from rumormill.libp2p.pubsub.pubsub import Pubsub


class Outcome(NamedTuple):
    """The figures of one run; times in seconds, None where there is nothing to measure."""

    attack: str
    nodes: int
    sybils: int
    published: int
    delivered: float
    """Of the deliveries to honest nodes that should have been; 1.0 is all."""
    p50: float | None
    p99: float | None
    worst_honest: float | None
    """The lowest score that an honest node has with another at the end."""
    attackers_median: float | None
    """The score that attackers have at the end, the one in the middle."""
    attackers_left: int
    """Connections to attackers that are still there."""
    in_meshes: int
    """Places that attackers have in honest meshes at the end."""
    mesh_share: float
    """The same, of all places."""
    repeats: int
    """Messages that a node delivered more than once."""
    entries: int
    """In the largest table of any honest node, at the end."""
    defended: int
    """How often the defence that the scenario is about spoke in the trace."""
    failures: tuple[str, ...]
    """What fell short of the scenario's figures, a sentence each."""

    @property
    def passed(self) -> bool:
        """Whether the honest nodes reached their figures."""
        return not self.failures

    def to_json(self) -> dict[str, Any]:
        """The fields of one line of JSON."""
        return {**self._asdict(), "failures": list(self.failures), "passed": self.passed}


class Ledger:
    """Listens to the trace: who published what when, and who delivered it."""

    def __init__(
        self, honest: Iterable[Peer], victim: Peer, scenario: Scenario, since: float
    ) -> None:
        # Sets, as they are asked for membership only.
        self._honest = frozenset(honest)
        one = frozenset((victim,))
        self._publishers = one if scenario.counted == "of_victim" else self._honest
        self._receivers = one if scenario.counted == "to_victim" else self._honest
        self._defence = scenario.figures.defence
        self._since = since
        self._published: dict[bytes, TraceEvent] = {}
        self._deliveries: dict[tuple[bytes, Peer], None] = {}
        self.latencies: list[float] = []
        self.repeats = 0
        self.defended = 0
        """How often the defence of the scenario spoke."""

    def take(self, event: TraceEvent) -> None:
        """One more event of an honest node."""
        if event.event == trace.DELIVERED:
            self._deliver(event)
        elif event.event == trace.PUBLISHED:
            if event.time >= self._since and event.node in self._publishers:
                assert event.message_id is not None
                self._published.setdefault(event.message_id, event)
        elif self._defence and self._defence in str(event.fields.get("reason", "")):
            self.defended += 1

    def _deliver(self, event: TraceEvent) -> None:
        assert event.message_id is not None
        origin, key = self._published.get(event.message_id), (event.message_id, event.node)
        if key in self._deliveries:
            self.repeats += 1
            return
        self._deliveries[key] = None
        if origin is not None and origin.node != event.node and event.node in self._receivers:
            self.latencies.append(event.time - origin.time)

    @property
    def published(self) -> int:
        """How many messages count."""
        return len(self._published)

    def delivered(self) -> float:
        """The share of what should have arrived."""
        expected = sum(
            len(self._receivers) - (each.node in self._receivers)
            for each in self._published.values()
        )
        return len(self.latencies) / expected if expected else 1.0


class Standings(NamedTuple):
    """What the honest nodes think and hold at the end."""

    honest: list[float]
    """Scores of honest nodes with each other, the lowest first."""
    attackers: list[float]
    in_meshes: int
    places: int
    entries: int


def standings(nodes: Iterable[Pubsub], attackers: Iterable[Peer]) -> Standings:
    """Ask every honest node for its scores, its mesh and its tables."""
    bad = frozenset(attackers)
    honest: list[float] = []
    others: list[float] = []
    in_meshes = places = entries = 0
    for node in nodes:
        assert isinstance(node.router, GossipsubRouter)
        of = node.router.standing.of
        mesh = node.mesh(TOPIC)
        places += len(mesh)
        in_meshes += sum(peer in bad for peer in mesh)
        honest += [of(peer) for peer in node.peers if peer not in bad]
        others += [of(peer) for peer in node.peers if peer in bad]
        entries = max(entries, *node.sizes().values())
    return Standings(sorted(honest), sorted(others), in_meshes, places, entries)


def outcome(scenario: Scenario, sizes: tuple[int, int], ledger: Ledger, end: Standings) -> Outcome:
    """Put the figures together, and hold them against those of the scenario."""
    nodes, sybils = sizes
    ordered = sorted(ledger.latencies)
    found = Outcome(
        attack=scenario.name,
        nodes=nodes,
        sybils=sybils,
        published=ledger.published,
        delivered=ledger.delivered(),
        p50=percentile(ordered, 0.5),
        p99=percentile(ordered, 0.99),
        worst_honest=end.honest[0] if end.honest else None,
        attackers_median=percentile(end.attackers, 0.5),
        attackers_left=len(end.attackers),
        in_meshes=end.in_meshes,
        mesh_share=end.in_meshes / end.places if end.places else 0.0,
        repeats=ledger.repeats,
        entries=end.entries,
        defended=ledger.defended,
        failures=(),
    )
    return found._replace(failures=tuple(_failures(found, scenario.figures)))


def _failures(found: Outcome, figures: PassFigures) -> Iterable[str]:
    if found.delivered < figures.delivered:
        yield f"delivered {found.delivered:.3%} of {figures.delivered:.3%}"
    if found.p99 is None or found.p99 > figures.p99:
        yield f"p99 is {found.p99} s, above {figures.p99} s"
    if found.mesh_share > figures.mesh_share:
        yield f"attackers have {found.mesh_share:.0%} of the meshes, above {figures.mesh_share:.0%}"
    median, below = found.attackers_median, figures.attackers_below
    if below is not None and median is not None and median >= below:
        yield f"the attackers' median score is {median:.3g}, not below {below:g}"
    if found.worst_honest is not None and found.worst_honest < figures.honest_above:
        yield f"an honest score is {found.worst_honest:.3g}, below {figures.honest_above:g}"
    if figures.defence and not found.defended:
        yield f"nothing was traced as {figures.defence}"
    if found.repeats > figures.repeats:
        yield f"{found.repeats} messages were delivered again"
    if found.entries > figures.entries:
        yield f"a table has {found.entries} entries, above {figures.entries}"
