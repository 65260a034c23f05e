"""Publishing only here, without gossip, or in the name of another: on live nodes."""

from __future__ import annotations

import pytest

import rumormill
from rumormill import Message, RejectedError
from rumormill.libp2p.live.network import Libp2pNetwork
from rumormill.libp2p.stack.keys import PrivateKey

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


async def test_a_message_for_here_comes_to_our_subscriptions_and_one_for_all_to_everybody() -> None:
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK) as right,
    ):
        assert isinstance(left, Libp2pNetwork)
        here, there = left.subscribe("weather"), right.subscribe("weather")
        await left.connect(right.addresses[0])
        await left.wait_for_peers("weather", timeout=10)
        receipt = await left.publish("weather", b"for us", local=True)
        assert receipt.fields["local"] is True
        await left.publish("weather", b"for all", ready=10)
        assert [(await here.get(timeout=10)).data for _ in range(2)] == [b"for us", b"for all"]
        assert (await there.get(timeout=10)).data == b"for all"
        assert there.pending == 0


async def test_another_author_and_no_gossip() -> None:
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK) as right,
    ):
        assert isinstance(left, Libp2pNetwork)
        key, there = PrivateKey.from_seed(bytes(range(32))), right.subscribe("weather")
        await left.connect(right.addresses[0])
        await left.publish("weather", b"rain", author=key, gossip=False, ready=10)
        assert (await there.get(timeout=10)).sender == key.peer


async def test_our_validators_see_who_signs() -> None:
    async with await rumormill.open("floodsub", listen=LOOPBACK) as network:
        assert isinstance(network, Libp2pNetwork)
        key = PrivateKey.from_seed(bytes(range(32)))

        def by_the_key(message: Message) -> bool:
            return message.sender == key.peer

        network.add_validator(None, by_the_key)
        messages = network.subscribe("weather")
        await network.publish("weather", b"rain", author=key, local=True)
        assert (await messages.get(timeout=10)).sender == key.peer
        with pytest.raises(RejectedError, match="all topics"):
            await network.publish("weather", b"rain", local=True)
