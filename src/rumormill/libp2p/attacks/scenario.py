"""What an attack is: who attacks, how many, from when on, and what must hold all the same."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from rumormill.libp2p.attacks.sybil import Sybil

NOTHING: Mapping[str, Any] = MappingProxyType({})

REPORTED_P99 = 1.6
"""Seconds. The evaluation report of gossipsub 1.1 (Protocol Labs, 2020) has 99 % of all deliveries
within this, with 40 Sybils for each honest node; a baseline without attackers has 0.165."""


class PassFigures(NamedTuple):
    """What the honest nodes must reach for the attack to have failed."""

    delivered: float = 1.0
    """Of all deliveries among honest nodes."""
    p99: float = REPORTED_P99
    """Seconds within which 99 % of them took place."""
    mesh_share: float = 1.0
    """Of the places in honest meshes, what attackers may have at the end."""
    attackers_below: float | None = None
    """The attackers' median score must be below this."""
    honest_above: float = -10.0
    """No honest node may have a worse score: below it, gossip would not be believed."""
    repeats: int = 0
    """Messages that were delivered twice by a node."""
    defence: str = ""
    """The reason in the trace by which the defence speaks: without it nothing was attacked."""
    entries: int = 200_000
    """Entries in the largest table of any node: memory is bounded."""


class Scenario(NamedTuple):
    """One attack."""

    name: str
    does: str
    """What the attackers do, in a sentence."""
    stopped_by: str
    """What stops them."""
    attacker: type[Sybil] | None
    figures: PassFigures
    many: bool = False
    """Whether there are so many Sybils for *each* honest node, or as many for one. Of spammers,
    ``few`` are enough."""
    few: int = 0
    """How many attackers there are at most; 0: any number."""
    target: Literal["one", "all", "publishers"] = "all"
    """Whom they dial: one victim, everybody, or those who publish."""
    publishers: float = 1.0
    """The share of the honest nodes that publish; the others only listen."""
    counted: Literal["all", "to_victim", "of_victim"] = "all"
    """Which deliveries count: all, those to the victim, or those of what it publishes."""
    dials: int = 5
    """How many honest nodes each of them dials."""
    dialed: int = 0
    """How many of them each honest node dials: its list of peers is theirs."""
    joins: float = 5.0
    """Seconds after the honest nodes at which they come; negative: before."""
    meets: float = 0.0
    """Seconds that honest nodes are there before they dial each other."""
    begins: float = 5.0
    """When they begin to do harm; until then they only hold their places."""
    seconds: float = 40.0
    addresses: int = 0
    """How many addresses they share; 0: each has its own."""
    gossipsub: Mapping[str, Any] = NOTHING
    pubsub: Mapping[str, Any] = NOTHING
    """Parameters of the honest nodes that are not as they stand."""
    alerts: tuple[str, ...] = ()
    """The kinds of alerts (docs/alerts.md) that it raises, as a test shows."""

    def attackers(self, nodes: int, sybils: int) -> int:
        """How many attackers there are."""
        if self.attacker is None:
            return 0
        count = sybils * nodes if self.many else sybils
        return min(count, self.few) if self.few else count
