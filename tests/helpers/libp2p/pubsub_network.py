"""Networks of many pubsub machines in virtual time; signatures cost nothing there."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from rumormill.core.machine import Publish, Published, Subscribe, Unsubscribe
from rumormill.core.receipt import Receipt
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE, ScoreParameters
from rumormill.libp2p.pubsub.floodsub import FloodsubRouter
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.pubsub.randomsub import RandomsubParameters, RandomsubRouter
from rumormill.libp2p.pubsub.router import Router
from rumormill.simulate import Link, Simulation

Kind: TypeAlias = Literal["gossipsub", "floodsub", "randomsub"]

TOPIC = "weather"


class Unsigned:
    """An author whose id is its name and whose signature is worth nothing."""

    def __init__(self, name: str) -> None:
        self.peer_id = name.encode()

    def sign(self, payload: bytes) -> bytes:
        return bytes(64)


def machine(
    name: str,
    entropy: random.Random,
    kind: Kind = "gossipsub",
    gossipsub: dict[str, Any] | None = None,
    score: ScoreParameters | None = DEFAULT_SCORE,
    **parameters: Any,
) -> Pubsub:
    """The pubsub machine of one node."""
    router: Router = FloodsubRouter()
    if kind == "randomsub":
        router = RandomsubRouter(RandomsubParameters(network_size=50))
    elif kind == "gossipsub":
        router = GossipsubRouter(GossipsubParameters(**(gossipsub or {})), score)
    return Pubsub(
        node=name,
        author=Unsigned(name),
        router=router,
        random=entropy,
        parameters=PubsubParameters(**parameters),
        network="test",
        name_of=bytes.decode,
    )


class PubsubNetwork:
    """Nodes with names, links between them, and a count of what arrived where."""

    def __init__(
        self,
        names: Iterable[str],
        pairs: Iterable[tuple[str, str]] = (),
        *,
        seed: int = 1,
        kinds: dict[str, Kind] | None = None,
        kind: Kind = "gossipsub",
        link: Link | None = None,
        gossipsub: dict[str, Any] | None = None,
        score: ScoreParameters | None = DEFAULT_SCORE,
        keep: bool = True,
        **parameters: Any,
    ) -> None:
        self.simulation = Simulation(
            seed, link=link or Link(latency=0.02), keep_trace=keep, keep_deliveries=keep
        )
        self.names = list(names)
        self._kinds, self._kind = kinds or {}, kind
        self._gossipsub, self._parameters, self._score = gossipsub, parameters, score
        self._published = 0
        for name in self.names:
            self.simulation.add_node(name, self.machine(name))
        self.connect(pairs)

    def machine(self, name: str, entropy: random.Random | None = None) -> Pubsub:
        """A new machine for a node, for its first life or another one."""
        return machine(
            name,
            entropy or self.simulation.random_for(name),
            self._kinds.get(name, self._kind),
            self._gossipsub,
            self._score,
            **self._parameters,
        )

    def node(self, name: str) -> Pubsub:
        found: Pubsub = self.simulation.machine(name)
        return found

    def connect(self, pairs: Iterable[tuple[str, str]]) -> None:
        for a, b in pairs:
            self.simulation.connect(a, b)

    # ---- what nodes do

    def subscribe(self, names: Iterable[str] | None = None, topic: str = TOPIC) -> None:
        for name in self.names if names is None else names:
            self.simulation.command(name, Subscribe(topic))

    def unsubscribe(self, names: Iterable[str], topic: str = TOPIC) -> None:
        for name in names:
            self.simulation.command(name, Unsubscribe(topic))

    def publish(self, name: str, topic: str = TOPIC, data: bytes | None = None) -> Receipt:
        """Publish a message that no other equals."""
        self._published += 1
        data = b"message %d" % self._published if data is None else data
        effects = self.simulation.command(name, Publish((topic,), data))
        (published,) = [each for each in effects if isinstance(each, Published)]
        return published.receipt

    def run(self, seconds: float) -> None:
        self.simulation.run_for(seconds)

    # ---- what came of it

    def got(self, receipt: Receipt) -> list[str]:
        """The nodes that delivered the message, each once for every time it did."""
        return [
            name
            for name in self.names
            for message in self.simulation.deliveries[name]
            if message.id == receipt.id
        ]

    def all_got(self, receipts: Sequence[Receipt], names: Sequence[str] | None = None) -> bool:
        """Whether each of these nodes delivered each message, and each exactly once."""
        wanted = Counter(dict.fromkeys(self.names if names is None else names, 1))
        return all(Counter(self.got(each)) == wanted for each in receipts)

    def degrees(self, topic: str = TOPIC) -> dict[str, int]:
        """The size of each living node's mesh."""
        return {
            name: len(self.node(name).mesh(topic))
            for name in self.names
            if self.simulation.alive(name)
        }

    def one_sided(self, topic: str = TOPIC) -> list[tuple[str, str]]:
        """Mesh links that only one of the two sides knows of."""
        return [
            (name, peer)
            for name in self.names
            for peer in self.node(name).mesh(topic)
            if name not in self.node(peer).mesh(topic)
        ]


def names(count: int) -> list[str]:
    return [f"node{index:02}" for index in range(count)]
