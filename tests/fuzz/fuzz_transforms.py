"""Fuzz messages that are packed by snappy, through a pubsub machine: what is in them, and bombs."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.core.machines import AnyEffect
from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from cramjam import snappy

    from rumormill.core.machine import Check, Checked, Deliver, PeerJoined, Received, Subscribe
    from rumormill.core.protobuf import encode_varint
    from rumormill.core.trace import REJECTED, TraceEvent
    from rumormill.libp2p.live.author_file import MAGIC, decode_authors, encode_authors
    from rumormill.libp2p.pubsub.floodsub import FLOODSUB, FloodsubRouter
    from rumormill.libp2p.pubsub.parameters import PubsubParameters
    from rumormill.libp2p.pubsub.pubsub import Pubsub
    from rumormill.libp2p.pubsub.topics.transforms import SnappyTransform
    from rumormill.libp2p.wire.message import build_message
    from rumormill.libp2p.wire.rpc import message_frame

LARGEST = 3000
PARAMETERS = PubsubParameters(
    signing="StrictNoSign", message_id="ethereum", transforms={"t": SnappyTransform(LARGEST)},
    max_check_bytes=20_000, max_rejections=1000, topic_sizes={"t": 2000},
)  # fmt: skip
REASONS = {"bad_snappy", "inflates_too_large", "too_large", "validator", "bad_signature"}


class Nobody:
    """Who the machine publishes as."""

    peer_id = b"\x00\x01o"

    def sign(self, payload: bytes) -> bytes:
        return b""


class Bench:
    """Takes messages; checks what must hold of each."""

    def __init__(self) -> None:
        self.open_checks: list[int] = []
        self.pubsub = Pubsub(
            node="us", author=Nobody(), router=FloodsubRouter(), random=random.Random(1),
            parameters=PARAMETERS,
        )  # fmt: skip
        self.pubsub.handle(PeerJoined("ann", FLOODSUB), 0.0)
        self.pubsub.handle(PeerJoined("bob", FLOODSUB), 0.0)
        self.pubsub.handle(Subscribe("t"), 0.0)

    def take(self, wire: bytes, peer: str) -> None:
        frame = message_frame(build_message(data=wire, topics=("t",)))
        self.carry_out(self.pubsub.handle(Received(peer, frame), 0.0))

    def answer(self, verdict: str) -> None:
        token = self.open_checks.pop(0)
        self.carry_out(self.pubsub.handle(Checked(token, verdict), 0.0))

    def carry_out(self, effects: list[AnyEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Check):  # of a message, or of the next copy of a forged one
                message = effect.subject
                assert len(message.data) <= LARGEST
                assert bytes(snappy.decompress_raw(message.wire_data)) == message.data
                self.open_checks.append(effect.token)
            elif isinstance(effect, Deliver):
                assert len(effect.message.data) <= LARGEST
            elif isinstance(effect, TraceEvent) and effect.event == REJECTED:
                assert effect.fields["reason"] in REASONS

    def check(self) -> None:
        checks = self.pubsub._intake.checks
        assert checks.bytes == sum(check.size for check in checks._by_token.values())
        assert checks.bytes <= PARAMETERS.max_check_bytes + 2 * LARGEST
        if not self.open_checks:
            assert checks.bytes == 0
            assert all(state.check_bytes == 0 for state in self.pubsub.peers.values())


def data(choices: Choices) -> bytes:
    kind = choices.number(4)
    content = choices.take(choices.number(40)) * (1 + choices.number(120))
    if kind == 0:
        return content
    packed = bytearray(snappy.compress_raw(content))
    if kind == 1:  # with bits flipped
        for _ in range(1 + choices.number(3)):
            packed[choices.number(256) % len(packed)] ^= 1 << choices.number(8)
    if kind == 2:  # with a length that is a lie
        return encode_varint(1 << choices.number(40)) + bytes(packed[1:])
    return bytes(packed)


def an_author_file(raw: bytes) -> None:
    try:
        numbers = decode_authors(MAGIC + raw)
    except ValueError:
        return
    assert decode_authors(encode_authors(numbers)) == numbers


def target(raw: bytes) -> None:
    an_author_file(raw)
    choices, bench = Choices(raw), Bench()
    while choices:
        if bench.open_checks and choices.number(3) == 0:
            bench.answer(["accept", "reject", "ignore", "forged"][choices.number(4)])
        else:
            bench.take(data(choices), ["ann", "bob"][choices.number(2)])
        bench.check()
    while bench.open_checks:
        bench.answer("accept")
    bench.check()


SEEDS = [
    bytes((3, 10)) + b"0123456789" + bytes((5, 0, 0, 1, 0)),
    bytes((1, 4)) + b"rain" + bytes((100, 2, 7, 3, 9, 1, 1)),
    bytes((2, 4)) + b"rain" + bytes((1, 33, 0, 2, 30)),
    b"\x03ann" + bytes(7) + b"\x07\x03bob" + bytes(8),
    bytes(range(120)),
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
