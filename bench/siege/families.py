"""The families under siege: their attacks, their contestants, and who is honest there."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.contestants import Entry
from bench.siege import nodes
from bench.siege.honest import DhtUsers, GossipsubPair, Honest, HttpClient, Load, MainDhtUsers
from bench.siege.nodes import Contestant, Node

CALM = "calm"
"""The row without an attack."""


@dataclass(frozen=True)
class Attack:
    """One kind of attack."""

    name: str
    review: str
    """The row of the adversary's table that it is of."""
    most_attackers: int = 8
    """With how many it says something new."""


@dataclass(frozen=True)
class Family:
    """What is attacked, by which program, and measured by whom."""

    name: str
    attacks: tuple[Attack, ...]
    contestants: Callable[[Sequence[Entry]], list[Contestant]]
    load: Load
    announced: float
    """Seconds in which the attacker says that it begins; then it is taken to have begun."""
    counts: bool = True
    """Whether its attacker can be several."""
    prepares: bool = False
    """Whether its attacker says when it is ready, and waits for a word."""
    held_before: tuple[str, ...] = ()
    """Attacks that take the places of those who come later: there the honest side comes last."""

    @property
    def attacker(self) -> str:
        """The module of its attackers."""
        return f"bench.siege.attackers.{self.name}"

    def missing(self) -> str:
        """Why it cannot be attacked, if so."""
        found = importlib.util.find_spec(self.attacker)
        return "" if found else f"there is no {self.attacker}"

    def honest(self, contestant: Contestant, node: Node) -> Honest:
        """Its honest side, at this node."""
        if self.name == "bep50":
            return MainDhtUsers(node) if contestant.name == "libtorrent" else DhtUsers(node)
        return HttpClient(node) if self.name == "http" else GossipsubPair(node)

    def options(self, contestant: Contestant) -> list[str]:
        """What the attacker has to know of whom it attacks."""
        return ["--main"] if contestant.name == "libtorrent" else []

    def target(self, node: Node) -> str:
        """What the attacker is told."""
        return node.http if self.name == "http" else node.address


OTHER = "other"
"""Attacks of which the review has no row."""


def _attacks(**reviews: str) -> tuple[Attack, ...]:
    return tuple(
        Attack(name, review, most_attackers=1 if review == OTHER else 8)
        for review, names in reviews.items()
        for name in names.split()
    )


FAMILIES = (
    Family(
        "gossipsub",
        _attacks(
            A3="iwant empty-subscriptions unknown-grafts backoff-grafts toggles",
            A5="p384 rsa-forged",
            A6="ed25519",
            A7="half-open idle",
            A9="iwant-large",
            other="yamux-small yamux-windows yamux-pings",
        ),
        nodes.gossipsub_contestants,
        Load(),
        announced=30.0,
        held_before=("half-open", "idle"),
        prepares=True,
    ),
    Family(
        "bep50",
        _attacks(A1="nested pings", A8="distinct-topics forged-puts queries"),
        nodes.bep50_contestants,
        Load(count=60, rate=12.0, size=64, patience=2.0),
        announced=30.0,
    ),
    Family(
        "http",
        _attacks(A2="silent half-header half-body", A12="nested-json", A4="compressed-batch"),
        nodes.http_contestants,
        Load(count=60, rate=12.0, patience=5.0),
        announced=1.5,
        counts=False,
    ),
)
