"""Fuzz discovery: Kademlia and rendezvous as servers and clients, by whatever peers say to them."""

from __future__ import annotations

import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.core.machines import AnyEffect, AnyInput
from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.libp2p.discovery.discovery import Discovery
    from rumormill.libp2p.discovery.effects import (
        Answer,
        Answered,
        Ask,
        Asked,
        OwnAddresses,
        PeerConnected,
        PeerDisconnected,
        PeerIdentified,
        TopicsChanged,
        Unanswered,
    )
    from rumormill.libp2p.discovery.kademlia import message as kademlia
    from rumormill.libp2p.discovery.kademlia.kademlia import Kademlia
    from rumormill.libp2p.discovery.kademlia.parameters import KAD_PROTOCOL, KademliaParameters
    from rumormill.libp2p.discovery.rendezvous import message as rendezvous
    from rumormill.libp2p.discovery.rendezvous.parameters import RendezvousParameters
    from rumormill.libp2p.discovery.rendezvous.records import sign_record
    from rumormill.libp2p.discovery.rendezvous.rendezvous import RENDEZVOUS_PROTOCOL, Rendezvous
    from rumormill.libp2p.stack.keys import PrivateKey
    from rumormill.libp2p.stack.multiaddr import Multiaddr

KEYS = [PrivateKey.from_seed(bytes([number]) * 32) for number in range(5)]
US, *PEERS = KEYS
PLACES = ["/ip4/10.0.0.{}/tcp/1", "/ip4/8.8.8.{}/tcp/1", "/ip4/127.0.0.{}/tcp/1"]
POINT = f"/ip4/10.0.0.1/tcp/1/p2p/{PEERS[0].peer}"
NAMESPACES = ["floodsub:a", "other", "", "n" * 300]
RECORDS = [sign_record(each, 1, [Multiaddr.parse("/ip4/10.0.0.9/tcp/1")], "rust") for each in PEERS]


class OneTopic:
    """A topic that never has enough."""

    def topics(self) -> list[str]:
        return ["a"]

    def peers(self, topic: str) -> int:
        return 0

    def wanted(self, topic: str) -> int:
        return 3

    def lacks_mesh(self, topic: str) -> int:
        return 0


class Bench:
    """Drives the machine, and checks what must always hold."""

    def __init__(self) -> None:
        self.now = 0.0
        self.asks: list[Ask] = []
        ways = [
            Kademlia(KademliaParameters(kademlia_mode="server", kademlia_bucket_size=2)),
            Rendezvous(US, RendezvousParameters(rendezvous=(POINT,), rendezvous_server=True)),
        ]
        self.machine = Discovery(
            node=US.peer, ways=ways, census=OneTopic(), random=random.Random(1)
        )
        self.feed(OwnAddresses(("/ip4/10.0.0.1/tcp/1",), b"record"))
        self.feed(TopicsChanged())

    def feed(self, input: AnyInput) -> None:
        self.carry_out(self.machine.handle(input, self.now))
        due = self.machine.next_wake()
        if due is not None and due <= self.now:
            self.carry_out(self.machine.wake(self.now))

    def carry_out(self, effects: list[AnyEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Ask):
                self.asks.append(effect)
            elif isinstance(effect, Answer):
                assert len(effect.message) < kademlia.LARGEST_ANSWER

    def act(self, choices: Choices) -> None:
        """Something happens that is not of a peer's making."""
        peer = PEERS[choices.number(len(PEERS))].peer
        action = choices.number(4)
        place = PLACES[choices.number(len(PLACES))].format(choices.number(200) + 1)
        if action == 0:
            self.now += choices.number(200) / 4
            self.carry_out(self.machine.wake(self.now))
        elif action == 1 and peer not in self.machine.acquaintances:
            self.feed(PeerConnected(peer, place))
            self.feed(PeerIdentified(peer, (KAD_PROTOCOL, RENDEZVOUS_PROTOCOL), (place,)))
        elif action == 2:
            self.feed(PeerDisconnected(peer))
        elif self.asks:
            ask = self.asks.pop(choices.number(len(self.asks)))
            self.feed(Unanswered(ask.request, ask.peer, "timeout"))

    def check(self) -> None:
        sizes = self.machine.sizes()
        assert sizes["kademlia_requests"] + sizes["rendezvous_wishes"] <= len(self.asks)
        assert sizes["kademlia_searches"] <= 32
        assert sizes["discovery_acquaintances"] <= len(PEERS)
        assert sizes["kademlia_table"] <= len(PEERS)


def peers_of(choices: Choices) -> tuple[kademlia.PeerInfo, ...]:
    found = []
    for _ in range(choices.number(4)):
        peer_id = PEERS[choices.number(len(PEERS))].peer_id
        if choices.number(3) == 0:
            peer_id = b"\x00\x04" + choices.take(4)
        place = PLACES[choices.number(len(PLACES))].format(choices.number(200) + 1)
        address = Multiaddr.parse(place).to_bytes() if choices.number(4) else choices.take(5)
        found.append(kademlia.PeerInfo(peer_id, (address,)))
    return tuple(found)


def kademlia_words(choices: Choices) -> bytes:
    key = PEERS[choices.number(len(PEERS))].peer_id if choices.number(2) else choices.take(5)
    kind = list(kademlia.Kind)[choices.number(6)]
    return kademlia.encode_message(
        kademlia.KademliaMessage(kind, key, peers_of(choices), peers_of(choices))
    )


def rendezvous_words(choices: Choices) -> bytes:
    namespace = NAMESPACES[choices.number(len(NAMESPACES))]
    record = RECORDS[choices.number(len(RECORDS))] if choices.number(3) else choices.take(9)
    register = rendezvous.Register(namespace, record, choices.number(30_000))
    status = [0, 100, 103, 999][choices.number(4)]
    said: list[rendezvous.RendezvousMessage] = [
        register,
        rendezvous.Registered(status, choices.number(30_000)),
        rendezvous.Unregister(namespace),
        rendezvous.Discover(namespace, choices.number(9), choices.take(choices.number(12))),
        rendezvous.Discovered(status, (register,) * choices.number(4), choices.take(4)),
    ]
    return rendezvous.encode_message(said[choices.number(len(said))])


def target(data: bytes) -> None:
    choices = Choices(data)
    bench = Bench()
    exchange = 0
    while choices:
        kind = choices.number(4)
        if kind == 0:
            bench.act(choices)
            continue
        words = [kademlia_words, rendezvous_words][choices.number(2)]
        said = words(choices) if choices.number(4) else choices.take(choices.number(40))
        if kind == 1 and bench.asks:
            ask = bench.asks.pop(choices.number(len(bench.asks)))
            bench.feed(Answered(ask.request, ask.peer, said))
        else:
            exchange += 1
            protocol = KAD_PROTOCOL if words is kademlia_words else RENDEZVOUS_PROTOCOL
            peer = PEERS[choices.number(len(PEERS))].peer
            bench.feed(Asked(exchange, peer, protocol, said))
        bench.check()


SEEDS = [
    bytes(range(1, 200)),
    bytes((0, 0, 1, 0, 5) * 3 + (1, 0, 1, 0, 0, 3, 1, 1) * 20),
    bytes((2, 1, 1, 2, 0, 1, 9) * 30),
    bytes(range(255, 60, -1)),
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
