"""The settings of discovery: wrong ones are named in a sentence, right ones find peers."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest

import rumormill
from rumormill import Libp2pNetwork
from rumormill.core.errors import ConfigError
from rumormill.libp2p.family import FAMILY
from rumormill.live.configuration.settings import read_settings
from tests.helpers.interop.our_node import eventually

POINT = "/ip4/127.0.0.1/tcp/4001/p2p/12D3KooWRkZhiRhsqmrQ28rt73K7V3aCBpqKrLGSXmZ99PTcTZby"
TOPIC = "weather"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"discovery": "telepathy"}, r"discovery\.0: input should be 'kademlia', 'rendezvous'"),
        ({"discovery": ["rendezvous"]}, "discovery: rendezvous needs the addresses of points"),
        ({"rendezvous": [POINT]}, 'rendezvous: is of no use without discovery=."rendezvous"'),
        ({"kademlia_mode": "both"}, "kademlia_mode: input should be 'client' or 'server'"),
        ({"kademlia_protocol": "kad"}, "kademlia_protocol: a protocol id begins with a slash"),
        ({"rendezvous_ttl": 60}, "rendezvous_ttl: input should be greater than or equal to 7200"),
        ({"discovery_peer": 5}, "discovery_peer: there is no such key .did you mean discovery"),
    ],
)
def test_a_wrong_setting_is_named_in_a_sentence(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        read_settings("gossipsub", settings)


def test_settings_are_read_as_a_shell_writes_them() -> None:
    settings = read_settings(
        "gossipsub", {"discovery": "kademlia, rendezvous", "rendezvous": POINT}
    )
    assert settings.discovery.discovery == ("kademlia", "rendezvous")  # type: ignore[attr-defined]
    assert settings.rendezvous.rendezvous == (POINT,)  # type: ignore[attr-defined]


async def test_without_a_word_nothing_is_served_and_nobody_looked_for() -> None:
    async with await rumormill.open("gossipsub", listen="/ip4/127.0.0.1/tcp/0") as network:
        assert isinstance(network, Libp2pNetwork)
        assert not [name for name in network._host._protocols() if "kad" in name or "rend" in name]
        assert network._host._seeking._machine is None


@pytest.mark.parametrize("name", ["gossipsub", "floodsub", "randomsub"])
@pytest.mark.parametrize("way", ["kademlia", "rendezvous"])
async def test_nodes_that_know_one_address_find_each_other(name: str, way: str) -> None:
    """On every network of the family; whom they know takes no part in the topic."""
    async with AsyncExitStack() as stack:

        async def opened(**settings: Any) -> Libp2pNetwork:
            network = await stack.enter_async_context(
                await rumormill.open(name, listen="/ip4/127.0.0.1/tcp/0", **settings)
            )
            assert isinstance(network, Libp2pNetwork)
            return network

        if way == "kademlia":
            hub = await opened(discovery=["kademlia"], kademlia_mode="server")
            how: dict[str, Any] = {"discovery": ["kademlia"], "bootstrap": [hub.addresses[0]]}
        else:
            hub = await opened(rendezvous_server=True)
            how = {"discovery": ["rendezvous"], "rendezvous": [hub.addresses[0]]}
        nodes = [await opened(**how) for _ in range(3)]
        for node in nodes:
            await stack.enter_async_context(node.subscribe(TOPIC))
        publisher = await opened(**how)
        receipt = await publisher.publish(TOPIC, b"rain", ready=60.0)
        assert receipt.peers, "who only publishes finds them, too"
        for node in nodes:
            others = {each.id for each in nodes} - {node.id}
            await eventually(
                lambda node=node, others=others: others <= set(node.subscribers(TOPIC)),  # type: ignore[misc]
                "each has found the others",
                lambda node=node: dict(node.counters),  # type: ignore[misc]
            )


@pytest.mark.parametrize(
    ("settings", "finds"),
    [
        ({}, False),
        ({"discovery": "kademlia"}, False),
        ({"discovery": "kademlia, mdns"}, True),
        ({"discovery": ["rendezvous"]}, True),
        ({"remember_peers": "peers.jsonl"}, True),
    ],
)
def test_a_command_needs_no_address_where_the_node_finds_peers_itself(
    settings: dict[str, Any], finds: bool
) -> None:
    assert FAMILY.finds_peers(settings) is finds
