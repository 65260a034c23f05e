"""What a user can do with a topic beside subscribing: relay, events, batches, fanout only."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

import rumormill
from rumormill import (
    ClosedError,
    ConfigError,
    Libp2pNetwork,
    LocalProtocolError,
    PeerJoinedTopic,
    PeerLeftTopic,
    RejectedError,
    TraceEvent,
)

LOOPBACK = "/ip4/127.0.0.1/tcp/0"
QUICK: dict[str, Any] = {"heartbeat_interval": 0.1}
EVERY_NETWORK = pytest.mark.parametrize("name", ["gossipsub", "floodsub", "randomsub"])


@asynccontextmanager
async def nodes(count: int, name: str = "gossipsub", **settings: Any) -> AsyncIterator[Any]:
    given = {**(QUICK if name == "gossipsub" else {}), **settings}
    opened: list[Libp2pNetwork] = []
    try:
        for _ in range(count):
            network = await rumormill.open(name, listen=LOOPBACK, **given)
            assert isinstance(network, Libp2pNetwork)
            opened.append(network)
        yield opened
    finally:
        await asyncio.gather(*(network.close() for network in opened))


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


# ---- randomsub


async def test_randomsub_is_a_network_like_the_others() -> None:
    async with nodes(2, "randomsub", network_size=49) as (left, right):
        messages = right.subscribe("weather")
        await left.connect(right.addresses[0])
        receipt = await left.publish("weather", b"rain", ready=10)
        assert receipt.peers == (right.id,) == left.mesh("weather")
        message = await messages.get(timeout=10)
        assert (message.data, message.network) == (b"rain", "randomsub")


async def test_a_randomsub_node_and_a_floodsub_node_understand_each_other() -> None:
    async with nodes(1, "randomsub") as (ours,), nodes(1, "floodsub") as (theirs,):
        here, there = ours.subscribe("weather"), theirs.subscribe("weather")
        await ours.connect(theirs.addresses[0])
        await ours.publish("weather", b"rain", ready=10)
        await theirs.publish("weather", b"sun", ready=10)
        assert (await there.get(timeout=10)).data == b"rain"
        assert [(await here.get(timeout=10)).data for _ in range(2)] == [b"rain", b"sun"]


async def test_nodes_with_a_protocol_of_their_own_understand_each_other_and_nobody_else() -> None:
    names = {"/house/1.2.0": "/meshsub/1.2.0"}
    async with (
        nodes(2, "gossipsub", protocol_names=names) as (left, right),
        nodes(1, "gossipsub") as (stranger,),
    ):
        messages, unheard = right.subscribe("weather"), stranger.subscribe("weather")
        await left.connect(right.addresses[0])
        await left.connect(stranger.addresses[0])
        await until(lambda: left.counters["pubsub_unavailable.no_common_protocol"])
        receipt = await left.publish("weather", b"rain", ready=10)
        assert receipt.peers == (right.id,)
        assert (await messages.get(timeout=10)).data == b"rain"
        assert unheard.pending == 0


async def test_each_network_has_the_keys_of_its_own_router() -> None:
    with pytest.raises(ConfigError, match="network_size"):
        rumormill.open("gossipsub", network_size=50)
    with pytest.raises(ConfigError, match="graft_on_subscribe"):
        rumormill.open("randomsub", graft_on_subscribe=True)


# ---- relaying


@EVERY_NETWORK
async def test_a_relay_joins_two_nodes_that_do_not_know_each_other(name: str) -> None:
    async with nodes(3, name) as (left, middle, right):
        messages = right.subscribe("weather")
        seen: list[Any] = []
        middle.on_deliver(seen.append)
        async with middle.relay("weather") as relay:
            await left.connect(middle.addresses[0])
            await right.connect(middle.addresses[0])
            await middle.wait_for_peers("weather", timeout=10)
            await left.publish("weather", b"rain", ready=10)
            assert (await messages.get(timeout=10)).data == b"rain"
            assert middle.relayed == ("weather",) and middle.topics == ()
        assert relay.closed and middle.relayed == ()
        await until(lambda: left.subscribers("weather") == ())
        assert seen == [] and middle.counters["relayed"] == 1 and not middle.counters["delivered"]


async def test_a_relay_lasts_until_its_last_handle_is_closed() -> None:
    async with nodes(2) as (left, right):
        await left.connect(right.addresses[0])
        first, second = right.relay("weather"), right.topic("weather").relay()
        await left.wait_for_peers("weather", timeout=10)
        assert right.sizes()["relays"] == 2
        first.close()
        first.close()
        assert right.relayed == ("weather",) and right.counters["relay_ended"] == 0
        async with right.subscribe("weather"):
            second.close()
            assert right.relayed == ()
            await asyncio.sleep(0.05)
            assert left.subscribers("weather") == (right.id,)
        await until(lambda: left.subscribers("weather") == ())
        again = right.relay("weather")
        await left.wait_for_peers("weather", timeout=10)
        assert repr(again) == "<Relay 'weather' open>"


async def test_closing_the_network_ends_its_relays_without_a_word() -> None:
    heard: list[TraceEvent] = []
    async with nodes(2) as (left, right):
        left.on_trace(heard.append)
        relay = right.relay("weather")
        await left.connect(right.addresses[0])
        await left.wait_for_peers("weather", timeout=10)
        await right.close()
        assert relay.closed
        with pytest.raises(ClosedError):
            right.relay("weather")
        await until(lambda: not left.peers)
    assert not [each for each in heard if each.event == "peer_unsubscribed"]


async def test_what_cannot_be_relayed_is_refused_and_nothing_is_kept() -> None:
    async with nodes(1, allowed_topics=["weather"]) as (node,):
        with pytest.raises(LocalProtocolError, match="not among the allowed ones"):
            node.relay("news")
        with pytest.raises(LocalProtocolError, match="a topic is a text"):
            node.relay("")
        assert node.relayed == () and node.sizes()["relays"] == 0


async def test_a_network_that_cannot_relay_says_what_to_do_instead() -> None:
    async with rumormill.open("bep50") as network:
        topic = "ab" * 32
        with pytest.raises(LocalProtocolError, match=r"bep50 cannot relay .*: join it"):
            network.relay(topic)
        with pytest.raises(LocalProtocolError, match="bep50 has no fanout"):
            network.topic(topic, fanout_only=True)
        assert not network.capabilities.relays and not network.capabilities.fanout


# ---- fanout only


async def test_a_topic_that_is_fanout_only_is_published_on_and_not_joined() -> None:
    async with nodes(2) as (left, right):
        messages = right.subscribe("weather")
        await left.connect(right.addresses[0])
        weather = left.topic("weather", fanout_only=True)
        assert (await weather.publish(b"rain", ready=10)).peers == (right.id,)
        assert (await messages.get(timeout=10)).data == b"rain"
        with pytest.raises(LocalProtocolError, match=r"'weather' is fanout-only .*never subscr"):
            weather.subscribe()
        with pytest.raises(LocalProtocolError, match="never relayed"):
            weather.relay()
        assert right.subscribers("weather") == () == left.topics
        assert "fanout-only" in repr(weather)


async def test_a_network_can_have_topics_that_nobody_here_may_join() -> None:
    async with nodes(1, topic_rules={"weather": {"fanout_only": True}}) as (node,):
        with pytest.raises(LocalProtocolError, match="fanout-only"):
            node.subscribe("weather")
        assert node.topics == ()


# ---- several messages at once


@EVERY_NETWORK
async def test_a_batch_arrives_whole_with_a_receipt_for_each(name: str) -> None:
    async with nodes(3, name) as (hub, *others):
        readers = [each.subscribe("weather") for each in others]
        for other in others:
            await hub.connect(other.addresses[0])
        await hub.wait_for_peers("weather", 2, timeout=10)
        batch = [b"%d" % number for number in range(600)]
        receipts = await hub.publish_many("weather", batch, ready=10)
        assert len({each.id for each in receipts}) == 600
        assert all(set(each.peers) == {other.id for other in others} for each in receipts)
        for reader in readers:
            got = [(await reader.get(timeout=10)).data for _ in batch]
            assert sorted(got) == sorted(batch)


async def test_a_batch_waits_for_room_and_loses_nothing() -> None:
    async with nodes(2, "floodsub", queue_messages=16, queue_bytes=256 * 1024) as (left, right):
        messages = right.subscribe("weather", buffer=10_000)
        await left.connect(right.addresses[0])
        batch = [number.to_bytes(2, "big") * 8192 for number in range(200)]
        async with asyncio.timeout(20):  # it goes on when there is room, not when time is up
            receipts = await left.publish_many("weather", batch, ready=10, timeout=60)
        assert [each.dropped for each in receipts] == [{}] * 200
        got = [(await messages.get(timeout=10)).data for _ in batch]
        assert sorted(got) == batch


async def test_a_batch_that_finds_no_room_in_time_drops_and_says_so() -> None:
    async with nodes(2, "floodsub", queue_messages=4) as (left, right):
        right.subscribe("weather", buffer=1)
        await left.connect(right.addresses[0])
        batch = [bytes(100_000)] * 100
        start = asyncio.get_running_loop().time()
        receipts = await left.publish_many("weather", batch, ready=10, timeout=0.2)
        assert asyncio.get_running_loop().time() - start < 5
        dropped = [each for each in receipts if each.dropped]
        assert dropped and dropped[-1].dropped == {right.id: "queue_full"}
        assert left.counters["dropped.queue_full"] == len(dropped)


async def test_a_batch_that_our_validator_refuses_leaves_nothing_of_it() -> None:
    async with nodes(1) as (node,):
        messages = node.subscribe("weather")
        node.add_validator("weather", lambda message: message.data != b"snow")
        with pytest.raises(RejectedError):
            await node.publish_many("weather", [b"rain", b"snow"])
        assert messages.pending == 0
        assert await node.publish_many("weather", []) == ()
        with pytest.raises(LocalProtocolError, match="a message is bytes"):
            await node.publish_many("weather", ["rain"])
        assert len(await node.topic("weather").publish_many([b"rain", b"sun"])) == 2
        assert messages.pending == 2


# ---- who comes and goes


@EVERY_NETWORK
async def test_one_hears_who_is_there_who_comes_and_who_leaves(name: str) -> None:
    async with nodes(3, name) as (ours, early, late):
        early_messages = early.subscribe("weather")
        await ours.connect(early.addresses[0])
        await ours.connect(late.addresses[0])
        await ours.wait_for_peers("weather", timeout=10)
        async with ours.topic_events("weather") as events:
            assert await events.get(timeout=10) == PeerJoinedTopic("weather", early.id)
            late.subscribe("news")
            late.subscribe("weather")
            assert await events.get(timeout=10) == PeerJoinedTopic("weather", late.id)
            early_messages.close()
            assert await events.get(timeout=10) == PeerLeftTopic("weather", early.id)
            await late.close()
            assert await events.get(timeout=10) == PeerLeftTopic("weather", late.id)
            with pytest.raises(TimeoutError):
                await events.get(timeout=0.05)


async def test_who_came_and_left_before_it_was_read_is_not_told_of() -> None:
    async with nodes(2) as (ours, other):
        await ours.connect(other.addresses[0])
        events = ours.topic("weather").events()
        for _ in range(3):
            messages = other.subscribe("weather")
            await ours.wait_for_peers("weather", timeout=10)
            messages.close()
            await until(lambda: not ours.subscribers("weather"))
        other.subscribe("weather")
        await ours.wait_for_peers("weather", timeout=10)
        assert await events.get(timeout=10) == PeerJoinedTopic("weather", other.id)
        with pytest.raises(TimeoutError):
            await events.get(timeout=0.05)


async def test_closing_the_network_ends_the_iteration() -> None:
    async with nodes(1) as (node,):
        events = node.topic_events("weather")

        async def read() -> list[Any]:
            return [event async for event in events]

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        await node.close()
        assert await asyncio.wait_for(reading, 10) == []
        with pytest.raises(ClosedError):
            node.topic_events("weather")


async def test_readers_that_are_closed_or_forgotten_cost_nothing_more() -> None:
    async with nodes(2) as (ours, other):
        closed, forgotten = ours.topic_events("weather"), ours.topic_events("weather")
        assert ours.sizes()["topic_events"] == 2
        closed.close()
        closed.close()
        with pytest.raises(ClosedError, match="the events of 'weather' are closed"):
            await closed.get()
        del forgotten
        gc.collect()
        assert ours.sizes()["topic_events"] == 0
        listening = len(ours._driver._listeners)
        await ours.connect(other.addresses[0])
        await until(lambda: len(ours._driver._listeners) < listening)


async def test_a_reader_that_is_cancelled_can_go_on() -> None:
    async with nodes(2) as (ours, other):
        events = ours.topic_events("weather")
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(events), 0.01)
        other.subscribe("weather")
        await ours.connect(other.addresses[0])
        assert await events.get(timeout=10) == PeerJoinedTopic("weather", other.id)
