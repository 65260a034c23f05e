"""Kademlia with rust, js and go-libp2p: they find us, we find them, by the topic alone.

Whoever looks knows the address of one server, which takes no part in the topic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rumormill.core.trace import PROTOCOL_ERROR
from rumormill.libp2p.discovery.events import DISCOVERY_ADVERTISED, DISCOVERY_CONNECTED
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.finding_peer import KADEMLIA
from tests.helpers.interop.go_peer import StartGoPeer
from tests.helpers.interop.interop_matrix import BOTH, OURS, THEIRS, row
from tests.helpers.interop.js_peer import StartJsPeer
from tests.helpers.interop.our_node import TOPIC, OpenNode, contents, eventually
from tests.helpers.interop.rust_peer import StartRustPeer

IMPLEMENTATIONS = ["rust", "js", "go"]
OFF = {"peer_exchange": False}
"""So that what is found is found by Kademlia."""


@row(matrix.KADEMLIA, BOTH)
@row(matrix.KADEMLIA_SERVER, THEIRS)
@pytest.mark.parametrize("peer", IMPLEMENTATIONS)
async def test_we_find_each_other_in_a_dht_of_another_implementation(
    start_peer: Callable[..., Any], open_node: OpenNode
) -> None:
    """Its server keeps who provides what; one of its clients is who we find, and who finds us."""
    server = await start_peer(kademlia="server")
    other = await start_peer(kademlia="client", bootstrap=[server.address], topics=[TOPIC])
    await other.knows(server.id)
    await other.provide(TOPIC)
    ours = await open_node(bootstrap=[server.address], discovery=["kademlia"], **OFF)
    await ours.sees(other.id)
    assert ours.network.counters[DISCOVERY_CONNECTED] == 1
    await other.meshes(ours.id, TOPIC)
    await other.publish(TOPIC, b"from the other")
    assert contents(await ours.received(1)) == [b"from the other"]
    await eventually(
        lambda: ours.network.counters[DISCOVERY_ADVERTISED] > 0, "we are told of", ours.state
    )
    assert ours.id in await other.find(TOPIC)
    assert ours.network.counters[PROTOCOL_ERROR] == 0


@row(matrix.KADEMLIA_SERVER, OURS)
@pytest.mark.parametrize("peer", IMPLEMENTATIONS)
async def test_we_are_a_server_for_clients_of_another_implementation(
    start_peer: Callable[..., Any], open_node: OpenNode
) -> None:
    """Ours keeps who provides what: two clients find each other through us, and us by our id."""
    ours = await open_node(discovery=["kademlia"], kademlia_mode="server", **OFF)
    clients = [await start_peer(kademlia="client", bootstrap=[ours.address]) for _ in range(2)]
    for client in clients:
        await client.knows(ours.id)
        await client.provide(TOPIC)
    for client, other in (clients, reversed(clients)):
        await client.finds(TOPIC, other.id, dial=True)
        await client.connected(other.id)
    addresses = await clients[0].find_peer(ours.id)
    assert addresses and any(ours.address.startswith(each) for each in addresses)
    assert ours.network.counters[PROTOCOL_ERROR] == 0


@pytest.mark.parametrize("peer", IMPLEMENTATIONS)
async def test_our_client_is_in_no_table_and_our_server_is(
    start_peer: Callable[..., Any], open_node: OpenNode
) -> None:
    other = await start_peer(kademlia="server")
    client = await open_node(bootstrap=[other.address], discovery=["kademlia"], **OFF)
    server = await open_node(
        bootstrap=[other.address], discovery=["kademlia"], kademlia_mode="server", **OFF
    )
    await other.knows(server.id)
    told = await other.expect("peer", id=client.id, state="identified")
    assert KADEMLIA not in told["protocols"]
    assert client.id not in await other.routing_table()


@row(matrix.KADEMLIA, BOTH, peer="go")
async def test_our_routers_and_those_of_go_find_each_other_by_their_topic(
    start_go_peer: StartGoPeer, open_node: OpenNode
) -> None:
    """go-libp2p-pubsub with its own discovery: nobody says who is to be found."""
    server = await open_node(
        topic="a topic of its own", discovery=["kademlia"], kademlia_mode="server", **OFF
    )
    ours = await open_node(bootstrap=[server.address], discovery=["kademlia"], **OFF)
    theirs = await start_go_peer(
        kademlia="client", bootstrap=[server.address], topic_discovery=True
    )
    await theirs.knows(server.id)
    await theirs.subscribe(TOPIC)
    await ours.sees(theirs.id)
    await theirs.meshes(ours.id, TOPIC, timeout=60)
    await ours.publish(b"from us")
    (message,) = await theirs.messages(TOPIC, 1)
    assert message["data"] == b"from us"


@row(matrix.KADEMLIA, BOTH, peer="rust js go")
async def test_one_dht_of_all_implementations(
    start_rust_peer: StartRustPeer,
    start_js_peer: StartJsPeer,
    start_go_peer: StartGoPeer,
    open_node: OpenNode,
) -> None:
    """In a DHT of its own; each knows the one before it."""
    protocol = "/rumormill/kad/1.0.0"
    ways = {"discovery": ["kademlia"], "kademlia_protocol": protocol, "kademlia_mode": "server"}
    first = await open_node(**ways, **OFF)
    known = first.address
    others = []
    for start in (start_rust_peer, start_js_peer, start_go_peer):
        other = await start(
            kademlia="server", kademlia_protocol=protocol, bootstrap=[known], topics=[TOPIC]
        )
        await other.knows(known.rpartition("/")[2])
        known = other.address
        others.append(other)
    for other in others:
        await other.provide(TOPIC)
    last = await open_node(bootstrap=[known], **ways, **OFF)
    for other in others:
        await last.sees(other.id)
        await first.sees(other.id)
    await last.sees(first.id)
