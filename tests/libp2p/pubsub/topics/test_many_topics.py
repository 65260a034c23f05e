"""Many topics: what two nodes have in common is told, grafted and given up within all limits."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.core.machine import Drop, PeerJoined, Received, Send, Subscribe, Unsubscribe
from rumormill.libp2p.pubsub import FLOODSUB
from rumormill.libp2p.wire import Control, FrameReader, Graft, Prune, Rpc, Subscription, decode_rpc
from rumormill.libp2p.wire.limits import TAKEN_BY_ALL, RpcLimits
from tests.helpers.libp2p.workbench import MESHSUB_1_0, Workbench, gossipsub, signed

# What rumormill took up to now, whatever its settings.
FIRST_LIMITS = RpcLimits(control_messages=1000)


class Two:
    """Two nodes, wired to each other; each RPC is looked at on its way."""

    def __init__(self, topics: list[str], **parameters: Any) -> None:
        self.nodes = {name: gossipsub(seed=index, **parameters) for index, name in enumerate("ab")}
        self.rpcs: list[Rpc] = []
        for bench in self.nodes.values():
            for topic in topics:
                bench.pubsub.handle(Subscribe(topic), 0.0)
        for name, other in ("ab", "ba"):
            self.nodes[name].pubsub.handle(PeerJoined(other, MESHSUB_1_0), 0.0)
        self.settle(0.0)

    def settle(self, now: float) -> None:
        """Carry what waits to the other side, until nothing does."""
        for _ in range(200):
            moved = [self._carry(name, other, now) for name, other in ("ab", "ba")]
            if not any(moved):
                return
        raise AssertionError("they go on for ever")

    def _carry(self, name: str, other: str, now: float) -> bool:
        self.nodes[other].now = now
        effects = self.nodes[name].pubsub.wake(now)
        dropped = [each for each in effects if isinstance(each, Drop)]
        assert dropped == []
        packets = [each.packet for each in effects if isinstance(each, Send)]
        for packet in packets:
            for frame in FrameReader(1 << 20).feed(packet):
                self.rpcs.append(decode_rpc(frame, FIRST_LIMITS))
            answer = self.nodes[other].hand_over(Received(name, packet))
            assert not [each for each in answer if isinstance(each, Drop)]
        return bool(packets)


@pytest.mark.parametrize("count", [1001, 3000])
def test_two_nodes_with_more_than_a_thousand_topics_in_common_have_all_their_meshes(
    count: int,
) -> None:
    topics = [f"t{number}" for number in range(count)]
    two = Two(topics)
    for name, other in ("ab", "ba"):
        pubsub = two.nodes[name].pubsub
        assert all(pubsub.mesh(topic) == (other,) for topic in topics)


def test_twenty_thousand_topics_in_common_work_with_settings_that_allow_them() -> None:
    topics = [f"topic number {number}" for number in range(20_000)]
    two = Two(topics, max_topics_per_peer=20_000, work_burst=1.0)
    a, b = (bench.pubsub for bench in two.nodes.values())
    assert all(a.mesh(topic) == ("b",) and b.mesh(topic) == ("a",) for topic in topics)
    for topic in topics:
        a.handle(Unsubscribe(topic), 1.0)
    two.settle(1.0)
    assert not any(b.subscribers(topic) for topic in topics)
    assert not any(b.mesh(topic) for topic in topics)


def test_no_rpc_has_more_entries_than_every_peer_takes() -> None:
    two = Two([f"{number}" for number in range(3000)])
    assert sum(len(rpc.subscriptions) for rpc in two.rpcs) == 6000
    assert max(len(rpc.subscriptions) for rpc in two.rpcs) <= TAKEN_BY_ALL.subscriptions
    controls = [rpc.control for rpc in two.rpcs if rpc.control is not None]
    assert max(len(each.entries) for each in controls) <= TAKEN_BY_ALL.control_messages
    assert sum(len(each.of(Graft)) for each in controls) >= 3000


def test_a_node_that_takes_less_sends_less() -> None:
    bench = gossipsub(max_control_messages_per_rpc=7, max_subscriptions_per_rpc=5)
    bench.join("ann", *[f"{number}" for number in range(5)])
    bench.join("ann2", *[f"{number}" for number in range(5)])
    bench.subscribe(*[f"{number}" for number in range(5)])
    bench.writable("ann", False)
    for number in range(5, 30):
        bench.say("ann", Rpc(subscriptions=(Subscription(True, f"{number}"),)))
        bench.subscribe(f"{number}")
    bench.forget()
    bench.writable("ann", True)
    rpcs = bench.took("ann")
    assert sum(len(rpc.subscriptions) for rpc in rpcs) == 25
    assert max(len(rpc.subscriptions) for rpc in rpcs) == 5
    assert max(len((rpc.control or Control()).entries) for rpc in rpcs) == 7


def test_a_peer_may_graft_thousands_of_topics_in_one_rpc_as_go_does() -> None:
    topics = [f"t{number}" for number in range(4000)]
    bench = gossipsub()
    bench.subscribe(*topics)
    bench.join("ann", *topics)
    bench.say("ann", Rpc(control=Control(tuple(map(Graft, topics)))))
    bench.say("ann", Rpc(control=Control(tuple(Prune(topic, 60) for topic in topics))))
    assert not bench.of(Drop)


@pytest.mark.parametrize(
    ("setting", "rpc", "reason"),
    [
        (
            {"max_control_messages_per_rpc": 3},
            Rpc(control=Control(tuple(map(Graft, "abcd")))),
            "too_many_control_messages",
        ),
        (
            {"max_subscriptions_per_rpc": 3},
            Rpc(subscriptions=tuple(Subscription(True, each) for each in "abcd")),
            "too_many_subscriptions",
        ),
    ],
)
def test_the_limits_of_an_rpc_are_settings(setting: Any, rpc: Rpc, reason: str) -> None:
    for settings, dropped in ((setting, [reason]), ({}, [])):
        bench = gossipsub(**settings)
        bench.join("ann")
        bench.say("ann", rpc)
        assert [each.reason for each in bench.of(Drop)] == dropped


def test_the_most_topics_of_a_message_are_a_setting() -> None:
    message = signed("author", ("a", "b", "c"), b"rain", 1)
    for most, dropped in ((2, ["too_many_topics"]), (3, [])):
        bench = Workbench(max_topics_per_message=most)
        bench.subscribe("a")
        bench.join("ann", protocol=FLOODSUB)
        bench.send_message("ann", message)
        assert [each.reason for each in bench.of(Drop)] == dropped


def test_twenty_thousand_subscriptions_in_one_rpc_are_read_where_they_are_allowed() -> None:
    bench = gossipsub(max_subscriptions_per_rpc=20_000, max_topics_per_peer=20_000)
    bench.join("ann")
    topics = [f"{number}" for number in range(20_000)]
    bench.say("ann", Rpc(subscriptions=tuple(Subscription(True, each) for each in topics)))
    assert not bench.of(Drop)
    assert bench.pubsub.sizes()["peer_topics"] == 20_000
