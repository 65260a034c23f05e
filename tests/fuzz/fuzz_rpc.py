"""Fuzz the RPC reader through a pubsub machine: raw bytes, and RPCs that nearly make sense."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.core.machines import AnyEffect, AnyInput
from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented, pieces

with instrumented(__name__):
    from rumormill.core.errors import LocalProtocolError
    from rumormill.core.machine import (
        Check,
        Checked,
        Deliver,
        Drop,
        PeerJoined,
        PeerLeft,
        Publish,
        Received,
        Send,
        Subscribe,
        Unsubscribe,
        Writable,
    )
    from rumormill.core.protobuf import bytes_field, varint_field
    from rumormill.libp2p.effects import StreamRestarted
    from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
    from rumormill.libp2p.gossipsub.features import MESHSUB_1_0, MESHSUB_1_2
    from rumormill.libp2p.pubsub.floodsub import FLOODSUB, FloodsubRouter
    from rumormill.libp2p.pubsub.parameters import PubsubParameters, TopicRules
    from rumormill.libp2p.pubsub.pubsub import Pubsub
    from rumormill.libp2p.wire import decode_rpc
    from rumormill.libp2p.wire.frames import FrameReader, length_prefixed

# Small, so that every limit is within reach of a short input.
PARAMETERS = PubsubParameters(
    max_rpc_size=4096, max_control_size=1024, seen_ttl=5.0, max_seen=8, queue_messages=3,
    queue_bytes=2000, max_checks=6, max_checks_per_peer=4, hold_checks_per_peer=2,
    max_check_bytes=4096, max_copies=2, max_rejections=3, max_topics_per_peer=4,
    max_subscriptions_per_rpc=6, max_messages_per_rpc=6, max_message_ids_per_rpc=12,
    max_control_bytes_per_rpc=1024,
    multi_topic=True, topic_rules={"open": TopicRules(signing="StrictNoSign")},
)  # fmt: skip
GOSSIPSUB = GossipsubParameters(
    D=2, D_low=1, D_high=3, D_lazy=2, fanout_ttl=3.0, mcache_len=2, mcache_gossip=1,
    mcache_bytes=1000, prune_backoff=4.0, unsubscribe_backoff=2.0, answer_unknown_graft=True,
    max_ihave_messages=2, max_ihave_ids=4, max_iwant_sends=2,
)  # fmt: skip

PEERS = ["ann", "bob", "cyd", "dan"]
TOPICS = ["a", "b", "open"]
OWN, SOMEONE, NOBODY = b"\x00\x01o", b"\x00\x01s", b"no peer id"
VERDICTS = ["accept", "reject", "ignore", "forged", "overloaded"]


class Author:
    """Who the machine publishes as."""

    peer_id = OWN

    def sign(self, payload: bytes) -> bytes:
        return bytes(4)


class Bench:
    """Drives the machine, carries its effects out, and checks what must always hold."""

    def __init__(self, gossipsub: bool) -> None:
        self.now = 0.0
        self.open_checks: list[int] = []
        self.pubsub = Pubsub(
            node="us",
            author=Author(),
            router=GossipsubRouter(GOSSIPSUB) if gossipsub else FloodsubRouter(),
            random=random.Random(1),
            parameters=PARAMETERS,
        )
        for number, peer in enumerate(PEERS):
            versions = (MESHSUB_1_2, MESHSUB_1_2, MESHSUB_1_0, FLOODSUB)
            self.feed(PeerJoined(peer, versions[number % 4]))
        self.feed(Subscribe("a"))

    def feed(self, input: AnyInput) -> None:
        self.carry_out(self.pubsub.handle(input, self.now))
        due = self.pubsub.next_wake()
        if due is not None and due <= self.now:
            self.carry_out(self.pubsub.wake(self.now))

    def carry_out(self, effects: list[AnyEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                reader = FrameReader(PARAMETERS.max_rpc_size)
                for frame in reader.feed(effect.packet):
                    decode_rpc(frame)
                assert reader.pending == 0, "half a frame was sent"
            elif isinstance(effect, Check):
                self.open_checks.append(effect.token)
            elif isinstance(effect, Deliver):
                assert self.pubsub.joined(effect.message.topic)
            elif isinstance(effect, Drop):
                assert effect.peer not in self.pubsub.peers

    def check(self) -> None:
        pubsub, intake = self.pubsub, self.pubsub._intake
        sizes = pubsub.sizes()
        assert sizes["seen"] <= PARAMETERS.max_seen
        assert sizes["checks"] <= PARAMETERS.max_checks
        assert sizes["checks"] == len(self.open_checks)
        assert sizes["peer_topics"] <= PARAMETERS.max_topics_per_peer * len(PEERS)
        waiting = sum(check.size for check in intake.checks._by_token.values())
        assert intake.checks.bytes == waiting
        assert sum(state.checks for state in pubsub.peers.values()) <= 3 * PARAMETERS.max_checks
        for state in pubsub.peers.values():
            assert state.queue.count <= PARAMETERS.queue_messages
        refusals = pubsub.outbox.refusals.values()
        assert all(peer in pubsub.peers for peers in refusals for peer in peers)
        assert sum(map(len, refusals)) == sizes.get("dont_want", 0)
        for state in pubsub.peers.values():
            assert state.reader.pending <= PARAMETERS.max_rpc_size + 10
        for topic in TOPICS:
            assert all(peer in pubsub.peers for peer in pubsub.mesh(topic))
            assert all(peer in pubsub.peers for peer in pubsub.subscribers(topic))

    def act(self, choices: Choices) -> None:
        """Do something of our own: the application, the driver or the time."""
        action, peer = choices.number(9), PEERS[choices.number(len(PEERS))]
        topic = TOPICS[choices.number(len(TOPICS))]
        if action == 0:
            self.now += choices.number(30) / 10
            self.carry_out(self.pubsub.wake(self.now))
        elif action <= 2 and self.open_checks:
            token = self.open_checks.pop(choices.number(len(self.open_checks)))
            self.feed(Checked(token, VERDICTS[choices.number(len(VERDICTS))]))
        elif action == 3:
            self.feed(Writable(peer, choices.number(2) == 1))
        elif action == 4:
            self.feed(Subscribe(topic) if choices.number(2) else Unsubscribe(topic))
        elif action == 5:
            try:
                self.feed(Publish((topic,), choices.take(3)))
            except LocalProtocolError:
                assert topic == "open", "only unsigned messages can be the same twice"
        elif action == 6 and peer not in self.pubsub.peers:
            self.feed(PeerJoined(peer, [FLOODSUB, MESHSUB_1_2][choices.number(2)]))
        elif action == 7:
            self.feed(PeerLeft(peer))
        else:
            self.feed(StreamRestarted(peer))


# ---- RPCs that nearly make sense


def topic_bytes(choices: Choices) -> bytes:
    return [b"a", b"b", b"open", b"unknown", b"", b"\xff", b"t" * 1024][choices.number(7)]


def message_id(choices: Choices) -> bytes:
    author = [OWN, SOMEONE, NOBODY][choices.number(3)]
    kinds = [author + choices.number(4).to_bytes(8, "big"), choices.take(2), bytes(1025)]
    return kinds[choices.number(3)]


def message(choices: Choices) -> bytes:
    parts = []
    if choices.number(4):
        parts.append(bytes_field(1, [OWN, SOMEONE, SOMEONE, NOBODY][choices.number(4)]))
    parts.append(bytes_field(2, bytes([choices.number(3)]) * choices.number(256) * 8))
    if choices.number(4):
        parts.append(bytes_field(3, choices.number(4).to_bytes(8, "big")))
    parts += [bytes_field(4, topic_bytes(choices)) for _ in range(1 + choices.number(3) // 2)]
    if choices.number(4):
        parts.append(bytes_field(5, bytes(choices.number(2))))
    if not choices.number(8):
        parts.append(bytes_field(6, b"key"))
    if not choices.number(8):
        parts.reverse()
    return b"".join(parts)


def control(choices: Choices) -> bytes:
    parts = []
    for _ in range(1 + choices.number(3)):
        kind, topic = choices.number(5), bytes_field(1, topic_bytes(choices))
        if kind == 0:
            ids = [bytes_field(2, message_id(choices)) for _ in range(choices.number(5))]
            parts.append(bytes_field(1, topic + b"".join(ids)))
        elif kind == 1:
            ids = [bytes_field(1, message_id(choices)) for _ in range(choices.number(5))]
            parts.append(bytes_field(2, b"".join(ids)))
        elif kind == 2:
            parts.append(bytes_field(3, topic))
        elif kind == 3:
            backoff = [0, 1, 60, (1 << 64) - 1][choices.number(4)]
            peers = [
                bytes_field(2, choices.take(choices.number(6))) for _ in range(choices.number(3))
            ]
            parts.append(bytes_field(4, topic + b"".join(peers) + varint_field(3, backoff)))
        else:
            ids = [bytes_field(1, message_id(choices)) for _ in range(choices.number(5))]
            parts.append(bytes_field(5, b"".join(ids) or choices.take(4)))
    return b"".join(parts)


def rpc(choices: Choices) -> bytes:
    parts = []
    for _ in range(1 + choices.number(3)):
        kind = choices.number(8)
        if kind == 0:
            on = varint_field(1, choices.number(2))
            parts.append(bytes_field(1, on + bytes_field(2, topic_bytes(choices))))
        elif kind <= 4:
            parts.append(bytes_field(2, message(choices)))
        elif kind <= 6:
            parts.append(bytes_field(3, control(choices)))
        else:
            parts.append(choices.take(choices.number(16)))
    return length_prefixed(b"".join(parts))


def target(data: bytes) -> None:
    choices = Choices(data)
    bench = Bench(gossipsub=choices.number(4) > 0)
    structured, size = choices.number(4) > 0, [0, 0, 0, 3, 9, 100][choices.number(6)]
    while choices:
        if structured and choices.number(3) == 0:
            bench.act(choices)
        else:
            peer = PEERS[choices.number(len(PEERS))]
            raw = rpc(choices) if structured else choices.take(1 + choices.number(60))
            for piece in pieces(raw, size):
                bench.feed(Received(peer, piece))
        bench.check()


SEEDS = [
    # Subscriptions, a message that is accepted and passed on, the same again.
    bytes((1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 2, 1, 4, 1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0)),
    # GRAFT, PRUNE, IHAVE and IWANT, with heartbeats between them.
    bytes((1, 1, 9, 1, 0, 0, 5, 2, 2, 0, 3, 0, 3, 1, 0, 2, 1, 0, 0, 10, 1, 1, 0, 6, 0, 0, 3, 1, 1)),
    bytes((0, 1, 3)) + bytes(range(1, 120)),
    b"\x01\x00\x05" + b"\x00\x0c" + length_prefixed(bytes_field(1, b"\x08\x01\x12\x01a")),
    b"\x01\x00\x00" + b"\x01\x1e" + length_prefixed(bytes_field(2, b"\x22\x01a" + bytes(20))),
    b"\x01\x00\x00" + b"\x02\x10" + length_prefixed(bytes_field(3, b"\x1a\x03\x0a\x01a")),
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
