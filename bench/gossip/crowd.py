"""One gossipsub machine with as many peers and topics as one likes, driven by hand.

No sockets, no signatures, virtual time: what is left is the protocol itself.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from rumormill.core.machine import (
    Check,
    Checked,
    Deliver,
    PeerJoined,
    PeerLeft,
    Publish,
    Received,
    Subscribe,
    Verdict,
)
from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
from rumormill.libp2p.gossipsub.features import MESHSUB_1_3
from rumormill.libp2p.gossipsub.score import DEFAULT_SCORE, ScoreParameters
from rumormill.libp2p.pubsub.parameters import PubsubParameters
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.rpc import Subscription, subscription_field
from tests.helpers.libp2p.pubsub_network import Unsigned

SEED = 1


def padded(name: str) -> str:
    """A name as long as a real peer id."""
    return name.rjust(38, ".")


class Node:
    """The machine, and a clock that only goes on when it is told to."""

    def __init__(
        self,
        parameters: GossipsubParameters | None = None,
        score: ScoreParameters | None = DEFAULT_SCORE,
    ) -> None:
        name = padded("node")
        self.now = 0.0
        self.delivered = 0
        """Messages that the application got."""
        self.random = random.Random(SEED)
        self.router = GossipsubRouter(parameters, score)
        self.pubsub = Pubsub(
            node=name,
            author=Unsigned(name),
            router=self.router,
            random=random.Random(SEED),
            parameters=PubsubParameters(),
            network="bench",
            name_of=bytes.decode,
        )

    # ---- who is there

    def join(self, peer: str, topics: Iterable[str], protocol: str = MESHSUB_1_3) -> None:
        """A peer comes and says what it listens to. Of two, we have dialed one."""
        outbound = self.random.random() < 0.5
        self.pubsub.handle(PeerJoined(peer, protocol, outbound), self.now)
        words = b"".join([subscription_field(Subscription(True, topic)) for topic in topics])
        self.receive(peer, length_prefixed(words))

    def leave(self, peer: str) -> None:
        """A peer goes."""
        self.pubsub.handle(PeerLeft(peer), self.now)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Listen to topics."""
        for topic in topics:
            self.pubsub.handle(Subscribe(topic), self.now)

    # ---- what happens

    def publish(self, topic: str, data: bytes) -> None:
        """Publish a message."""
        self.pubsub.handle(Publish((topic,), data), self.now)

    def receive(self, peer: str, packet: bytes) -> None:
        """A packet of a peer; every signature in it is good."""
        for effect in self.pubsub.handle(Received(peer, packet), self.now):
            if isinstance(effect, Check):
                done = self.pubsub.handle(Checked(effect.token, Verdict.ACCEPT), self.now)
                self.delivered += any(isinstance(each, Deliver) for each in done)

    def flush(self) -> Sequence[Any]:
        """The end of a turn of the loop: what waits is sent; returns the effects."""
        return self.pubsub.wake(self.now)

    def sizes(self) -> dict[str, int]:
        """The tables of the machine, by name."""
        return self.pubsub.sizes()


class Crowd(Node):
    """A node that listens to ``topics`` and has ``peers``, each of which listens to some."""

    def __init__(self, peers: int, topics: int, topics_of_each: int, **parameters: Any) -> None:
        super().__init__(GossipsubParameters(**parameters))
        self.topics = [f"topic-{number:04}" for number in range(topics)]
        self.peers = [padded(f"peer-{number:05}") for number in range(peers)]
        self._topics_of_each = topics_of_each
        self.subscribe(self.topics)
        for peer in self.peers:
            self.join(peer, self.random.sample(self.topics, topics_of_each))
        self.flush()

    def next_beat(self) -> None:
        """Go on to where the next heartbeat is due, without it."""
        due = self.router.next_wake()
        assert due is not None
        self.now = max(self.now, due)
