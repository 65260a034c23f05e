"""Fuzz descriptors, trust edges and words on trust, alone and through a node with a guard."""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.core.machines import AnyEffect
from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.core.errors import RemoteProtocolError
    from rumormill.core.machine import Check, Checked, Deliver, PeerJoined, Received, Subscribe
    from rumormill.libp2p.descriptor import TopicDescriptor
    from rumormill.libp2p.descriptor.commands import KnowTopic
    from rumormill.libp2p.descriptor.control_message import (
        SUFFIX,
        Control,
        decode_control,
        encode_control,
    )
    from rumormill.libp2p.descriptor.edges import TrustEdge, decode_edge, sign_edge
    from rumormill.libp2p.descriptor.private_topics import PrivateTopics
    from rumormill.libp2p.pubsub.floodsub import FLOODSUB, FloodsubRouter
    from rumormill.libp2p.pubsub.pubsub import Pubsub
    from rumormill.libp2p.stack.keys import PrivateKey
    from rumormill.libp2p.wire.rpc import message_frame
    from rumormill.libp2p.wire.signing import signed_message

PEERS = [PrivateKey.from_seed(bytes((number,)) * 32) for number in range(5)]
ROOT = PEERS[0]
TOPIC = TopicDescriptor.make("t", auth="wot", publishers=(ROOT.peer,), encryption="wot")
NOW = 1_800_000_000.0


def alone(raw: bytes) -> None:
    """Any bytes give a value that encodes to them again, or a refusal."""
    for read in (TopicDescriptor.decode, decode_edge):
        with contextlib.suppress(RemoteProtocolError):
            assert read(raw).encode() == raw
    try:
        control = decode_control(raw)
    except RemoteProtocolError:
        return
    assert decode_control(encode_control(control)) == control


class Bench:
    """A node that guards a topic; checks what must hold of each message."""

    def __init__(self) -> None:
        self.guard = PrivateTopics(random.Random(1))
        self.pubsub = Pubsub(
            node=PEERS[4].peer, author=PEERS[4], router=FloodsubRouter(), random=random.Random(1),
            guard=self.guard,
        )  # fmt: skip
        self.pubsub.handle(KnowTopic(TOPIC), NOW)
        self.pubsub.handle(Subscribe(TOPIC.topic_id), NOW)
        self.pubsub.handle(PeerJoined("ann", FLOODSUB), NOW)
        self.sequence = 0

    def take(self, author: PrivateKey, data: bytes, control: bool) -> None:
        self.sequence += 1
        topic = TOPIC.topic_id + (SUFFIX if control else "")
        frame = message_frame(signed_message(author, data, (topic,), self.sequence))
        self.carry_out(self.pubsub.handle(Received("ann", frame), NOW), author)

    def carry_out(self, effects: list[AnyEffect], author: PrivateKey) -> None:
        for effect in effects:
            if isinstance(effect, Check):
                self.carry_out(self.pubsub.handle(Checked(effect.token, "accept"), NOW), author)
            elif isinstance(effect, Deliver):
                topic = self.guard.topic(TOPIC.topic_id)
                assert topic is not None and topic.trust.trusts(author.peer_id, NOW)

    def check(self) -> None:
        sizes = self.guard.sizes()
        assert sizes["trust_edges"] <= 20 and sizes["unread_messages"] <= 256
        topic = self.guard.topic(TOPIC.topic_id)
        assert topic is not None
        for edge in topic.trust.edges():
            assert edge.verify(TOPIC.digest)
        self.pubsub.wake(NOW)


def an_edge(choices: Choices) -> TrustEdge:
    issuer, subject = PEERS[choices.number(5)], PEERS[choices.number(5)]
    if issuer is subject:
        subject = PEERS[(PEERS.index(issuer) + 1) % 5]
    until = [0, int(NOW) - 1, int(NOW) + 1000][choices.number(3)]
    edge = sign_edge(
        issuer, TOPIC.digest, subject.peer_id, sequence=1 + choices.number(3), until=until
    )
    return edge._replace(sequence=4) if choices.number(8) == 0 else edge


def target(raw: bytes) -> None:
    alone(raw)
    choices, bench = Choices(raw), Bench()
    while choices:
        author = PEERS[choices.number(4)]
        kind = choices.number(3)
        if kind == 0:
            bench.take(author, choices.take(choices.number(60)), control=True)
        elif kind == 1:
            edges = tuple(an_edge(choices) for _ in range(1 + choices.number(4)))
            bench.take(author, encode_control(Control(edges)), control=True)
        else:
            bench.take(author, b"\x01" + choices.take(choices.number(80)), control=False)
        bench.check()


SEEDS = [
    TOPIC.encode(),
    sign_edge(ROOT, TOPIC.digest, PEERS[1].peer_id, sequence=1, until=int(NOW) + 9).encode(),
    encode_control(Control(known=bytes(16))),
    bytes(range(90)),
    bytes((1, 1, 0, 0, 1, 2, 0, 1, 1, 2, 3, 2, 60)) + b"data" * 20,
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
