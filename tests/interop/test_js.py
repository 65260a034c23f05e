"""Our node and a real js-libp2p node: each dials, each listens, each publishes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from js_peer import JsPeer, StartJsPeer, numbered_payloads

import rumormill
from rumormill import Network, Subscription

TOPIC = "weather"
LISTEN = "/ip4/127.0.0.1/tcp/0"


@pytest.fixture
async def networks() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


async def connected(
    stack: AsyncExitStack, start: StartJsPeer, *, we_dial: bool, router: str, **settings: Any
) -> tuple[Network, Subscription, JsPeer]:
    """Our node and a js node that know of each other's subscription."""
    policy = str(settings.get("signing", "StrictSign"))
    if we_dial:
        js = await start(topics=[TOPIC], router=router, policy=policy)
        opened = rumormill.open(router, listen=LISTEN, bootstrap=[js.address], **settings)
        network = await stack.enter_async_context(opened)
        messages = network.subscribe(TOPIC, buffer=10_000)
    else:
        network = await stack.enter_async_context(rumormill.open(router, listen=LISTEN, **settings))
        messages = network.subscribe(TOPIC, buffer=10_000)
        js = await start(topics=[TOPIC], router=router, policy=policy, dial=[network.addresses[0]])
    await network.wait_for_peers(TOPIC, timeout=20)
    await js.expect("subscription-change", id=network.id)
    return network, messages, js


async def received(messages: Subscription, count: int) -> list[rumormill.Message]:
    async with asyncio.timeout(30):
        return [await messages.get() for _ in range(count)]


@pytest.mark.parametrize("router", ["gossipsub", "floodsub"])
@pytest.mark.parametrize("we_dial", [True, False], ids=["we dial", "we listen"])
async def test_100_messages_each_way_all_delivered_none_twice(
    networks: AsyncExitStack, start_js_peer: StartJsPeer, router: str, we_dial: bool
) -> None:
    network, messages, js = await connected(
        networks, start_js_peer, we_dial=we_dial, router=router, deliver_own=False
    )

    ours = numbered_payloads(100, size=1024, prefix="ours")
    for data in ours:
        receipt = await network.publish(TOPIC, data)
        assert receipt.peers == (js.id,)
        assert not receipt.dropped
    at_js = await js.messages(TOPIC, 100)
    assert sorted(message["data"] for message in at_js) == ours
    assert {message["from"] for message in at_js} == {network.id}

    await js.publish_many(TOPIC, 100, size=1024, prefix="theirs")
    here = await received(messages, 100)
    assert sorted(message.data for message in here) == numbered_payloads(
        100, size=1024, prefix="theirs"
    )
    assert {message.sender for message in here} == {js.id}

    assert js.pending("message") == []
    assert messages.pending == 0
    assert network.counters["rejected"] == network.counters["protocol_error"] == 0
    (peer,) = await js.peers()
    expected = {"gossipsub": "/meshsub/1.0.0", "floodsub": "/floodsub/1.0.0"}[router]
    assert (peer["sends_on"], peer["receives_on"]) == (expected, expected)


async def test_unsigned_messages_travel_both_ways(
    networks: AsyncExitStack, start_js_peer: StartJsPeer
) -> None:
    network, messages, js = await connected(
        networks, start_js_peer, we_dial=True, router="gossipsub",
        signing="StrictNoSign", deliver_own=False,
    )  # fmt: skip
    await network.publish(TOPIC, b"from us")
    (at_js,) = await js.messages(TOPIC, 1)
    assert (at_js["data"], at_js["from"]) == (b"from us", None)
    await js.publish(TOPIC, b"from js")
    (here,) = await received(messages, 1)
    assert (here.data, here.sender) == (b"from js", None)


async def test_js_takes_us_into_its_mesh_and_we_take_it_into_ours(
    networks: AsyncExitStack, start_js_peer: StartJsPeer
) -> None:
    network, _, js = await connected(networks, start_js_peer, we_dial=True, router="gossipsub")
    async with asyncio.timeout(10):
        while network.mesh(TOPIC) != (js.id,) or await js.mesh(TOPIC) != [network.id]:
            await asyncio.sleep(0.05)


async def test_a_floodsub_node_and_a_gossipsub_js_node_understand_each_other(
    networks: AsyncExitStack, start_js_peer: StartJsPeer
) -> None:
    js = await start_js_peer(topics=[TOPIC], router="gossipsub")
    network = await networks.enter_async_context(
        rumormill.open("floodsub", bootstrap=[js.address], deliver_own=False)
    )
    messages = network.subscribe(TOPIC)
    await network.publish(TOPIC, b"from us", ready=20)
    (at_js,) = await js.messages(TOPIC, 1)
    assert at_js["data"] == b"from us"
    await js.expect("subscription-change", id=network.id)
    await js.publish(TOPIC, b"from js")
    (here,) = await received(messages, 1)
    assert here.data == b"from js"
