"""randomsub: every message to some peers at random, about the square root of the network's nodes.

There is no mesh to keep and nothing to agree on: each node that gets a message throws the dice
anew. That costs more copies than a mesh and fewer than a flood, and a message may miss a node.
floodsub peers are guests who get everything. ``docs/writing-a-router.md`` walks through this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isqrt
from typing import ClassVar

from pydantic import Field

from rumormill.core.machine import Peer, PeerJoined
from rumormill.core.parameters import Parameters
from rumormill.libp2p.pubsub.floodsub import FLOODSUB
from rumormill.libp2p.pubsub.router import Router
from rumormill.libp2p.wire.message import WireMessage

RANDOMSUB = "/randomsub/1.0.0"


class RandomsubParameters(Parameters):
    """How many peers randomsub sends a message to.

    >>> RandomsubParameters(network_size=50).peers_per_message
    8
    """

    fewest_peers: int = Field(default=6, ge=1)
    """A message goes to so many peers at least, if there are so many."""
    network_size: int = Field(default=100, ge=1)
    """About how many nodes the network has: a message goes to the square root of it, rounded up, if
    that is more than ``fewest_peers``."""

    @property
    def peers_per_message(self) -> int:
        """How many peers each node sends a message to, if it has so many."""
        return max(self.fewest_peers, isqrt(self.network_size - 1) + 1)


class RandomsubRouter(Router):
    """Throws the dice for each message; pubsub sees to it that nobody gets it back or twice."""

    protocols: ClassVar[tuple[str, ...]] = (RANDOMSUB, FLOODSUB)

    def __init__(self, parameters: RandomsubParameters | None = None) -> None:
        self.parameters = parameters or RandomsubParameters()
        self._most = self.parameters.peers_per_message
        self._guests: dict[Peer, None] = {}
        """Peers that speak floodsub."""
        self._holders: Mapping[Peer, None] = {}
        """Who has the message that is about to be sent."""

    # ---- whom to send to

    def targets(self, message: WireMessage, own: bool, now: float) -> Iterable[Peer]:
        """All guests, and some of the others, none of whom has the message already."""
        guests, others = self._listeners(message.topics)
        lacking = [peer for peer in others if peer not in self._holders]
        chosen = self.pubsub.random.sample(lacking, min(self._most, len(lacking)))
        return guests + chosen

    def would_reach(self, topics: tuple[str, ...]) -> Iterable[Peer]:
        """As many as would be chosen, without throwing the dice."""
        guests, others = self._listeners(topics)
        return guests + others[: self._most]

    def mesh(self, topic: str) -> tuple[Peer, ...]:
        """Those that are left to no chance: guests, and everyone if they are few."""
        guests, others = self._listeners((topic,))
        return tuple(guests if len(others) > self._most else guests + others)

    def _listeners(self, topics: tuple[str, ...]) -> tuple[list[Peer], list[Peer]]:
        """Who listens to the topics: guests, and others."""
        peers = dict.fromkeys(peer for each in topics for peer in self.pubsub.subscribers(each))
        guests = [peer for peer in peers if peer in self._guests]
        return guests, [peer for peer in peers if peer not in self._guests]

    # ---- what happens

    def accepted(
        self, message: WireMessage, source: Peer | None, holders: Mapping[Peer, None], now: float
    ) -> None:
        """Told right before :meth:`targets`: no throw is to be lost on who has the message."""
        self._holders = holders

    def add_peer(self, joined: PeerJoined, now: float) -> None:
        """A peer is there; what it speaks decides what it is."""
        if joined.protocol == FLOODSUB:
            self._guests[joined.peer] = None

    def remove_peer(self, peer: Peer, now: float) -> None:
        """A peer is gone."""
        self._guests.pop(peer, None)

    def sizes(self) -> dict[str, int]:
        """How many guests there are."""
        return {"floodsub_peers": len(self._guests)}
