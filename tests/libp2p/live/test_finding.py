"""Live nodes that know one address: they find the others."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

import rumormill
from rumormill import Libp2pNetwork
from tests.helpers.interop.our_node import eventually

TOPIC = "weather"
BOOTSTRAP = {"D": 0, "D_low": 0, "D_high": 0, "D_out": 0, "D_lazy": 0, "D_score": 0}
NODES = 8


@pytest.mark.parametrize("way", ["exchange", "kademlia"])
async def test_a_few_nodes_that_know_one_address_have_a_full_mesh(way: str) -> None:
    common: dict[str, Any] = {"listen": "/ip4/127.0.0.1/tcp/0", "heartbeat_interval": 0.2}
    if way == "exchange":
        common["peer_exchange"] = True
        first = BOOTSTRAP
    else:
        common.update(discovery=["kademlia"], kademlia_mode="server")
        first = {}
    async with AsyncExitStack() as stack:

        async def opened(**settings: Any) -> Libp2pNetwork:
            network = await stack.enter_async_context(
                await rumormill.open("gossipsub", **common, **settings)
            )
            assert isinstance(network, Libp2pNetwork)
            await stack.enter_async_context(network.subscribe(TOPIC))
            return network

        hub = await opened(**first)
        nodes = [await opened(bootstrap=[hub.addresses[0]]) for _ in range(NODES)]
        for each in nodes:
            await eventually(
                lambda each=each: len(each.mesh(TOPIC)) >= 4,  # type: ignore[misc]
                "a full mesh",
                lambda each=each: (each.peers, each.mesh(TOPIC)),  # type: ignore[misc]
            )
