"""SDKs on real TLS connections to nodes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from rumormill.bcos.errors import AmopError
from rumormill.bcos.live.certificate_folder import load_certificates
from rumormill.bcos.live.chain_folder import extend_chain
from rumormill.bcos.live.node_network import BcosNodeNetwork
from rumormill.bcos.live.sdk_network import BcosSdkNetwork
from rumormill.bcos.live.settings import read_settings
from rumormill.core.errors import (
    ClosedError,
    ConfigError,
    ConnectError,
    LocalProtocolError,
    MessageTooLargeError,
    NotReadyError,
    RejectedError,
)
from rumormill.core.message import Message
from rumormill.core.trace import CONNECTION_OPENED, TraceEvent

PATIENCE = 20.0
"""Seconds that a test waits for what must come."""


LOOPBACK = "127.0.0.1:0"


def channel_of(node: BcosNodeNetwork) -> str:
    """Where SDKs reach a node."""
    return node.services["channel"][0]


class World:
    """Nodes and SDKs of one chain; all are closed at the end of a test."""

    def __init__(self, chain: Path, stack: AsyncExitStack) -> None:
        self.chain = chain
        self._stack = stack

    async def node(
        self, number: int, *peers: BcosNodeNetwork, channel: str = LOOPBACK
    ) -> BcosNodeNetwork:
        """A node of the chain that dials others."""
        folder = load_certificates(self.chain / "nodes" / str(number))
        values = {
            "listen": LOOPBACK,
            "channel_listen": channel,
            "bootstrap": tuple(peer.addresses[0] for peer in peers),
        }
        node = BcosNodeNetwork("bcos", read_settings("bcos", values), folder)
        self._stack.push_async_callback(node.close)
        return await node.start()

    async def sdk(self, number: int, *nodes: BcosNodeNetwork, **settings: Any) -> BcosSdkNetwork:
        """An SDK of the chain, connected to nodes."""
        folder = load_certificates(self.chain / "sdks" / str(number))
        values = {"bootstrap": tuple(channel_of(node) for node in nodes), **settings}
        network = BcosSdkNetwork("bcos", read_settings("bcos", values), folder)
        self._stack.push_async_callback(network.close)
        await network.start()
        for node in nodes:
            await network.connect(channel_of(node))
        return network

    def key(self, name: str) -> Path:
        """A file of the chain's pair of keys for private topics."""
        return self.chain / "topic_keys" / "0" / name


@pytest.fixture
async def world(chain: Path) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        yield World(chain, stack)


async def test_a_message_goes_from_one_sdk_to_another(world: World) -> None:
    node = await world.node(0)
    publisher, subscriber = await world.sdk(0, node), await world.sdk(1, node)
    async with subscriber.subscribe("weather") as messages:
        receipt = await publisher.publish("weather", b"rain at noon", ready=PATIENCE)
        message = await anext(messages)
    assert receipt and receipt.reached == (node.id,)
    assert (message.data, message.id, message.received_from) == (
        b"rain at noon", receipt.id, node.id,
    )  # fmt: skip
    assert message.fields == {"mode": "multicast"}


async def test_messages_cross_two_nodes_and_are_answered(world: World) -> None:
    near = await world.node(0)
    far = await world.node(1, near)
    publisher, subscriber = await world.sdk(0, near), await world.sdk(1, far)

    async def answer(message: Message) -> bytes:
        await asyncio.sleep(0)
        return message.data.upper()

    stop = subscriber.respond("time", answer)
    found = await publisher.unicast("time", b"what", ready=PATIENCE)
    assert (found.data, found.node) == (b"WHAT", near.id)
    assert await publisher.wait_for_peers("time", timeout=PATIENCE) == (far.id,)
    stop()
    publisher.mode = "unicast"
    async with subscriber.subscribe("time"):
        receipt = await publisher.publish("time", b"again", ready=PATIENCE)
    assert receipt and receipt.fields["answer"] == b""


async def test_without_a_subscriber_there_is_an_error_or_an_empty_receipt(world: World) -> None:
    node = await world.node(0)
    publisher = await world.sdk(0, node, mode="unicast")
    with pytest.raises(AmopError) as caught:
        await publisher.unicast("time", b"what")
    assert caught.value.code == 100
    assert not await publisher.publish("time", b"what")
    with pytest.raises(NotReadyError):
        await publisher.publish("time", b"what", ready=0.3)
    assert publisher.capabilities.acknowledged and not publisher.capabilities.all_subscribers
    publisher.mode = "multicast"
    with pytest.raises(NotReadyError):
        await publisher.publish("time", b"what", ready=0.3)


