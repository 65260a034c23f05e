"""Whole nodes that find each other, over simulated TCP in virtual time."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from rumormill.core.machine import Subscribe
from rumormill.core.transport import Dial
from rumormill.libp2p.discovery.census import PubsubCensus
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.parameters import DiscoveryParameters
from rumormill.libp2p.discovery.way import Way
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.live.addresses import Multiaddrs
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.simulate import Link, Simulation
from tests.helpers.libp2p.host_net import key

TOPIC = "weather"


class DiscoveryNode:
    """What a test may want to look at of one node."""

    def __init__(
        self,
        name: str,
        source: random.Random,
        ways: Sequence[Way],
        host: dict[str, Any],
        gossipsub: dict[str, Any],
        discovery: dict[str, Any],
    ) -> None:
        identity = key(name)
        self.peer = identity.peer
        self.pubsub = Pubsub(
            node=identity.peer,
            author=identity,
            router=GossipsubRouter(GossipsubParameters.model_validate(gossipsub)),
            random=random.Random(source.random()),
            first_sequence=1,
        )
        self.ways = ways
        self.discovery: Discovery | None = None
        if ways:
            self.discovery = Discovery(
                node=identity.peer,
                ways=ways,
                census=PubsubCensus(self.pubsub),
                random=random.Random(source.random()),
                parameters=DiscoveryParameters(**discovery),
            )
        self.host = Host(
            identity=identity,
            pubsub=self.pubsub,
            parameters=HostParameters(**host),
            random=random.Random(source.random()),
            entropy=random.Random(source.random()),
            address_book=self.pubsub.address_book,
            discovery=self.discovery,
        )


class DiscoveryNet:
    """A simulation of such nodes, by name."""

    def __init__(self, seed: int = 1, latency: float = 0.02) -> None:
        self.simulation = Simulation(
            seed, level="transports", link=Link(latency=latency), addresses=Multiaddrs()
        )
        self.nodes: dict[str, DiscoveryNode] = {}

    def add(
        self,
        name: str,
        *ways: Way,
        address: str | None = None,
        host: dict[str, Any] | None = None,
        gossipsub: dict[str, Any] | None = None,
        discovery: dict[str, Any] | None = None,
    ) -> DiscoveryNode:
        """A node with these ways to find peers."""
        node = DiscoveryNode(
            name, self.simulation.random_for(name), ways, host or {}, gossipsub or {},
            discovery or {},
        )  # fmt: skip
        self.nodes[name] = node
        if address is None:
            self.simulation.add_node(name, node.host)
        else:
            self.simulation.add_node(name, node.host, address=address)
        return node

    def many(self, names: Sequence[str], make: Callable[[], Sequence[Way]], **more: Any) -> None:
        """Nodes that are made alike."""
        for name in names:
            self.add(name, *make(), **more)

    def dial(self, name: str, other: str, keep: bool = True) -> None:
        """Let a node dial another one by its address, which is all that it knows of it."""
        self.simulation.command(name, Dial(self.simulation.address(other), keep=keep))

    def subscribe(self, *names: str, topic: str = TOPIC) -> None:
        """Let nodes take part in a topic."""
        for name in names:
            self.simulation.command(name, Subscribe(topic))

    def run(self, seconds: float) -> None:
        """Let time pass."""
        self.simulation.run_for(seconds)

    def meshes(self, names: Sequence[str], topic: str = TOPIC) -> list[int]:
        """How large the mesh of each node is."""
        return [len(self.nodes[name].pubsub.mesh(topic)) for name in names]

    def events(self, event: str, name: str | None = None) -> list[Any]:
        """The trace events of one kind, of all nodes or one."""
        return [
            each
            for each in self.simulation.trace
            if each.event == event and (name is None or each.node == self.nodes[name].peer)
        ]
