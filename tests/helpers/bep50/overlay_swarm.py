"""A swarm: the overlay of one topic with many nodes in virtual time, and who got what when.

The machines are those of a live node. What is modelled: the network (:class:`Link`), the check of a
signature (a delay), and the main DHT (a newcomer is given some addresses of nodes that have
announced themselves, whether they are still there or not).
"""

from __future__ import annotations

import hashlib
import math
import random
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rumormill.bep50.effects import Contact, ContactEnded, Publish, Restore
from rumormill.bep50.overlay.node import OverlayNode
from rumormill.bep50.overlay.parameters import OverlayParameters
from rumormill.bep50.overlay.saved import saved_state
from rumormill.bep50.overlay.saved.saved_state import SavedTopic
from rumormill.bep50.wire.addresses import NodeInfo
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.topics import TopicName
from rumormill.core.machine import Deliver, Send, Subscribe
from rumormill.core.transport import Listening
from rumormill.simulate import Churn, Link, Simulation
from rumormill.simulate.metrics import percentiles

LINK = Link(latency=0.02, jitter=0.1, loss=0.05)
"""20 to 120 ms one way, and every twentieth datagram is lost."""

IN_TIME = 10.0
"""Seconds within which a new value should be everywhere."""

VALUE_MARK = b"3:sig64:"
"""Of the packets that carry a value: put, and the answer to a get that asked for a newer one."""


@dataclass
class Publication:
    """One new value, and what became of it."""

    seq: int
    at: float
    publisher: str
    expected: dict[str, OverlayNode]
    """Who was there and had joined when it was published, with the machine of that life."""
    arrivals: dict[str, float] = field(default_factory=dict)
    """When each node had it, in seconds after its publication."""
    hops: dict[str, int] = field(default_factory=dict)
    copies: int = 0
    packets: int = 0
    size: int = 0
    """Copies of the value, packets and bytes that were sent from then until it was counted."""
    missing: list[str] = field(default_factory=list)
    newcomers: int = 0
    """Nodes that joined between its publication and its count..."""
    behind: int = 0
    """... and those of them that have an older value, or none."""
    alive: int = 0

    @property
    def ratio(self) -> float:
        """The share of those expected who had it in time."""
        return 1 - len(self.missing) / len(self.expected) if self.expected else 1.0

    def within(self, percent: float) -> float | None:
        """Seconds until so many percent of those expected had it; None if they had not in time."""
        times = [self.arrivals.get(name, math.inf) for name in self.expected]
        found = percentiles(times, (percent,))[percent]
        return found if found <= IN_TIME else None


