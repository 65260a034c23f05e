"""Single parts of our own in one process, without sockets; and protobuf's own library beside them.

Each part does its work for a batch of messages, as many as one read from a socket brings. Parts
take turns and the cheapest pass of each counts. Signatures have their length and cost nothing.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.progress import Progress
from rumormill.core.machine import Check, Checked, PeerJoined, Publish, Received, Subscribe, Verdict
from rumormill.core.protobuf import bytes_field
from rumormill.libp2p.gossipsub.features import MESHSUB_1_0
from rumormill.libp2p.pubsub.pubsub import Pubsub
from rumormill.libp2p.wire.frames import length_prefixed
from rumormill.libp2p.wire.message import SIGNATURE_PREFIX
from rumormill.libp2p.wire.rpc import (
    Subscription,
    decode_rpc,
    message_frame,
    subscription_field,
)
from rumormill.libp2p.wire.signing import signed_message
from rumormill.simulate import topology
from tests.helpers.libp2p import protobuf_oracle as oracle
from tests.helpers.libp2p.connection_pair import Pair
from tests.helpers.libp2p.pubsub_network import PubsubNetwork, Unsigned, machine, names

SIZE = 1024
TOPIC = "weather"
DATA = bytes(range(256)) * (SIZE // 256)
BATCH = 16
BATCHES_PER_SECOND = 600
"""Of virtual time: about ten thousand messages a second, with their share of heartbeats."""

AUTHOR = Unsigned("author".rjust(38, "."))  # as long as a real peer id


@dataclass(frozen=True)
class CodecPlan:
    """How much is measured."""

    passes: int = 40
    batches: int = 50
    """Of each pass."""
    simulated_nodes: int = 50
    simulated_messages: int = 300


QUICK = CodecPlan(passes=3, batches=5, simulated_nodes=10, simulated_messages=20)


class Part(NamedTuple):
    """Something whose cost is measured."""

    name: str
    work: Callable[[Any], object]
    prepare: Callable[[], Any] = lambda: None
    """Makes what ``work`` is given, and is not measured."""


async def run(plan: CodecPlan, progress: Progress) -> dict[str, Any]:
    """Measure; returns the part ``codec`` of the results."""
    progress.begin("codec", 2)
    progress.step("codec: single parts")
    parts = _parts()
    best = dict.fromkeys((part.name for part in parts), float("inf"))
    for _ in range(plan.passes):
        for part in parts:
            best[part.name] = min(best[part.name], _cost(part, plan.batches))
    rows = [{"name": name, "us_per_message": cost} for name, cost in best.items()]
    progress.step("codec: simulation")
    return {"size": SIZE, "batch": BATCH, "rows": rows, "simulation": simulate(plan)}


def _parts() -> list[Part]:
    connection, publisher, subscriber = _Connection(), _Publisher("publisher"), _Subscriber()
    return [
        Part("RPC, read: ours", _ours_decodes),
        Part("RPC, read: protobuf (upb)", _protobuf_decodes),
        Part("RPC, written, with what is signed: ours", _ours_encodes),
        Part("RPC, written, with what is signed: protobuf (upb)", _protobuf_encodes),
        Part("connection: write, seal", connection.write, connection.settle),
        Part("connection: open, read", connection.receive, connection.sealed),
        Part("pubsub: publish", publisher.publish),
        Part("pubsub: receive, deliver", subscriber.receive, subscriber.chunk),
    ]


def _cost(part: Part, batches: int) -> float:
    """Microseconds per message in one pass."""
    total = 0
    for _ in range(batches):
        given = part.prepare()
        begin = time.thread_time_ns()
        part.work(given)
        total += time.thread_time_ns() - begin
    return total / batches / BATCH / 1000


# ---- RPC

MESSAGE = signed_message(AUTHOR, DATA, (TOPIC,), 7)
RPC = bytes_field(2, MESSAGE.raw)


def _ours_decodes(_: object) -> None:
    for _ in range(BATCH):
        decode_rpc(RPC)


def _protobuf_decodes(_: object) -> None:
    parse = oracle.RPC.FromString
    for _ in range(BATCH):
        (message,) = parse(RPC).publish
        # It makes the values only when they are asked for; ours are there, and topics are text.
        (getattr(message, "from"), message.data, message.seqno, message.signature)
        tuple([topic.decode() for topic in message.topics])


def _ours_encodes(_: object) -> None:
    for sequence in range(BATCH):
        message_frame(signed_message(AUTHOR, DATA, (TOPIC,), sequence))


def _protobuf_encodes(_: object) -> None:
    topic = TOPIC.encode()
    for sequence in range(BATCH):
        rpc = oracle.RPC()
        fields = {"from": AUTHOR.peer_id, "data": DATA, "seqno": sequence.to_bytes(8, "big")}
        message = rpc.publish.add(**fields, topics=[topic])
        message.signature = AUTHOR.sign(SIGNATURE_PREFIX + message.SerializeToString())
        length_prefixed(rpc.SerializeToString())


# ---- the connection


class _Connection:
    """Two ends in memory, with one stream."""

    def __init__(self) -> None:
        pair = Pair().establish()
        self._stream = pair.open()
        self._dialer, self._listener = pair.dialer.connection, pair.listener.connection
        self._packet = message_frame(MESSAGE) * BATCH
        self._unread = b""

    def write(self, _: object) -> None:
        self._dialer.write(self._stream, self._packet)
        self._unread = self._dialer.data_to_send()

    def settle(self) -> None:
        """Let the other end read, and grant a window in return."""
        self.receive(self._unread)
        self._dialer.receive(self._listener.data_to_send(), 0.0)

    def sealed(self) -> bytes:
        self.settle()
        self.write(None)
        unread, self._unread = self._unread, b""
        return unread

    def receive(self, data: bytes) -> None:
        self._listener.receive(data, 0.0)


# ---- pubsub


class _Node:
    """A node with a peer that listens."""

    def __init__(self, name: str) -> None:
        self.pubsub: Pubsub = machine(name.rjust(38, "."), random.Random(1))
        self.now = 0.0
        self.pubsub.handle(PeerJoined("peer", MESHSUB_1_0), self.now)
        subscription = subscription_field(Subscription(True, TOPIC))
        self.pubsub.handle(Received("peer", length_prefixed(subscription)), self.now)

    def turn(self) -> None:
        """The end of a turn of the loop: what waits is sent."""
        self.now += 1 / BATCHES_PER_SECOND
        self.pubsub.wake(self.now)


class _Publisher(_Node):
    def publish(self, _: object) -> None:
        for _ in range(BATCH):
            self.pubsub.handle(Publish((TOPIC,), DATA), self.now)
        self.turn()


class _Subscriber(_Node):
    def __init__(self) -> None:
        super().__init__("subscriber")
        self.pubsub.handle(Subscribe(TOPIC), self.now)
        self._sequence = 0

    def chunk(self) -> bytes:
        """What the peer sends next."""
        begin = self._sequence
        self._sequence += BATCH
        messages = [
            signed_message(AUTHOR, DATA, (TOPIC,), sequence)
            for sequence in range(begin, self._sequence)
        ]
        return b"".join([message_frame(message) for message in messages])

    def receive(self, chunk: bytes) -> None:
        pubsub, now = self.pubsub, self.now
        for effect in pubsub.handle(Received("peer", chunk), now):
            if isinstance(effect, Check):
                pubsub.handle(Checked(effect.token, Verdict.ACCEPT), now)
        self.turn()


# ---- the simulator


def simulate(plan: CodecPlan) -> dict[str, float]:
    """A gossipsub network in virtual time: how many events pass in a second of ours."""
    everyone = names(plan.simulated_nodes)
    pairs = topology.random_regular(everyone, min(8, len(everyone) - 1), random.Random(1))
    network = PubsubNetwork(everyone, pairs, keep=False)
    network.subscribe()
    network.run(3.0)
    clock = network.simulation.clock
    events, began, virtual = clock.events, time.process_time(), clock.now
    for number in range(plan.simulated_messages):
        network.publish(everyone[number % len(everyone)], data=b"%08d" % number + DATA[8:])
        network.run(0.02)
    network.run(1.0)
    seconds = time.process_time() - began
    delivered = network.simulation.trace_counts["delivered"]
    return {
        "nodes": len(everyone),
        "events": clock.events - events,
        "deliveries": delivered,
        "events_per_second": (clock.events - events) / seconds,
        "deliveries_per_second": delivered / seconds,
        "virtual_seconds_per_second": (clock.now - virtual) / seconds,
    }
