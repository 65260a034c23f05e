"""Fuzz peer exchange: PRUNEs that name peers, with records that are true, or nearly so, or not."""

from __future__ import annotations

import hashlib
import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.core.machines import AnyEffect, AnyInput
from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.core.machine import (
        Connect,
        PeerJoined,
        PeerLeft,
        Received,
        Send,
        Subscribe,
        Unsubscribe,
    )
    from rumormill.core.protobuf import bytes_field, varint_field
    from rumormill.libp2p.gossipsub import MESHSUB_1_1, GossipsubParameters, GossipsubRouter
    from rumormill.libp2p.gossipsub.exchange.leads import MOST_LEADS
    from rumormill.libp2p.pubsub.pubsub import Pubsub
    from rumormill.libp2p.stack.address_book import AddressBook
    from rumormill.libp2p.stack.envelope import seal
    from rumormill.libp2p.stack.keys import PrivateKey
    from rumormill.libp2p.stack.multiaddr import Multiaddr
    from rumormill.libp2p.stack.peer_record import (
        DOMAIN,
        PAYLOAD_TYPE,
        PeerRecord,
        encode_peer_record,
        open_peer_record,
        sign_peer_record,
    )
    from rumormill.libp2p.stack.reach import Reach, reach_of_text
    from rumormill.libp2p.wire import Prune, decode_rpc
    from rumormill.libp2p.wire.frames import FrameReader, length_prefixed

KEYS = [PrivateKey.from_seed(hashlib.sha256(bytes((each,))).digest()) for each in range(6)]
US, TELLERS = KEYS[0], KEYS[1:3]
HOSTS = ["8.8.8.8", "10.0.0.1", "127.0.0.1", "0.0.0.0"]
ADDRESSES = [Multiaddr("ip4", host, 4001) for host in HOSTS]
TOPICS = ["a", "b"]


def parameters(only_public: bool) -> GossipsubParameters:
    """Small, so that every limit is within reach of a short input."""
    return GossipsubParameters(
        D=2, D_low=1, D_high=3, peer_exchange=True, prune_peers=4, exchange_dials=2,
        exchange_only_public=only_public, prune_backoff=4.0, unsubscribe_backoff=2.0,
    )  # fmt: skip


class Bench:
    """Drives the machine, and checks what must always hold."""

    def __init__(self, only_public: bool) -> None:
        self.now = 0.0
        self.only_public = only_public
        self.pubsub = Pubsub(
            node=US.peer,
            author=US,
            router=GossipsubRouter(parameters(only_public)),
            random=random.Random(1),
            address_book=AddressBook(3),
        )
        for key in TELLERS:
            self.feed(PeerJoined(key.peer, MESHSUB_1_1))
        self.feed(Subscribe("a"))

    def feed(self, input: AnyInput) -> None:
        self.carry_out(self.pubsub.handle(input, self.now))

    def wake(self, seconds: float) -> None:
        self.now += seconds
        self.carry_out(self.pubsub.wake(self.now))

    def carry_out(self, effects: list[AnyEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Connect):
                self.check_dial(effect)
            elif isinstance(effect, Send):
                for frame in FrameReader(1 << 20).feed(effect.packet):
                    self.check_names(frame)

    def check_dial(self, effect: Connect) -> None:
        assert effect.peer != US.peer and effect.peer not in self.pubsub.peers
        allowed = {Reach.PUBLIC} if self.only_public else {Reach.PUBLIC, Reach.PRIVATE}
        assert {reach_of_text(each) for each in effect.addresses} <= allowed, (
            "nobody is on loopback"
        )

    def check_names(self, frame: bytes) -> None:
        control = decode_rpc(frame).control
        for prune in control.of(Prune) if control else ():
            assert len(prune.peers) <= 4
            for each in prune.peers:
                if each.record:
                    open_peer_record(each.record, each.peer_id)

    def check(self) -> None:
        sizes = self.pubsub.sizes()
        assert sizes["peer_records"] <= 3
        assert sizes["exchange_waiting"] <= MOST_LEADS >= sizes["exchange_dialed"]


def signed(choices: Choices) -> bytes:
    """A record: true, about or by another, for another purpose, or with a bit that is wrong."""
    about, by = KEYS[choices.number(6)], KEYS[choices.number(6)]
    by = about if choices.number(4) else by
    addresses = tuple(
        ADDRESSES[choices.number(4)].to_bytes() if choices.number(4) else choices.take(5)
        for _ in range(choices.number(4))
    )
    record = PeerRecord(about.peer_id, choices.number(256), addresses)
    domain = DOMAIN if choices.number(8) else "libp2p-pubsub"
    raw = bytearray(seal(by, domain, PAYLOAD_TYPE, encode_peer_record(record)))
    if not choices.number(4):
        raw[choices.number(256) % len(raw)] ^= 1 << choices.number(8)
    return bytes(raw)


def exchanged(choices: Choices) -> bytes:
    kind = choices.number(4)
    if kind == 0:
        return choices.take(choices.number(40))
    peer_id = bytes_field(1, KEYS[choices.number(6)].peer_id)
    if kind == 1:
        return peer_id
    record = signed(choices)
    return peer_id + bytes_field(2, record + choices.take(choices.number(3)))


def prune(choices: Choices) -> bytes:
    topic = [b"a", b"b", b"c"][choices.number(3)]
    peers = [bytes_field(2, exchanged(choices)) for _ in range(choices.number(7))]
    entry = bytes_field(1, topic) + b"".join(peers) + varint_field(3, choices.number(10))
    return length_prefixed(bytes_field(3, bytes_field(4, entry)))


def target(data: bytes) -> None:
    choices = Choices(data)
    bench = Bench(only_public=choices.number(2) == 1)
    while choices:
        action, key = choices.number(8), KEYS[1 + choices.number(5)]
        topic = TOPICS[choices.number(2)]
        if action == 0:
            bench.wake(choices.number(30) / 10)
        elif action == 1 and key.peer not in bench.pubsub.peers:
            bench.feed(PeerJoined(key.peer, MESHSUB_1_1))
        elif action == 2:
            bench.feed(PeerLeft(key.peer))
        elif action == 3:
            bench.feed(Subscribe(topic) if choices.number(2) else Unsubscribe(topic))
        elif action == 4:
            raw = sign_peer_record(key, choices.number(9), ADDRESSES[: choices.number(5)])
            bench.pubsub.address_book.put(open_peer_record(raw, key.peer_id))
        elif action == 5:
            said = bytes_field(1, varint_field(1, 1) + bytes_field(2, topic.encode()))
            bench.feed(Received(key.peer, length_prefixed(said)))
        else:
            bench.feed(Received(TELLERS[choices.number(2)].peer, prune(choices)))
        bench.check()


SEEDS = [
    # A PRUNE with a true record of a stranger, then two heartbeats.
    bytes((0, 7, 0, 0, 0, 1, 2, 4, 4, 0, 1, 9, 2, 1, 0, 1, 0, 1, 1, 0, 5, 0, 20, 0, 20)),
    # Peers that listen, records in the book, and an end to the topic.
    bytes((0, 5, 0, 0, 5, 1, 0, 4, 0, 0, 3, 4, 4, 1, 0, 2, 3, 3, 0, 0, 0, 0, 0, 0, 9)),
    bytes((1, 6, 0, 0, 1, 0, 3, 1, 2, 3, 2, 3, 3, 3, 1, 2, 1, 1, 1, 0, 9, 9)),
    bytes(range(2, 200)),
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
