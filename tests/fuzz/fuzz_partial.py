"""Fuzz extensions and partial messages through a pubsub machine that exchanges parts."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.core.machines import AnyEffect, AnyInput
from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.core.machine import Drop, PeerJoined, PeerLeft, Received, Send, Subscribe
    from rumormill.core.protobuf import bytes_field, varint_field
    from rumormill.core.trace import TraceEvent
    from rumormill.libp2p.effects import StreamLost, StreamRenewed, StreamRestarted
    from rumormill.libp2p.gossipsub import GossipsubParameters, GossipsubRouter
    from rumormill.libp2p.gossipsub.features import MESHSUB_1_0, MESHSUB_1_3
    from rumormill.libp2p.gossipsub.partial import (
        ClosePartial,
        OpenPartial,
        PartList,
        PublishPartial,
    )
    from rumormill.libp2p.pubsub.parameters import PubsubParameters
    from rumormill.libp2p.pubsub.pubsub import Pubsub
    from rumormill.libp2p.wire import decode_rpc
    from rumormill.libp2p.wire.extensions import TEST_EXTENSION, decode_partial
    from rumormill.libp2p.wire.frames import FrameReader, length_prefixed

# Small, so that every limit is within reach of a short input.
PARAMETERS = PubsubParameters(max_rpc_size=4096, max_control_size=1024, queue_messages=4)
GOSSIPSUB = GossipsubParameters(
    D=2, D_low=1, D_high=3, D_lazy=2, test_extension=True, partial_messages=True,
    partial_group_ttl=2, partial_groups=4, partial_groups_per_topic=3, partial_groups_per_peer=2,
    partial_metadata_bytes=8, partial_bytes_per_peer=1024, partial_rpc_bytes=20,
)  # fmt: skip
PEERS = ["ann", "bob", "cyd"]
TOPICS = [b"a", b"b", b"closed", b"\xff"]
GROUPS = [b"g", b"h", b"i", b"j", b"", bytes(1025)]
COUNT = 10


class Author:
    peer_id = b"\x00\x01o"

    def sign(self, payload: bytes) -> bytes:
        return bytes(4)


class Bench:
    """Drives the machine, and checks what must always hold."""

    def __init__(self) -> None:
        self.now = 0.0
        self.pubsub = Pubsub(
            node="us",
            author=Author(),
            router=GossipsubRouter(GOSSIPSUB),
            random=random.Random(1),
            parameters=PARAMETERS,
        )
        for topic in ("a", "b"):
            self.feed(Subscribe(topic))
        self.feed(OpenPartial("a", True, lambda each: PartList(each, COUNT)))
        self.feed(OpenPartial("b", False))
        for peer in PEERS:
            self.feed(PeerJoined(peer, MESHSUB_1_3))

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
                    for _, inside in decode_rpc(frame, extensions=(10,)).extensions:
                        assert decode_partial(inside).group_id
                assert reader.pending == 0, "half a frame was sent"
            elif isinstance(effect, Drop):
                assert effect.peer not in self.pubsub.peers
            elif isinstance(effect, TraceEvent):
                assert effect.fields.get("reason") != "application_failed", effect.fields

    def check(self) -> None:
        sizes = self.pubsub.sizes()
        assert sizes["partial_groups"] <= 2 * (GOSSIPSUB.partial_groups + 3)
        assert sizes["partial_begun"] <= 2 * GOSSIPSUB.partial_groups_per_topic
        assert sizes["partial_bytes"] <= 1024 * len(PEERS)
        assert sizes["partial_views"] <= sizes["partial_groups"] * len(PEERS)
        assert sizes["extensions_heard"] <= len(PEERS)

    def act(self, choices: Choices) -> None:
        """Do something of our own: the application, the driver or the time."""
        action, peer = choices.number(8), PEERS[choices.number(len(PEERS))]
        topic = "ab"[choices.number(2)]
        if action == 0:
            self.now += choices.number(30) / 10
            self.carry_out(self.pubsub.wake(self.now))
        elif action <= 2:
            message = PartList(GROUPS[choices.number(4)], COUNT, eager=choices.number(2) == 1)
            for _ in range(choices.number(4)):
                message.add(choices.number(COUNT), choices.take(5))
            self.feed(OpenPartial(topic, choices.number(2) == 1))
            self.feed(PublishPartial(topic, message))
        elif action == 3 and peer not in self.pubsub.peers:
            self.feed(PeerJoined(peer, [MESHSUB_1_3, MESHSUB_1_0][choices.number(2)]))
        elif action == 4:
            self.feed(PeerLeft(peer))
        elif action == 5:
            self.feed(StreamLost(peer))
            self.feed(StreamRenewed(peer))
        elif action == 6:
            self.feed(ClosePartial(topic))
        else:
            self.feed(StreamRestarted(peer))


def rpc(choices: Choices) -> bytes:
    parts = []
    for _ in range(1 + choices.number(3)):
        kind, topic = choices.number(6), bytes_field(1, TOPICS[choices.number(len(TOPICS))])
        if kind == 0:
            word = varint_field(1, choices.number(4) and 1) + b"\x12" + topic[1:]
            word += varint_field(3, choices.number(3)) + varint_field(4, choices.number(3))
            parts.append(bytes_field(1, word))
        elif kind == 1:
            flags = [varint_field(number, 1) for number in (10, TEST_EXTENSION, 7)]
            announced = b"".join(flags[: choices.number(4)]) or choices.take(3)
            parts.append(bytes_field(3, bytes_field(6, announced)))
        elif kind == 2:
            parts.append(bytes_field(TEST_EXTENSION, choices.take(choices.number(3))))
        elif kind == 3:
            parts.append(choices.take(choices.number(12)))
        else:
            inside = topic + bytes_field(2, GROUPS[choices.number(len(GROUPS))])
            if choices.number(2):
                inside += bytes_field(3, choices.take(choices.number(24)))
            if choices.number(2):
                inside += bytes_field(4, choices.take(choices.number(10)))
            parts.append(bytes_field(10, inside))
    return length_prefixed(b"".join(parts))


def target(data: bytes) -> None:
    choices = Choices(data)
    bench = Bench()
    while choices:
        if choices.number(3) == 0:
            bench.act(choices)
        else:
            bench.feed(Received(PEERS[choices.number(len(PEERS))], rpc(choices)))
        bench.check()


SEEDS = [
    # A subscription that wants parts, the extension, then parts of a group.
    bytes((1, 0, 1, 0, 0, 1, 1, 1, 1, 0, 2, 1, 0, 0, 4, 0, 0, 1, 4, 1, 1, 97, 0, 1, 2, 3)),
    # Messages of our own, heartbeats, peers that come and go.
    bytes((0, 1, 0, 0, 0, 1, 3, 2, 97, 0, 0, 0, 9, 0, 4, 1, 0, 0, 3, 1, 0, 0, 5, 0, 0, 6, 0)),
    bytes(range(1, 160)),
    bytes(range(255, 60, -1)),
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