class Swarm:
    """Nodes that join, publish, crash and come back."""

    def __init__(
        self,
        *,
        seed: int = 1,
        link: Link = LINK,
        publishers: int = 3,
        contacts: int = 5,
        keep_trace: bool = False,
        **parameters: Any,
    ) -> None:
        self.simulation = Simulation(
            seed, level="datagrams", link=link, keep_trace=keep_trace, keep_deliveries=False
        )
        self.parameters = OverlayParameters(**parameters)
        self.publications: list[Publication] = []
        self.publishers = [f"node-{number}" for number in range(publishers)]
        """The nodes that have the key; they are spared by churn."""
        self.packets = self.size = self.copies = 0
        """All that was sent so far."""
        self._key = ItemKey.from_seed(hashlib.sha256(f"key {seed}".encode()).digest())
        topic = TopicName(self._key.public_key, b"")
        self.topic, self._target = topic.text, topic.target
        self._contacts = contacts
        self._chance = self.simulation.random_for("who knows whom")
        self._names: dict[str, str] = {}  # by address
        self._newcomers = self._restarts = 0
        on_effect = self.simulation.on_effect
        on_effect(Send, self._on_send)
        on_effect(Deliver, self._on_deliver)
        on_effect(ContactEnded, lambda node, effect: None)

    # ---- who is there

    def join(self, nodes: int, seconds: float, settle: float) -> None:
        """Let so many nodes join one after the other, and give them time to settle."""
        simulation = self.simulation
        begin, first = simulation.now, len(self._names)
        for number in range(first, first + nodes):
            at = begin + (number - first) * seconds / nodes
            simulation.at(at, lambda number=number: self._add(f"node-{number}"))  # type: ignore[misc]
        simulation.run_until(begin + seconds + settle)

    def resume(self, nodes: int, seconds: float, settle: float) -> None:
        """Start so many nodes with tables as if saved by an earlier run, which they verify.

        Much cheaper than :meth:`join`: each node knows from the start whom it could have found.
        """
        simulation = self.simulation
        names = [f"node-{number}" for number in range(nodes)]
        for name in names:
            self._add(name, introduce=False)
        tables = SavedTables(
            [NodeInfo(self._node(name).id, simulation.address(name)) for name in names],
            self._chance,
        )
        begin = simulation.now
        for number, name in enumerate(names):
            state = saved_state.dump(
                self._node(name).id,
                (),
                {self._target: SavedTopic(tables.of(self._node(name).id), None)},
            )
            simulation.command(name, Listening((simulation.address(name),)))
            simulation.command(name, Subscribe(self.topic))
            simulation.at(
                begin + number * seconds / nodes,
                lambda name=name, state=state: simulation.command(name, Restore(state)),  # type: ignore[misc]
            )
        simulation.run_until(begin + seconds + settle)

    def churn(self, share_per_minute: float, away: float = 60.0, newcomers: float = 0.01) -> None:
        """From now on this share of the nodes crashes every minute, to come back after a while.

        A node comes back with an empty table; every second time with a new id. On top of it come
        ``newcomers`` a minute, as a share of the nodes.
        """
        names = [name for name in self.simulation.names if name not in self.publishers]
        Churn(
            self.simulation,
            names,
            self._machine,
            mean_uptime=60 / share_per_minute,
            mean_downtime=away,
            silent=True,
            returned=self._introduce,
        )
        if newcomers:
            self._schedule_newcomer(60 / (newcomers * len(names)))

    def restart(self, name: str) -> None:
        """Bring a crashed node back: the same address, an empty table."""
        self._restarts += 1
        source = self.simulation.random_for(name, life=self._restarts)
        self.simulation.restart(name, self._machine(name, source))
        self._introduce(name)

    def _schedule_newcomer(self, mean: float) -> None:
        def arrive() -> None:
            self._newcomers += 1
            self._add(f"newcomer-{self._newcomers}")
            self._schedule_newcomer(mean)

        self.simulation.at(self.simulation.now + self._chance.expovariate(1 / mean), arrive)

    def _add(self, name: str, introduce: bool = True) -> None:
        simulation = self.simulation
        simulation.add_node(name, self._machine(name, simulation.random_for(name)))
        if introduce:
            self._introduce(name)
        self._names[simulation.address(name)] = name

    def _machine(self, name: str, source: random.Random) -> OverlayNode:
        keeps_id = source.random() < 0.5
        own_id = (self.simulation.random_for(f"id of {name}") if keeps_id else source).randbytes(20)
        keys = [self._key] if name in self.publishers else []
        return OverlayNode(own_id, keys, self.parameters, source, source, name=name)

    def _introduce(self, name: str) -> None:
        """Tell a new machine where it is, what it wants, and whom it may ask."""
        address = self.simulation.address(name)
        known = [peer for peer in self._names if peer != address] if len(self._names) < 9 else None
        peers = known or self._draw(address)
        for input in (
            Listening((address,)),
            Subscribe(self.topic),
            Contact(self._target, tuple(peers[: self._contacts])),
        ):
            self.simulation.command(name, input)

    def _draw(self, address: str) -> list[str]:
        everyone = list(self._names)
        drawn = self._chance.sample(everyone, min(len(everyone), self._contacts + 1))
        return [peer for peer in drawn if peer != address]

    # ---- publishing and counting

    def publish(self, size: int = 100) -> Publication:
        """Publish a value of about ``size`` bytes and let the time pass in which it is counted."""
        simulation = self.simulation
        number = len(self.publications)
        publisher = self.publishers[number % len(self.publishers)]
        data = f"{number:08}".encode() + bytes(max(0, size - 8 - len(str(size)) - 1))
        publication = Publication(
            seq=0,
            at=simulation.now,
            publisher=publisher,
            expected={name: self._node(name) for name in self.joined() if name != publisher},
        )
        publication.hops[publisher] = 0
        self.publications.append(publication)
        before = (self.copies, self.packets, self.size)
        simulation.command(publisher, Publish(self.topic, b"%d:%s" % (len(data), data)))
        latest = self._node(publisher).latest(self.topic)
        assert latest is not None
        publication.seq = latest.seq
        simulation.run_for(IN_TIME)
        publication.copies = self.copies - before[0]
        publication.packets = self.packets - before[1]
        publication.size = self.size - before[2]
        self._count(publication)
        return publication

    def _count(self, publication: Publication) -> None:
        """Leave out who crashed meanwhile, and see who of the others lacks the value."""
        for name, machine in list(publication.expected.items()):
            if not self.simulation.alive(name) or self._node(name) is not machine:
                del publication.expected[name]
        publication.missing = [
            name for name in publication.expected if name not in publication.arrivals
        ]
        publication.alive = len(self.alive())
        for name in self.joined():
            if name not in publication.expected and name != publication.publisher:
                latest = self._node(name).latest(self.topic)
                publication.newcomers += 1
                publication.behind += latest is None or latest.seq < publication.seq

    def alive(self) -> list[str]:
        """The nodes that are there."""
        return [name for name in self.simulation.names if self.simulation.alive(name)]

    def joined(self) -> list[str]:
        """The nodes that are there and have found the others."""
        return [name for name in self.alive() if self._node(name).joined(self.topic)]

    def table_sizes(self) -> list[int]:
        """How many entries each node has that is there."""
        return [len(self._node(name).subscribers(self.topic)) for name in self.alive()]

    def known_by(self) -> dict[str, int]:
        """In how many tables each node is that is there."""
        counts = dict.fromkeys(self.alive(), 0)
        for name in counts:
            for peer in self._node(name).subscribers(self.topic):
                other = self._names.get(peer, "")
                if other in counts:
                    counts[other] += 1
        return counts

    def dead_entries(self) -> float:
        """The share of all entries whose node is not there."""
        entries = [
            self._names[peer]
            for name in self.alive()
            for peer in self._node(name).subscribers(self.topic)
        ]
        dead = sum(not self.simulation.alive(name) for name in entries)
        return dead / len(entries) if entries else 0.0

    def _node(self, name: str) -> OverlayNode:
        machine: OverlayNode = self.simulation.machine(name)
        return machine

    # ---- what happens

    def _on_send(self, node: str, effect: Send) -> None:
        self.packets += 1
        self.size += len(effect.packet)
        if VALUE_MARK in effect.packet:
            self.copies += 1

    def _on_deliver(self, node: str, effect: Deliver) -> None:
        if not self.publications:
            return
        publication, message = self.publications[-1], effect.message
        if message.fields["seq"] >= publication.seq and node != publication.publisher:
            publication.arrivals.setdefault(node, self.simulation.now - publication.at)
            before = publication.hops.get(self._names.get(message.received_from or "", ""))
            if before is not None:
                publication.hops.setdefault(node, before + 1)


