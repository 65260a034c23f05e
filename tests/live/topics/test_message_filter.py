"""A filter of one subscription: what its reader wants of a topic, and nobody else is told."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import rumormill
from rumormill import Libp2pNetwork, Message, TraceEvent

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


async def opened(**settings: Any) -> Libp2pNetwork:
    network = await rumormill.open("floodsub", listen=LOOPBACK, **settings)
    assert isinstance(network, Libp2pNetwork)
    return network


def is_rain(message: Message) -> bool:
    return message.data.startswith(b"rain")


async def test_a_subscription_gets_only_what_its_filter_wants_and_others_get_everything() -> None:
    async with await opened() as network:
        rain, everything = network.subscribe("t", only=is_rain), network.subscribe("t")
        for data in (b"rain at noon", b"sun", b"rain at night"):
            await network.publish("t", data)
        assert [(await rain.get()).data for _ in range(2)] == [b"rain at noon", b"rain at night"]
        assert [rain.pending, everything.pending] == [0, 3]


async def test_what_is_left_out_is_counted_and_traced_and_is_no_loss() -> None:
    async with await opened(deliver_own=True) as network:
        seen: list[TraceEvent] = []
        network.on_trace(seen.append)
        rain = network.subscribe("t", only=is_rain)
        receipt = await network.publish("t", b"sun")
        assert (rain.filtered, rain.dropped, rain.pending) == (1, 0, 0)
        assert network.counters["filtered"] == 1
        assert network.counters["dropped"] == 0
        (told,) = [each for each in seen if each.event == "filtered"]
        assert (told.topic, told.message_id) == ("t", receipt.id)
        assert told.fields["reason"] == "subscription_filter"


async def test_what_is_left_out_takes_no_room_in_the_buffer() -> None:
    async with await opened() as network:
        rain = network.subscribe("t", buffer=1, when_full="drop_oldest", only=is_rain)
        await network.publish("t", b"rain")
        for _ in range(10):
            await network.publish("t", b"sun")
        assert (rain.dropped, rain.filtered) == (0, 10)
        assert (await rain.get()).data == b"rain"


async def test_peers_get_what_our_filter_leaves_out() -> None:
    async with await opened() as first, await opened() as middle, await opened() as last:
        nothing = middle.subscribe("t", only=lambda message: False)
        messages = last.subscribe("t")
        await middle.connect(last.addresses[0])
        await middle.wait_for_peers("t", timeout=10)
        await first.connect(middle.addresses[0])
        await first.publish("t", b"sun", ready=10)
        assert (await messages.get(timeout=10)).data == b"sun"
        assert (nothing.filtered, nothing.pending) == (1, 0)


async def test_own_messages_can_be_left_out_of_one_subscription() -> None:
    async with await opened() as network:
        others = network.subscribe("t", only=lambda message: message.sender != network.id)
        await network.publish("t", b"ours")
        assert (others.pending, others.filtered) == (0, 1)


async def test_a_filter_that_fails_leaves_its_message_out_and_is_told_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(message: Message) -> bool:
        raise ZeroDivisionError("a mistake")

    async with await opened() as network:
        messages = network.subscribe("t", only=broken)
        with caplog.at_level(logging.WARNING, "rumormill"):
            await network.publish("t", b"1")
            await network.publish("t", b"2")
        assert (messages.filtered, messages.pending) == (2, 0)
        assert network.counters["filtered.subscription_filter_failed"] == 2
        assert len([each for each in caplog.records if "filter" in each.message]) == 1


async def test_a_topic_object_takes_a_filter_as_well() -> None:
    async with await opened() as network:
        rain = network.topic("t").subscribe(only=is_rain)
        await network.publish("t", b"sun")
        assert rain.filtered == 1