async def test_without_a_node_there_is_an_error(world: World) -> None:
    sdk = await world.sdk(0)
    with pytest.raises(AmopError, match="no node is connected") as caught:
        await sdk.publish("weather", b"rain")
    assert caught.value.code == 99
    with pytest.raises(ConnectError, match=r"could not connect to 127\.0\.0\.1:1: "):
        await sdk.connect("127.0.0.1:1")


async def test_an_sdk_of_the_rsa_profile_talks_to_one_on_secp256k1(world: World) -> None:
    node = await world.node(0)
    events: list[TraceEvent] = []
    node.on_trace(events.append)
    publisher = await world.sdk(0, node, channel_profile="rsa")
    assert [each.peer for each in events if each.event == CONNECTION_OPENED] == [publisher.id]
    subscriber = await world.sdk(1, node)
    assert subscriber.peers == (node.id,)
    assert publisher.peers == (channel_of(node),)  # the RSA certificate does not tell the id
    async with subscriber.subscribe("weather") as messages:
        await publisher.publish("weather", b"rain", ready=PATIENCE)
        assert (await anext(messages)).data == b"rain"


async def test_an_sdk_of_another_chain_is_refused_in_a_sentence(
    world: World, tmp_path: Path
) -> None:
    node = await world.node(0)
    extend_chain(tmp_path / "other", nodes=1, sdks=1, topic_keys=0)
    stranger = await World(tmp_path / "other", AsyncExitStack()).sdk(0)
    try:
        with pytest.raises(ConnectError, match=f"could not connect to {channel_of(node)}: "):
            await stranger.connect(channel_of(node))
    finally:
        await stranger.close()


async def test_a_node_that_comes_back_is_found_again(world: World) -> None:
    node = await world.node(0)
    sdk = await world.sdk(0, node, redial_first_delay=0.1)
    subscriber = await world.sdk(1, node, redial_first_delay=0.1)
    async with subscriber.subscribe("weather") as messages:
        await node.close()
        await world.node(0, channel=channel_of(node))
        receipt = await sdk.publish("weather", b"rain", ready=PATIENCE)
        assert receipt.reached == (node.id,)
        assert (await anext(messages)).data == b"rain"


async def test_a_private_topic_reaches_those_alone_who_have_the_key(world: World) -> None:
    near = await world.node(0)
    far = await world.node(1, near)
    publisher = await world.sdk(0, near, public_keys=(world.key("public.pem"),))
    reader = await world.sdk(1, far, private_key=world.key("private.pem"))
    async with reader.subscribe("secret") as messages:
        receipt = await publisher.publish("secret", b"psst", ready=PATIENCE)
        message = await anext(messages)
    assert receipt.reached == (far.id,)
    assert (message.topic, message.data) == ("secret", b"psst")
    assert publisher.counters["verification"] == 1
    with pytest.raises(LocalProtocolError, match="no private_key"):
        publisher.subscribe("secret")
    with pytest.raises(LocalProtocolError, match="no public_keys"):
        await reader.publish("secret", b"psst")


async def test_a_large_message_arrives_whole(world: World) -> None:
    node = await world.node(0)
    publisher, subscriber = await world.sdk(0, node), await world.sdk(1, node)
    data = bytes(range(256)) * 4096 * 8
    async with subscriber.subscribe("film", buffer_bytes=1 << 30) as messages:
        await publisher.publish("film", data, ready=PATIENCE, timeout=PATIENCE)
        assert (await anext(messages)).data == data
    with pytest.raises(MessageTooLargeError):
        await publisher.publish("film", bytes(publisher.capabilities.largest_message + 255))


async def test_a_slow_reader_loses_nothing(world: World) -> None:
    node = await world.node(0)
    publisher, subscriber = await world.sdk(0, node), await world.sdk(1, node)
    async with subscriber.subscribe("weather", buffer=8) as messages:
        await publisher.wait_for_peers("weather", timeout=PATIENCE)
        for number in range(100):
            await publisher.publish("weather", b"%d" % number)
        found = [(await anext(messages)).data for _ in range(100)]
    assert found == [b"%d" % number for number in range(100)]
    assert subscriber.counters["source_paused"] >= 1


