"""Two whole nodes that dial each other at once, and lose one connection or the other at any time.

As long as one connection is left, or comes back, everything that is published afterwards arrives in
both directions, and nobody is in a mesh who is not there.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.machine import Deliver, Publish, Subscribe
from rumormill.core.transport import Dial
from rumormill.libp2p.gossipsub import GossipsubRouter
from rumormill.libp2p.host.host import Host
from rumormill.libp2p.pubsub.floodsub import FloodsubRouter
from rumormill.libp2p.pubsub.pubsub import Pubsub
from tests.helpers.libp2p.host_net import HostNet, key

TOPIC = "weather"
NAMES = ("alice", "bob")

EVENTS = ("close", "dial", "publish", "wait", "wait long")

scripts = st.lists(
    st.tuples(st.sampled_from(EVENTS), st.integers(0, 1), st.integers(0, 100)), max_size=12
)


class Two:
    """Alice and Bob; each dials the other in the same instant."""

    def __init__(self, router: str = "gossipsub") -> None:
        self.net = HostNet()
        self.pubsubs = [self._pubsub(name, router) for name in NAMES]
        self.hosts: list[Host] = [
            self.net.host(name, pubsub) for name, pubsub in zip(NAMES, self.pubsubs, strict=True)
        ]
        for host in self.hosts:
            self.net.feed(host, Subscribe(TOPIC))
        for who in (0, 1):
            self.dial(who)

    def _pubsub(self, name: str, router: str) -> Pubsub:
        identity = key(name)
        return Pubsub(
            node=identity.peer,
            author=identity,
            router=GossipsubRouter() if router == "gossipsub" else FloodsubRouter(),
            random=random.Random(name),
            first_sequence=1,
        )

    def dial(self, who: int) -> None:
        self.net.feed(self.hosts[who], Dial(self.net.seat(self.hosts[1 - who]).address))

    def connections(self, who: int) -> list[int]:
        return self.net.transports(self.hosts[who])

    def close(self, who: int, number: int) -> None:
        """One side closes one of its connections; the other hears of it a little later."""
        open_ones = self.connections(who)
        if open_ones:
            self.net.cut(self.hosts[who], open_ones[number % len(open_ones)])

    def publish(self, who: int, data: bytes) -> None:
        self.net.feed(self.hosts[who], Publish((TOPIC,), data))

    def got(self, who: int) -> list[bytes]:
        return [each.message.data for each in self.net.of(self.hosts[who], Deliver)]

    def play(self, event: str, who: int, number: int) -> None:
        if event == "close":
            self.close(who, number)
        elif event == "dial":
            self.dial(who)
        elif event == "publish":
            self.publish(who, b"under way %d" % number)
        else:
            self.net.run(number / 1000 if event == "wait" else number / 10)

    def all_is_well(self) -> None:
        """Ten messages each way arrive, once each."""
        for who in (0, 1):
            sent = [b"%d from %d" % (number, who) for number in range(10)]
            for data in sent:
                self.publish(who, data)
                self.net.run(0.05)
            arrived = [each for each in self.got(1 - who) if each in sent]
            assert arrived == sent, f"{NAMES[who]} to {NAMES[1 - who]}"


def live_through(script: list[tuple[str, int, int]], router: str) -> None:
    two = Two(router)
    for event, who, number in script:
        two.play(event, who, number)
    two.net.run(2.0)
    if not two.connections(0):
        for host, pubsub in zip(two.hosts, two.pubsubs, strict=True):
            assert host.peers() == () == pubsub.mesh(TOPIC)
        two.dial(0)
    two.net.run(90.0)  # past the longest back-off of the mesh
    two.all_is_well()
    for who in (0, 1):
        faults = two.net.traces(two.hosts[who], trace.PROTOCOL_ERROR)
        assert [fault.fields for fault in faults] == []


@pytest.mark.parametrize("router", ["gossipsub", "floodsub"])
@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("number", [0, 1])
def test_either_closes_either_of_two_connections_and_nothing_sent_afterwards_is_lost(
    router: str, who: int, number: int
) -> None:
    two = Two(router)
    two.net.run(3.0)
    assert [len(two.connections(each)) for each in (0, 1)] == [2, 2]
    two.all_is_well()
    two.close(who, number)
    two.net.run(1.0)
    assert [len(two.connections(each)) for each in (0, 1)] == [1, 1]
    two.publish(0, b"now")
    two.publish(1, b"then")
    two.net.run(0.5)
    assert two.got(1)[-1] == b"now" and two.got(0)[-1] == b"then"
    for host in two.hosts:
        assert len(two.net.traces(host, trace.PEER_JOINED)) == 1, "it has never left"
        assert two.net.traces(host, trace.PEER_LEFT) == []


@given(scripts, st.sampled_from(["gossipsub", "floodsub"]))
@example([("wait", 0, 15), ("close", 0, 0)], "gossipsub")
@example([("wait", 0, 45), ("close", 0, 0), ("wait", 0, 5), ("close", 1, 1)], "gossipsub")
@example([("wait long", 0, 30), ("close", 0, 1), ("dial", 1, 0), ("close", 1, 0)], "floodsub")
@settings(max_examples=60, deadline=None)
def test_whatever_happens_to_connections_messages_arrive_afterwards(
    script: list[tuple[str, int, int]], router: str
) -> None:
    live_through(script, router)
