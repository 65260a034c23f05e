"""Who listens to a topic: what an SDK asks its node, and what it makes of the answers."""

from __future__ import annotations

import pytest

from rumormill.bcos.effects import Multicast, MulticastEnded, Watch
from rumormill.bcos.wire.channel_packet import ChannelType
from rumormill.core.machine import Subscribe
from tests.helpers.bcos.sdk_bench import SdkBench

A, B = "a" * 128, "b" * 128


def test_a_node_of_our_make_tells_who_listens() -> None:
    bench = SdkBench()
    node = bench.node()
    assert bench.machine.holders("weather") is None
    bench.feed(Watch("weather", True))
    bench.wake()
    (asked,) = node.answer_calls({"nodes": [A, B], "here": 1})
    assert (asked["method"], asked["params"]) == ("rumormill_subscribers", ["weather"])
    assert bench.machine.holders("weather") == (node.address, A, B)
    assert [event.peer for event in bench.events("peer_subscribed")] == [node.address, A, B]
    bench.advance(0.25)
    node.answer_calls({"nodes": [B], "here": 0})
    assert bench.machine.holders("weather") == (B,)
    assert [event.peer for event in bench.events("peer_unsubscribed")] == [node.address, A]


def test_we_ourselves_do_not_count_as_somebody_who_listens() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Subscribe("weather"))
    bench.wake()
    node.answer_calls({"nodes": [], "here": 1})
    assert bench.machine.holders("weather") == ()
    bench.advance(5)
    node.answer_calls({"nodes": [], "here": 2})
    assert bench.machine.holders("weather") == (node.address,)


def test_another_node_is_asked_for_its_peers() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Watch("weather", True))
    bench.wake()
    node.refuse_calls()
    bench.wake()
    peers = [{"NodeID": A, "Topic": ["weather"]}, {"NodeID": B, "Topic": []}, 7, {"Topic": 1}]
    (asked,) = node.answer_calls(peers)
    assert (asked["method"], asked["params"]) == ("getPeers", [1])
    assert bench.machine.holders("weather") == (A,)
    bench.advance(0.25)
    assert [call["method"] for call in node.answer_calls([])] == ["getPeers"]
    assert bench.machine.holders("weather") == ()


def test_a_node_that_answers_nothing_leaves_us_ignorant() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Watch("weather", True))
    for _ in range(3):
        bench.wake()
        node.refuse_calls()
    assert bench.machine.holders("weather") is None
    bench.advance(60)
    assert node.packets(ChannelType.RPC) == []


def test_it_is_asked_more_often_while_somebody_waits() -> None:
    bench = SdkBench(watch_interval=0.25, subscribers_interval=5)
    node = bench.node()
    bench.feed(Watch("weather", True))
    bench.wake()
    for _ in range(8):
        assert len(node.answer_calls({"nodes": [], "here": 0})) == 1
        bench.advance(0.25)
    node.answer_calls({"nodes": [], "here": 0})
    bench.feed(Watch("weather", False))
    bench.advance(0.3)
    node.answer_calls({"nodes": [], "here": 0})
    bench.advance(4.9)
    assert node.answer_calls({}) == []
    bench.advance(0.2)
    assert len(node.packets(ChannelType.RPC)) == 1


def test_no_second_question_before_the_answer_to_the_first() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Watch("weather", True))
    bench.advance(4)
    assert len(node.packets(ChannelType.RPC)) == 1
    bench.advance(2)
    assert len(node.packets(ChannelType.RPC)) == 1


def test_the_receipt_of_a_multicast_names_those_who_listen() -> None:
    bench = SdkBench()
    node = bench.node()
    for holders in ([A, B], []):
        bench.feed(Watch("weather", True))
        bench.wake()
        node.answer_calls({"nodes": holders, "here": 0})
        bench.feed(Multicast(1, "weather", b"rain", 5))
        packet = node.packet(ChannelType.MULTICAST)
        node.send(ChannelType.RESPONSE, packet.seq, packet.data)
        assert bench.take(MulticastEnded)[0].receipt.reached == tuple(holders)
        bench.advance(0.25)


def test_without_a_node_nobody_is_known_and_the_next_is_asked_at_once() -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Subscribe("weather"))
    bench.wake()
    node.answer_calls({"nodes": [A], "here": 0})
    node.vanish()
    assert bench.machine.holders("weather") is None
    assert [event.peer for event in bench.events("peer_unsubscribed")] == [A]
    assert len(bench.node().packets(ChannelType.RPC)) == 1


def test_topics_that_are_asked_for_are_bounded() -> None:
    bench = SdkBench(max_known_topics=4)
    bench.node()
    bench.feed(Watch("first", True))
    for number in range(50):
        bench.feed(Multicast(number, f"topic-{number}", b"", 5))
    assert bench.machine.sizes()["known_topics"] == 4
    bench.wake()
    assert bench.machine.holders("first") is None
    bench.advance(60)
    assert bench.machine.sizes()["questions"] <= 4


@pytest.mark.parametrize("answer", [7, [], {"nodes": 7}, None])
def test_an_answer_that_makes_no_sense_costs_the_node_its_connection(answer: object) -> None:
    bench = SdkBench()
    node = bench.node()
    bench.feed(Watch("weather", True))
    bench.wake()
    node.answer_calls(answer)
    assert node.closed == ["bad_rpc_answer"]