async def test_responders_that_fail_or_are_slow_do_not_answer(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    node = await world.node(0)
    publisher, subscriber = await world.sdk(0, node), await world.sdk(1, node)

    async def slow(message: Message) -> bytes:
        await asyncio.sleep(3600)
        return b""

    subscriber.respond("wrong", lambda message: "text")  # type: ignore[arg-type, return-value]
    subscriber.respond("slow", slow, timeout=0.01)
    with pytest.raises(LocalProtocolError, match="has a responder"):
        subscriber.respond("slow", slow)
    for topic in "wrong", "slow":
        await publisher.wait_for_peers(topic, timeout=PATIENCE)
        with pytest.raises(AmopError) as caught:
            await publisher.unicast(topic, b"?", timeout=0.3)
        assert caught.value.code == 102
    assert subscriber.counters["dropped.responder_failed"] == 1
    assert subscriber.counters["dropped.responder_timeout"] == 1
    assert "an answer is bytes, not str" in caplog.text


async def test_a_nodes_own_application_answers_an_sdk_and_asks_it(world: World) -> None:
    node = await world.node(0)
    sdk = await world.sdk(0, node)
    stop = node.respond("of node", lambda message: b"node: " + message.data)
    sdk.respond("of sdk", lambda message: b"sdk: " + message.data)
    assert (await sdk.unicast("of node", b"?", ready=PATIENCE)).data == b"node: ?"
    assert (await node.unicast("of sdk", b"!", ready=PATIENCE)).data == b"sdk: !"
    stop()
    with pytest.raises(AmopError, match="100"):
        await sdk.unicast("of node", b"?")


async def test_validators_have_their_say_on_both_sides(world: World) -> None:
    node = await world.node(0)
    publisher, subscriber = await world.sdk(0, node), await world.sdk(1, node)
    publisher.add_validator("weather", lambda message: len(message.data) < 10)
    subscriber.add_validator("weather", lambda message: message.data != b"bad")
    async with subscriber.subscribe("weather") as messages:
        await publisher.wait_for_peers("weather", timeout=PATIENCE)
        with pytest.raises(RejectedError):
            await publisher.publish("weather", b"0123456789")
        await publisher.publish("weather", b"bad")
        await publisher.publish("weather", b"good")
        assert (await anext(messages)).data == b"good"
    assert subscriber.counters["rejected.validator"] == 1


async def test_what_waits_ends_when_the_network_is_closed(world: World) -> None:
    node = await world.node(0)
    publisher, subscriber = await world.sdk(0, node), await world.sdk(1, node)

    async def slow(message: Message) -> bytes:
        await asyncio.sleep(3600)
        return b""

    subscriber.respond("slow", slow)
    await publisher.wait_for_peers("slow", timeout=PATIENCE)
    asking = asyncio.ensure_future(publisher.unicast("slow", b"?", timeout=60))
    waiting = asyncio.ensure_future(publisher.publish("nobody", b"?", ready=60))
    while not subscriber.sizes()["responding"]:
        await asyncio.sleep(0.01)
    await publisher.close()
    with pytest.raises(AmopError):
        await asking
    with pytest.raises(ClosedError):
        await waiting
    await subscriber.close()
    assert subscriber.sizes()["responding"] == 0
    with pytest.raises(ClosedError):
        await publisher.unicast("slow", b"?")


async def test_who_gives_up_leaves_nothing_behind(world: World) -> None:
    node = await world.node(0)
    publisher, subscriber = await world.sdk(0, node), await world.sdk(1, node)
    subscriber.respond("slow", lambda message: asyncio.sleep(3600, b""))
    await publisher.wait_for_peers("slow", timeout=PATIENCE)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await publisher.unicast("slow", b"?", timeout=60)
    assert publisher.sizes()["unicasts"] == publisher.sizes()["publications"] == 0


@pytest.mark.parametrize(
    ("setting", "name", "problem"),
    [
        ("private_key", "public.pem", "private_key: .*it is a public key"),
        ("private_key", "missing.pem", "private_key: .*No such file"),
        ("public_keys", "private.pem", "public_keys: .*it is a private key"),
    ],
)
async def test_a_wrong_key_file_is_named(
    world: World, setting: str, name: str, problem: str
) -> None:
    path = world.key(name)
    value = (path,) if setting == "public_keys" else path
    with pytest.raises(ConfigError, match=problem):
        await world.sdk(0, **{setting: value})


async def test_private_topics_without_keys_are_a_mistake(world: World) -> None:
    with pytest.raises(ConfigError, match="private_topics: there is neither"):
        await world.sdk(0, private_topics=("secret",))