class SavedTables:
    """Whom each node would have in its table, drawn from all that there are."""

    def __init__(self, nodes: Sequence[NodeInfo], chance: random.Random) -> None:
        self._nodes = sorted(nodes)
        self._ids = [int.from_bytes(node.id, "big") for node in self._nodes]
        self._chance = chance

    def of(self, id: bytes) -> list[NodeInfo]:
        """One node of each far half, eight of the last one, and all that share more with ``id``."""
        own, found = int.from_bytes(id, "big"), []
        low, high = 0, len(self._ids)
        for bit in range(159, -1, -1):
            # Of the nodes that share all bits above with us: where do those begin that have a 1?
            border = bisect_left(self._ids, (own >> bit | 1) << bit, low, high)
            near, far = ((border, high), (low, border)) if own >> bit & 1 else (
                (low, border), (border, high)
            )  # fmt: skip
            last = near[1] - near[0] <= 9
            others = range(*far)
            found += self._chance.sample(others, min(len(others), 8 if last else 1))
            low, high = near
            if last:
                break
        found += [place for place in range(low, high) if self._ids[place] != own]
        return [self._nodes[place] for place in found]


def mean(values: Sequence[float]) -> float:
    """The mean; 0 of nothing."""
    return sum(values) / len(values) if values else 0.0
