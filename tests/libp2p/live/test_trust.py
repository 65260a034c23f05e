"""Direct peers and the blacklist, on a live node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

import rumormill
from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.live.network import Libp2pNetwork

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_direct_peer_is_dialed_by_its_setting_and_served_outside_the_mesh() -> None:
    async with await rumormill.open("gossipsub", listen=LOOPBACK) as left:
        messages = left.subscribe("weather")
        async with await rumormill.open(
            "gossipsub", listen=LOOPBACK, direct_peers=[left.addresses[0]]
        ) as right:
            right.subscribe("weather")
            await until(lambda: right.subscribers("weather"))
            assert right.mesh("weather") == ()
            await right.publish("weather", b"rain")
            assert (await messages.get(timeout=10)).data == b"rain"


async def test_direct_peers_come_and_go_at_run_time() -> None:
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK) as right,
    ):
        assert isinstance(right, Libp2pNetwork)
        assert right.add_direct_peer(left.addresses[0]) == left.id
        await until(lambda: left.id in right.peers)
        right.remove_direct_peer(left.id)
        left.subscribe("weather")
        right.subscribe("weather")
        await until(lambda: right.mesh("weather"))
        with pytest.raises(LocalProtocolError, match="p2p"):
            right.add_direct_peer("/ip4/127.0.0.1/tcp/1")


async def test_a_peer_on_the_blacklist_is_dropped_and_stays_out() -> None:
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK) as right,
    ):
        assert isinstance(right, Libp2pNetwork)
        await left.connect(right.addresses[0])
        await until(lambda: left.id in right.peers)
        right.blacklist(left.id)
        await until(lambda: left.id not in right.peers)
        dropped = right.counters["rejected"]
        await left.connect(right.addresses[0])
        await until(lambda: right.counters["rejected"] > dropped)
        await until(lambda: left.id not in right.peers)
        right.blacklist(left.id, listed=False)
        await left.connect(right.addresses[0])
        await until(lambda: left.id in right.peers)
