"""What an SDK can make a node keep has bounds, and goes with it; equal seeds give equal traces."""

from __future__ import annotations

from rumormill.bcos.wire.channel_packet import ChannelType
from rumormill.core.machine import Subscribe
from tests.helpers.bcos.sdk_side import SdkSide, node_id, seq


def test_sdks_that_come_and_go_leave_nothing_behind() -> None:
    side = SdkSide()
    side.node_has(node_id("b"), "far")
    for round in range(200):
        first, second = side.sdk("news", f"topic-{round}"), side.sdk("news")
        first.unicast("news", b"hello", seq(round))
        first.unicast("far", b"hello", seq(round))
        second.write((1000).to_bytes(4, "big") + bytes(100))
        second.full(True)
        first.multicast("news", bytes(500), seq(round))
        first.leave()
        second.leave()
    for asked in side.nodes.asked:
        side.fails(asked)
    side.passes(60)
    assert side.sizes() == dict.fromkeys(side.sizes(), 0)


def test_a_subscriber_that_never_answers_keeps_no_more_than_what_is_in_flight() -> None:
    side = SdkSide(max_session_requests=50)
    publisher = side.sdk()
    side.sdk("news")
    for number in range(500):
        publisher.unicast("news", bytes(100), seq(number))
    sizes = side.sizes()
    assert sizes["questions"] == sizes["session_requests"] == sizes["requests_in_flight"] == 50
    side.passes(5)
    assert side.sizes()["questions"] == 0
    assert [packet.result for packet in publisher.take()] == [104] * 50


def run(seed: int) -> list[str]:
    side = SdkSide(seed)
    side.feed(Subscribe("news"))
    for letter in "bcd":
        side.node_has(node_id(letter), "news", "weather")
    sdks = [side.sdk("news", "weather", f"t{number}") for number in range(5)]
    for number in range(50):
        sdks[number % 5].unicast("news", b"", seq(number))
        sdks[number % 5].multicast("weather", b"", seq(number))
        side.passes(1.0)
        sdks[number % 5].send(ChannelType.HEARTBEAT)
    return [repr(effect) for effect in side.effects]


def test_equal_seeds_give_equal_effects() -> None:
    assert run(5) == run(5)
    assert run(5) != run(6)
