"""A gathering: whole nodes that know one address each, on simulated TCP, and become one mesh.

The machines are those of a live node, from Noise to gossipsub: each byte that a node would send is
sent. What is modelled: the network (:class:`Link`), and the check of a signature (a delay).
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from rumormill.core import trace
from rumormill.core.machine import Publish, Published, Subscribe
from rumormill.core.trace import TraceEvent
from rumormill.core.transport import Dial, OpenTransport, WriteBytes
from rumormill.libp2p.discovery.census import PubsubCensus
from rumormill.libp2p.discovery.discovery import Discovery
from rumormill.libp2p.discovery.kademlia.kademlia import Kademlia
from rumormill.libp2p.discovery.kademlia.parameters import KademliaParameters
from rumormill.libp2p.discovery.remembered import BOOTSTRAP_FIRST, Remembered, RememberedPeer
from rumormill.libp2p.discovery.way import Way
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.live.addresses import Multiaddrs
from rumormill.libp2p.live.peers_file import FIRST_DELAY, INTERVAL
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.simulate import Churn, Link, Simulation
from tests.helpers.libp2p.host_net import key

TOPIC = "weather"
LINK = Link(latency=0.03, jitter=0.02)
"""30 to 50 ms one way."""
PORT = 4001
HEARTBEAT = 1.0
SETTLED = 10 * HEARTBEAT
"""Seconds after which a node should have a full mesh."""
BOOTSTRAP_NODE = {"D": 0, "D_low": 0, "D_high": 0, "D_out": 0, "D_lazy": 0, "D_score": 0}
"""A bootstrap node as gossipsub's specification has it: in no mesh, it names others to whoever
comes."""

Knows: TypeAlias = Literal["first", "any"]
"""Whom a node knows when it comes: always the same node, which is spared by churn; or any one of
those that were there before it, which may be away when it is needed."""


@dataclass
class Counts:
    """What all nodes did in some time."""

    packets: int = 0
    """Pubsub RPCs: subscriptions, GRAFT, PRUNE, gossip, messages."""
    bytes: int = 0
    """All that went to a transport, handshakes included."""
    dials: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


class Sample(NamedTuple):
    """How things stand at one time."""

    at: float
    alive: int
    settled: int
    """Nodes that have been there for ten heartbeats."""
    full: int
    """Those of them whose mesh is full."""
    parts: int
    """Into how many parts the mesh of all settled nodes falls; it should be one."""
    connections: float
    """Of a node, on average."""


class Gathering:
    """Nodes that come, find each other, crash, and come back."""

    def __init__(
        self,
        *,
        seed: int = 1,
        knows: Knows = "first",
        link: Link = LINK,
        gossipsub: dict[str, Any] | None = None,
        host: dict[str, Any] | None = None,
        first_gossipsub: dict[str, Any] | None = None,
        first_host: dict[str, Any] | None = None,
        pubsub: dict[str, Any] | None = None,
        kademlia: bool = False,
        remember: bool = False,
        keep_trace: bool = False,
    ) -> None:
        """``kademlia``: every node is a server of a DHT of their own. ``remember``: nodes keep
        their peers over a crash, as with a file that is written every so often.
        ``first_gossipsub``, ``first_host``: what is different with the first node.
        """
        self.simulation = Simulation(
            seed, start=1000.0, level="transports", link=link, addresses=Multiaddrs(),
            keep_trace=keep_trace, keep_deliveries=False, sink=self._take,
        )  # fmt: skip
        self.counts = Counts()
        self.came: dict[str, float] = {}
        """When each node came, or came back."""
        self.filled: dict[str, float] = {}
        """When its mesh was full for the first time since."""
        self.waits: list[float] = []
        """Seconds from coming to a full mesh, of every life."""
        self._copies: dict[bytes, set[str]] = {}
        """Who delivered each message."""
        self._expected: dict[bytes, set[str]] = {}
        """Who should have, of those that were there all the time."""
        self._knows = knows
        self._pubsub_keys = pubsub or {}
        self._kademlia = kademlia
        self._remember = remember
        self._memory: dict[str, tuple[RememberedPeer, ...]] = {}
        """What each node has in its file."""
        self._saved_next: dict[str, float] = {}
        self._memories: dict[str, Remembered] = {}
        self._gossipsub = {
            "heartbeat_interval": HEARTBEAT,
            "peer_exchange": True,
            **(gossipsub or {}),
        }
        self._first_gossipsub = {**self._gossipsub, **(first_gossipsub or {})}
        self._host, self._first_host = host or {}, {**(host or {}), **(first_host or {})}
        self._least = GossipsubParameters(**self._gossipsub).D_low
        self._chance = self.simulation.random_for("who knows whom")
        self._published = 0
        self._names: dict[str, str] = {}
        """The node of each peer id."""
        self._aloof: set[str] = set()
        """A bootstrap node: it is in no mesh."""
        self.churning: Churn | None = None
        self.simulation.on_effect(WriteBytes, self._on_write)
        self.simulation.on_effect(OpenTransport, self._on_open)

    # ---- who is there

    @property
    def names(self) -> list[str]:
        """All nodes, in the order of coming."""
        return self.simulation.names

    def join(self, nodes: int, seconds: float) -> None:
        """Let so many nodes come, one after the other, evenly within so many seconds."""
        simulation, first = self.simulation, len(self.names)
        for number in range(nodes):
            simulation.at(
                simulation.now + number * seconds / nodes,
                lambda number=number: self._come(first + number),  # type: ignore[misc]
            )

    def _come(self, number: int) -> None:
        name = f"node-{number:04}"
        source = self.simulation.random_for(name)
        address = f"/ip4/10.{number >> 16}.{number >> 8 & 255}.{number & 255}/tcp/{PORT}"
        others = self.names
        self.simulation.add_node(name, self._machine(name, source), address=address)
        self._begin(name, others)

    def _machine(self, name: str, source: random.Random) -> Host:
        identity = key(name)
        self._names[identity.peer] = name
        first = not self.names or name == self.names[0]
        gossipsub = self._first_gossipsub if first else self._gossipsub
        if gossipsub.get("D") == 0:
            self._aloof.add(name)
        pubsub = Pubsub(
            node=identity.peer,
            author=identity,
            router=GossipsubRouter(GossipsubParameters(**gossipsub)),
            random=random.Random(source.random()),
            parameters=PubsubParameters(**self._pubsub_keys),
            first_sequence=1 + int(self.simulation.now * 1000),
        )
        return Host(
            identity=identity,
            pubsub=pubsub,
            discovery=self._discovery(name, pubsub, source),
            parameters=HostParameters(**(self._first_host if first else self._host)),
            random=random.Random(source.random()),
            entropy=random.Random(source.random()),
            address_book=pubsub.address_book,
        )

    def _discovery(self, name: str, pubsub: Pubsub, source: random.Random) -> Discovery | None:
        ways: list[Way] = []
        if self._kademlia:
            ways.append(Kademlia(KademliaParameters(kademlia_mode="server")))
        if self._remember:
            peers = self._memory.get(name, ())
            memory = Remembered(peers, useful=pubsub.protocols, delay=BOOTSTRAP_FIRST)
            self._memories[name] = memory
            ways.append(memory)
        if not ways:
            return None
        return Discovery(
            node=key(name).peer,
            ways=ways,
            census=PubsubCensus(pubsub),
            random=random.Random(source.random()),
        )

    def _save(self) -> None:
        """What a living node's file would hold now, where it is due."""
        now = self.simulation.now
        for name, way in self._memories.items():
            if self.simulation.alive(name) and now >= self._saved_next[name]:
                self._saved_next[name] = now + INTERVAL
                self._memory[name] = way.state(now)

    def _begin(self, name: str, others: Sequence[str]) -> None:
        simulation = self.simulation
        self.came[name] = simulation.now
        self._saved_next[name] = simulation.now + FIRST_DELAY
        self.filled.pop(name, None)
        simulation.at(simulation.now, lambda: simulation.command(name, Subscribe(TOPIC)))
        if others:
            known = others[0] if self._knows == "first" else self._chance.choice(others)
            address = simulation.address(known)
            simulation.at(
                simulation.now, lambda: simulation.command(name, Dial(address, keep=True))
            )

    def churn(self, share: float, away: float) -> None:
        """From now on that share of the nodes crashes in a minute, and is back after ``away``
        seconds on average, without anything that it knew but its key and the one address.
        """
        spared = 1 if self._knows == "first" else 0
        self.churning = Churn(
            self.simulation, self.names[spared:], self._again,
            mean_uptime=60.0 / share, mean_downtime=away, returned=self._returned,
        )  # fmt: skip

    def _again(self, name: str, source: random.Random) -> Host:
        return self._machine(name, source)

    def _returned(self, name: str) -> None:
        others = [each for each in self.names if each != name]
        self._begin(name, others)

    # ---- what happens

    def run(self, seconds: float, tell: Callable[[float], object] | None = None) -> None:
        """Let time pass; ``tell`` hears every second that one has."""
        end = self.simulation.now + seconds
        while self.simulation.now < end:
            self.simulation.run_until(min(end, self.simulation.now + 1.0))
            self._save()
            if tell is not None:
                tell(1.0)

    def publish(self) -> None:
        """Let some node publish a message that no other equals."""
        alive = [
            each for each in self.names if self.simulation.alive(each) and each not in self._aloof
        ]
        name = self._chance.choice(alive)
        self._published += 1
        data = b"message %d" % self._published
        effects = self.simulation.command(name, Publish((TOPIC,), data))
        (published,) = [each for each in effects if isinstance(each, Published)]
        now = self.simulation.now
        self._expected[published.receipt.id] = {
            each for each in alive if now - self.came[each] >= SETTLED and each != name
        }

    def delivered(self) -> float:
        """The share of settled nodes that got a message, over all messages; who crashed since, or
        was in no mesh on purpose, does not count.
        """
        expected = missing = 0
        for message, names in self._expected.items():
            there = {each for each in names if self.simulation.alive(each)} - self._aloof
            expected += len(there)
            missing += len(there - self._copies.get(message, set()))
        return 1 - missing / expected if expected else 1.0

    def _take(self, event: TraceEvent) -> None:
        if event.event == trace.GRAFTED:
            name = self._names.get(event.node, "")
            if name and name not in self.filled and self._size(name) >= self._least:
                self.filled[name] = event.time
                self.waits.append(event.time - self.came[name])
        elif event.event == trace.PACKET_SENT:
            self.counts.packets += 1
        elif event.event == trace.DELIVERED:
            self._copies.setdefault(event.message_id or b"", set()).add(self._names[event.node])
        self.counts.kinds[event.event] += 1

    def _size(self, name: str) -> int:
        # The mesh holds the newcomer already when the event is told.
        return len(self.mesh(name))

    def _on_write(self, name: str, effect: WriteBytes) -> None:
        self.counts.bytes += len(effect.data)

    def _on_open(self, name: str, effect: OpenTransport) -> None:
        self.counts.dials += 1

    # ---- how things stand

    def mesh(self, name: str) -> tuple[str, ...]:
        """The peers in a node's mesh."""
        host: Host = self.simulation.machine(name)
        pubsub = host._pubsub
        assert isinstance(pubsub, Pubsub)
        return pubsub.mesh(TOPIC)

    def sample(self) -> Sample:
        """Look at everybody but a node that is in no mesh on purpose."""
        simulation = self.simulation
        alive = [name for name in self.names if simulation.alive(name) and name not in self._aloof]
        settled = [name for name in alive if simulation.now - self.came[name] >= SETTLED]
        full = sum(len(self.mesh(name)) >= self._least for name in settled)
        connections = sum(len(simulation.machine(name).peers()) for name in alive)
        return Sample(
            simulation.now, len(alive), len(settled), full, self._parts(settled),
            connections / max(1, len(alive)),
        )  # fmt: skip

    def _parts(self, names: Sequence[str]) -> int:
        """Into how many parts the mesh of these nodes falls."""
        wanted = set(names)
        neighbours: dict[str, set[str]] = {name: set() for name in names}
        for name in names:
            for peer in self.mesh(name):
                other = self._names[peer]
                if other in wanted:
                    neighbours[name].add(other)
                    neighbours[other].add(name)
        parts, left = 0, set(names)
        while left:
            parts += 1
            border = [left.pop()]
            while border:
                reached = neighbours[border.pop()] & left
                left -= reached
                border += reached
        return parts

    def take_counts(self) -> Counts:
        """What was counted so far; it begins anew."""
        counts, self.counts = self.counts, Counts()
        return counts
