"""A standing whose scores a test sets, and that writes down what it is told."""

from __future__ import annotations

from typing import Any

from rumormill.core.machine import Peer
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter, Standing, Thresholds
from rumormill.libp2p.pubsub.router import PubsubServices
from tests.helpers.libp2p.workbench import Workbench


class FakeStanding(Standing):
    """Everybody is at 0 unless the test says otherwise; with ``price``, a penalty costs that."""

    def __init__(self, price: float = 0.0, **thresholds: float) -> None:
        self.thresholds = Thresholds(**thresholds)
        self.price = price
        self.scores: dict[Peer, float] = {}
        self.penalties: list[tuple[Peer, str, int]] = []
        self.links: list[tuple[str, Peer, str]] = []
        """``("grafted" or "pruned", peer, topic)``, in the order of telling."""

    def of(self, peer: Peer) -> float:
        return self.scores.get(peer, 0.0)

    def penalise(self, peer: Peer, reason: str, count: int = 1) -> None:
        self.penalties.append((peer, reason, count))
        self.scores[peer] = self.of(peer) - self.price * count

    def grafted(self, peer: Peer, topic: str, now: float) -> None:
        self.links.append(("grafted", peer, topic))

    def pruned(self, peer: Peer, topic: str, now: float) -> None:
        self.links.append(("pruned", peer, topic))


class JudgingRouter(GossipsubRouter):
    """gossipsub with a standing of the test's own."""

    def __init__(self, judge: Standing, parameters: GossipsubParameters) -> None:
        super().__init__(parameters)
        self.judge = judge

    def make_standing(self, pubsub: PubsubServices) -> Standing:
        return self.judge


def judged(
    seed: int = 1, price: float = 0.0, answer_checks: bool = True, **parameters: Any
) -> tuple[Workbench, FakeStanding]:
    """A bench with such a router, and its standing."""
    standing = FakeStanding(price)
    router = JudgingRouter(standing, GossipsubParameters(**parameters))
    return Workbench(router, seed=seed, answer_checks=answer_checks), standing
