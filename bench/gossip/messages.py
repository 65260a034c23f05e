"""What a message of 1 KiB costs a node with this or that feature, without sockets and signatures.

A node with a mesh gets messages, each from a member of it and once more from another, delivers
them and passes them on. Packets that are made are measured, writing them is not. Since so little
is left, a feature shows here more than it does in a process.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from bench.gossip.crowd import Node, padded
from rumormill.libp2p.gossipsub import GossipsubParameters
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0, MESHSUB_1_3
from rumormill.libp2p.gossipsub.score import (
    DEFAULT_SCORE,
    Colocation,
    ScoreParameters,
    TopicScoreParameters,
)
from rumormill.libp2p.wire.rpc import message_frame
from rumormill.libp2p.wire.signing import signed_message
from tests.helpers.libp2p.pubsub_network import Unsigned

Row = dict[str, Any]

SIZE = 1024
"""IDONTWANT begins here."""
DATA = bytes(range(256)) * (SIZE // 256)
TOPIC = "weather"
PEERS = 12
BATCH = 16
BATCHES_PER_SECOND = 60
"""Of virtual time: a thousand messages a second, with their share of heartbeats."""

PLAIN = "score off, 1.0"
SCORED = "score on, 1.0"
DEMANDING = "score on, with P3, 1.0"
LATEST = "score off, 1.3"
EVERYTHING = "everything, 1.3"


class Features(NamedTuple):
    """How a node is set up."""

    protocol: str
    parameters: GossipsubParameters
    score: ScoreParameters | None


def _usual(**parameters: Any) -> GossipsubParameters:
    return GossipsubParameters(**parameters)


def _with_deliveries(**parameters: Any) -> ScoreParameters:
    """With P3 for the topic, by the rate at which the messages come."""
    rate = float(BATCH * BATCHES_PER_SECOND)
    advice = TopicScoreParameters.for_rate(messages_per_second=rate, steady=True)
    return ScoreParameters(topics={TOPIC: advice.parameters}, **parameters)


VARIANTS: dict[str, Callable[[], Features]] = {
    PLAIN: lambda: Features(MESHSUB_1_0, _usual(), None),
    SCORED: lambda: Features(MESHSUB_1_0, _usual(), DEFAULT_SCORE),
    DEMANDING: lambda: Features(MESHSUB_1_0, _usual(), _with_deliveries()),
    LATEST: lambda: Features(MESHSUB_1_3, _usual(), None),
    EVERYTHING: lambda: Features(
        MESHSUB_1_3,
        _usual(gater=True, partial_messages=True, test_extension=True),
        _with_deliveries(colocation=Colocation(weight=-5.0, threshold=10)),
    ),
}
"""By name; in the order in which they are shown."""


class Listener(Node):
    """A node whose peers send it messages, a batch at a time."""

    def __init__(self, features: Features) -> None:
        super().__init__(features.parameters, features.score)
        self._author = Unsigned(padded("author"))
        self._sequence = 0
        self.subscribe([TOPIC])
        for number in range(PEERS):
            self.join(padded(f"peer-{number}"), [TOPIC], features.protocol)
        self.flush()

    def packets(self) -> Iterator[tuple[str, bytes]]:
        """The next batch: from one member of the mesh, then from another."""
        members = self.pubsub.mesh(TOPIC)
        turn = self._sequence // BATCH
        frames = []
        for _ in range(BATCH):
            self._sequence += 1
            message = signed_message(self._author, DATA, (TOPIC,), self._sequence)
            frames.append(message_frame(message))
        for step in (0, 1):
            yield members[(turn + step) % len(members)], b"".join(frames)

    def take(self, packets: list[tuple[str, bytes]]) -> None:
        """Receive a batch and pass it on."""
        for peer, packet in packets:
            self.receive(peer, packet)
            self.flush()
        self.now += 1 / BATCHES_PER_SECOND


def measure(passes: int, batches: int) -> list[Row]:
    """The variants take turns, so that what else the machine does disturbs them alike."""
    listeners = {name: Listener(make()) for name, make in VARIANTS.items()}
    costs: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for number in range(passes + 1):
        for name, listener in listeners.items():
            cost = _pass(listener, batches)
            if number:  # the first is to warm up
                costs[name].append(cost)
    return [
        {
            "name": name,
            "delivered": listeners[name].delivered,
            "us": {"best": min(values), "median": statistics.median(values)},
        }
        for name, values in costs.items()
    ]


def _pass(listener: Listener, batches: int) -> float:
    """Microseconds per message."""
    total = 0
    for _ in range(batches):
        packets = list(listener.packets())
        begin = time.thread_time_ns()
        listener.take(packets)
        total += time.thread_time_ns() - begin
    return total / batches / BATCH / 1000
