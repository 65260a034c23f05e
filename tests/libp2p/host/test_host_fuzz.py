"""Peers that do anything in any order: the host never raises, and forgets them all in the end."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rumormill.core.machine import Drop, Hold, PeerJoined, PeerLeft, Received, Send, Writable
from rumormill.core.transport import (
    BytesReceived,
    Dial,
    HoldPeer,
    Listening,
    TransportOpened,
    WriteReady,
)
from rumormill.libp2p.effects import (
    PubsubEffect,
    PubsubInput,
    StreamLost,
    StreamRenewed,
    StreamRestarted,
)
from rumormill.libp2p.host.host import Host
from tests.helpers.libp2p.host_net import FAKE_PROTOCOL, FakePubsub, HostNet, RawPeer

PROTOCOLS = (FAKE_PROTOCOL, "/ipfs/id/1.0.0", "/ipfs/id/push/1.0.0", "/ipfs/ping/1.0.0", "/x/1")

ACTIONS = (
    "dial", "dialed", "open", "write", "end", "reset", "stop", "cut", "garbage", "send", "time",
    "long", "full", "ready", "hold", "hold peer", "drop", "listen", "protocols",
    "silent",
)  # fmt: skip

steps = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 1 << 16)), max_size=60)


class Strict(FakePubsub):
    """Pubsub that insists on what it was promised."""

    def __init__(self) -> None:
        super().__init__()
        self.here: dict[str, bool] = {}

    def handle(self, input: PubsubInput, now: float) -> list[PubsubEffect]:
        if isinstance(input, PeerJoined):
            assert input.peer not in self.here, "joined twice"
            self.here[input.peer] = True
        elif isinstance(input, PeerLeft):
            assert self.here.pop(input.peer, None) is not None, "left without having joined"
        elif isinstance(input, Writable):
            assert self.here[input.peer] != input.ready, "told what it knows"
            self.here[input.peer] = input.ready
        elif isinstance(input, Received | StreamRestarted | StreamLost | StreamRenewed):
            assert input.peer in self.here, "heard of a peer that is not there"
        return []


class Chaos:
    """One host, three peers, and no plan."""

    def __init__(self) -> None:
        self.net = HostNet()
        self.pubsub = Strict()
        self.silent = 10_000
        self.host: Host = self.net.host("alice", self.pubsub, max_connections=5, stream_attempts=2)
        self.raws = [self.net.raw(name, *PROTOCOLS) for name in ("bob", "carol", "dave")]

    def step(self, action: str, number: int) -> None:
        net, host = self.net, self.host
        raw = self.raws[number % 3]
        transports = net.transports(host)
        transport = transports[number % len(transports)] if transports else 0
        if action == "dial":
            net.feed(host, Dial(net.seat(raw).address, keep=number % 2 == 0))
        elif action == "dialed":
            net.feed(raw, Dial(net.seat(host).address))
        elif action == "silent":
            self.silent += 1
            net.feed(host, TransportOpened(self.silent, f"/ip4/192.0.2.{number % 9}/tcp/1"))
        elif action == "cut":
            net.cut(host, transport)
        elif action == "garbage":
            data = random.Random(number).randbytes(number % 300)
            net.feed(host, BytesReceived(transport, data))
        elif action in ("time", "long"):
            net.run(number % 100 / 50 if action == "time" else 45.0)
        elif action in ("full", "ready"):
            net.feed(host, WriteReady(transport, action == "ready"))
        elif action == "hold":
            net.feed(host, Hold(number % 2 == 0))
        elif action == "listen":
            net.feed(host, Listening((f"/ip4/192.0.2.1/tcp/{number % 5 + 1}",)))
        elif action == "protocols":
            raw.protocols = PROTOCOLS[number % 4 :]
        elif action in ("send", "hold peer", "drop"):
            self.pubsub_wants(action, raw, number)
        elif raw.connections:
            self.peer_does(action, raw, number)

    def pubsub_wants(self, action: str, raw: RawPeer, number: int) -> None:
        if action == "send":
            if self.pubsub.here.get(raw.peer):
                self.pubsub.waiting.append(Send(raw.peer, bytes(number * 10)))
        elif action == "drop":
            self.pubsub.waiting.append(Drop(raw.peer, "unwelcome"))
        else:
            self.pubsub.waiting.append(HoldPeer(raw.peer, number % 2 == 0))

    def peer_does(self, action: str, raw: RawPeer, number: int) -> None:
        every = list(raw.connections.values())
        connection = every[number % len(every)]
        stream = number % 20 + 1
        if action == "open" and connection.established:
            connection.open_stream((PROTOCOLS[number % 5],), self.net.now)
        elif action == "write":
            connection.write(stream, random.Random(number).randbytes(number * 7 % 100_000))
        elif action == "end":
            connection.close_stream(stream)
        elif action == "reset":
            connection.reset_stream(stream)
        elif action == "stop":
            connection.hold(stream, True)
        self.net.flush(raw)

    def close_all(self) -> None:
        """Everybody goes, and nobody can be reached again."""
        for seat in self.net.seats[1:]:
            seat.deaf = True
        for transport in self.net.transports(self.host):
            self.net.cut(self.host, transport)
        self.net.run(300.0)


def live_through(script: list[tuple[str, int]]) -> None:
    """Play a script; nothing may raise, and nothing may be left of it."""
    chaos = Chaos()
    for action, number in script:
        chaos.step(action, number)
    chaos.close_all()
    host = chaos.host
    assert chaos.pubsub.here == {} and host.peers() == ()
    table = host._table
    assert not (table.links or table.handshakes or table.inbound or table._by_group)
    assert len(host._streams) == len(host._streams._timers) == 0
    assert len(host._services) == len(host._services._timers) == len(host._keeper._timers) == 0
    assert all(target.keep for target in host._dialer._targets.values())


@given(steps)
@settings(max_examples=100)
def test_whatever_peers_do_the_host_goes_on_and_keeps_nothing(
    script: list[tuple[str, int]],
) -> None:
    live_through(script)


@pytest.mark.parametrize("seed", range(20))
def test_long_lives_of_many_peers_leave_nothing_behind(seed: int) -> None:
    """What a search for small examples seldom reaches: streams on connections that work."""
    source = random.Random(seed)
    often = ("dial", "dialed", "open", "open", "open", "write", "write", "send", "send", "ready")
    actions = ACTIONS + often * 3 + ("time",) * 25
    live_through([(source.choice(actions), source.randrange(1 << 16)) for _ in range(150)])
