"""Networks in virtual time whose nodes have real keys, for topics with descriptors."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rumormill.core.machine import Publish, Published, Subscribe, Verdict
from rumormill.core.receipt import Receipt
from rumormill.core.trace import TraceEvent
from rumormill.libp2p.descriptor import TopicDescriptor
from rumormill.libp2p.descriptor.commands import KnowEdges, KnowTopic, Trust
from rumormill.libp2p.descriptor.private_topic import PrivateTopic
from rumormill.libp2p.descriptor.private_topics import PrivateTopics
from rumormill.libp2p.descriptor.shared_keys import new_keys
from rumormill.libp2p.effects import BeginRelay
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.signing import verify
from rumormill.simulate import Link, Simulation

START = 1_800_000_000.0
"""When these networks begin: a time of the calendar, as edges end at one."""


def key_of(name: str) -> PrivateKey:
    """A key of its own for every name."""
    return PrivateKey.from_seed(hashlib.sha256(name.encode()).digest())


def peer_of(name: str) -> str:
    return key_of(name).peer


def id_of(name: str) -> bytes:
    return key_of(name).peer_id


def shared(count: int = 1, seed: int = 7) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Keys, and their hashes."""
    return new_keys(count, random.Random(seed))


def descriptor(
    auth: str = "none",
    publishers: Iterable[str] = (),
    enc: str = "none",
    hashes: tuple[bytes, ...] = (),
    name: str = "weather",
) -> TopicDescriptor:
    """A descriptor of peers that are called by short names."""
    return TopicDescriptor.make(
        name,
        auth=auth,
        publishers=tuple(peer_of(each) for each in publishers),
        encryption=enc,
        key_hashes=hashes,
    )


def genuine(node: str, message: WireMessage) -> str:
    """The check of these networks: real signatures."""
    return Verdict.ACCEPT if verify(message) else Verdict.FORGED


class PrivateNetwork:
    """Nodes with real keys, called by short names."""

    def __init__(
        self, names: Sequence[str], pairs: Iterable[tuple[str, str]] | None = None, seed: int = 1
    ) -> None:
        """Connected in a line, unless ``pairs`` says otherwise."""
        self.names = list(names)
        self.simulation = Simulation(seed, START, link=Link(latency=0.02), check=genuine)
        self.guards: dict[str, PrivateTopics] = {}
        for name in names:
            self.simulation.add_node(peer_of(name), self.machine(name))
        for a, b in pairwise(names) if pairs is None else pairs:
            self.simulation.connect(peer_of(a), peer_of(b))

    def machine(self, name: str) -> Pubsub:
        key = key_of(name)
        entropy = self.simulation.random_for(name)
        guard = self.guards[name] = PrivateTopics(random.Random(name), entropy)
        return Pubsub(
            node=key.peer,
            author=key,
            router=GossipsubRouter(GossipsubParameters(), DEFAULT_SCORE),
            random=entropy,
            parameters=PubsubParameters(),
            network="test",
            guard=guard,
        )

    # ---- what nodes do

    def feed(self, name: str, command: object) -> list[object]:
        return list(self.simulation.command(peer_of(name), command))

    def know(
        self, names: Iterable[str], descriptor: TopicDescriptor, keys: Sequence[bytes] = ()
    ) -> None:
        for name in names:
            self.feed(name, KnowTopic(descriptor, keys))

    def subscribe(self, names: Iterable[str], descriptor: TopicDescriptor) -> None:
        for name in names:
            self.feed(name, Subscribe(descriptor.topic_id))

    def relay(self, names: Iterable[str], topic: str) -> None:
        for name in names:
            self.feed(name, BeginRelay(topic))

    def publish(self, name: str, topic: TopicDescriptor, data: bytes = b"rain") -> Receipt:
        effects = self.feed(name, Publish((topic.topic_id,), data))
        (published,) = [each for each in effects if isinstance(each, Published)]
        return published.receipt

    def trust(
        self, name: str, topic: TopicDescriptor, subject: str, seconds: float = 3600.0
    ) -> None:
        until = int(self.now + seconds)
        self.feed(name, Trust(topic.topic_id, id_of(subject), until))

    def revoke(self, name: str, topic: TopicDescriptor, subject: str) -> None:
        self.feed(name, Trust(topic.topic_id, id_of(subject), 0))

    def know_edges(self, name: str, topic: TopicDescriptor, edges: Sequence[object]) -> None:
        self.feed(name, KnowEdges(topic.topic_id, tuple(edges)))  # type: ignore[arg-type]

    def run(self, seconds: float) -> None:
        self.simulation.run_for(seconds)

    # ---- what came of it

    @property
    def now(self) -> float:
        return self.simulation.clock.now

    def topic(self, name: str, descriptor: TopicDescriptor) -> PrivateTopic:
        found = self.guards[name].topic(descriptor.topic_id)
        assert found is not None
        return found

    def got(self, name: str) -> list[bytes]:
        """The data that a node delivered, in order."""
        return [each.data for each in self.simulation.deliveries[peer_of(name)]]

    def events(self, name: str, event: str, reason: str | None = None) -> list[TraceEvent]:
        return [
            each
            for each in self.simulation.trace
            if each.node == peer_of(name)
            and each.event == event
            and (reason is None or each.fields.get("reason") == reason)
        ]

    def trusted(self, name: str, descriptor: TopicDescriptor) -> set[str]:
        """Whom a node trusts, by their short names."""
        found = self.topic(name, descriptor).trust.trusted(self.now)
        return {each for each in self.names if id_of(each) in found}
