"""Peers of other implementations find each other, without a node of ours.

Where one of them fails to find a node of ours, and these tests pass, the fault is ours.
"""

from __future__ import annotations

import hashlib
import itertools

import pytest

from tests.helpers.interop.finding_peer import KADEMLIA, StartFindingPeers
from tests.helpers.interop.go_peer import StartGoPeer
from tests.helpers.interop.network_namespace import NetworkNamespace
from tests.helpers.interop.peer_process import PeerProcessError
from tests.helpers.interop.rust_peer import StartRustPeer

TOPIC = "weather"
PEERS = ("rust", "js", "go")

# js has its addresses where rust does not look for them, and neither of the two sends the records
# without which go takes nobody; the README of tests/vectors/discovery has more of it. Of each pair
# one finds the other, and connects to it.
FINDS_BY_MDNS = {"rust": {"rust", "go"}, "js": {"rust", "js", "go"}, "go": {"go"}}

# ---- Kademlia


@pytest.mark.parametrize("server", PEERS)
async def test_three_clients_of_one_server_find_who_provides_a_topic(
    start_finding: StartFindingPeers, server: str
) -> None:
    known = await start_finding[server](kademlia="server")
    clients = [
        await start_finding[peer](kademlia="client", bootstrap=[known.address]) for peer in PEERS
    ]
    key = b"\x12\x20" + hashlib.sha256(b"floodsub:" + TOPIC.encode()).digest()
    for client in clients:
        await client.knows(known.id)
        assert await client.provide(TOPIC) == key
    for client in clients:
        others = {other.id for other in clients if other is not client}
        assert await client.finds(TOPIC, *others, dial=True) == others
        for other in others:
            await client.found("kademlia", other)
            await client.connected(other)


async def test_servers_learn_of_each_other_from_one_that_all_know(
    start_finding: StartFindingPeers,
) -> None:
    known = await start_finding["go"](kademlia="server")
    servers = [
        await start_finding[peer](kademlia="server", bootstrap=[known.address]) for peer in PEERS
    ]
    for server in servers:
        await server.knows(known.id)
        await known.knows(server.id)
    for server, other in itertools.permutations(servers, 2):
        addresses = await server.find_peer(other.id)
        assert addresses, f"{server.language} does not find {other.language}"
        assert any(other.address.startswith(address) for address in addresses)


@pytest.mark.parametrize("peer", PEERS)
async def test_a_client_does_not_say_that_it_answers(
    start_finding: StartFindingPeers, start_go_peer: StartGoPeer, peer: str
) -> None:
    client = await start_finding[peer](kademlia="client")
    server = await start_finding[peer](kademlia="server")
    other = await start_go_peer(kademlia="server")
    await other.dial(client.address)
    await other.dial(server.address)
    await other.knows(server.id)
    told = await other.expect("peer", id=client.id, state="identified")
    assert KADEMLIA not in told["protocols"]
    assert client.id not in await other.routing_table()


async def test_other_networks_have_other_protocols(start_finding: StartFindingPeers) -> None:
    protocol = "/rumormill/kad/1.0.0"
    known = await start_finding["go"](kademlia="server", kademlia_protocol=protocol)
    for peer in PEERS:
        inside = await start_finding[peer](
            kademlia="server", kademlia_protocol=protocol, bootstrap=[known.address]
        )
        await inside.knows(known.id)
        await known.knows(inside.id)


async def test_the_routers_of_go_find_each_other_by_their_topic(start_go_peer: StartGoPeer) -> None:
    known = await start_go_peer(kademlia="server")
    arguments = {"kademlia": "client", "bootstrap": [known.address], "topic_discovery": True}
    first = await start_go_peer(**arguments)
    second = await start_go_peer(**arguments)
    for client in (first, second):
        await client.knows(known.id)
        await client.subscribe(TOPIC)
    await first.sees(second.id, TOPIC, timeout=60)
    await second.meshes(first.id, TOPIC, timeout=60)
    await second.publish(TOPIC, b"rain at noon")
    (message,) = await first.messages(TOPIC, 1)
    assert message["data"] == b"rain at noon"


@pytest.mark.parametrize("peer", PEERS)
async def test_without_the_option_there_is_no_discovery(
    start_finding: StartFindingPeers, start_go_peer: StartGoPeer, peer: str
) -> None:
    plain = await start_finding[peer]()
    with pytest.raises(PeerProcessError, match="--kademlia"):
        await plain.find(TOPIC)
    other = await start_go_peer(kademlia="server")
    await other.dial(plain.address)
    told = await other.expect("peer", id=plain.id, state="identified")
    assert not [name for name in told["protocols"] if "kad" in name or "rendezvous" in name]


# ---- rendezvous


async def test_rust_meets_rust_by_rendezvous(start_rust_peer: StartRustPeer) -> None:
    point = await start_rust_peer(rendezvous="server")
    first = await start_rust_peer(rendezvous="client", dial=[point.address])
    second = await start_rust_peer(rendezvous="client", dial=[point.address])
    for client in (first, second):
        await client.expect("dial")
    assert await first.register(point.id, TOPIC, ttl=7200) == 7200
    told = await point.expect("registered", id=first.id)
    assert told["namespace"] == TOPIC
    (registration,) = await second.discover(point.id, TOPIC)
    assert registration["id"] == first.id
    assert (await second.found("rendezvous", first.id))["addresses"] == registration["addresses"]
    assert await second.dial(f"{registration['addresses'][0]}/p2p/{first.id}") == first.id
    await first.unregister(point.id, TOPIC)
    await point.expect("unregistered", id=first.id)
    assert await second.discover(point.id) == []


async def test_a_meeting_point_of_rust_refuses_a_registration_for_years(
    start_rust_peer: StartRustPeer,
) -> None:
    point = await start_rust_peer(rendezvous="server")
    client = await start_rust_peer(rendezvous="client", dial=[point.address])
    await client.expect("dial")
    with pytest.raises(PeerProcessError, match="InvalidTtl"):
        await client.register(point.id, TOPIC, ttl=100_000_000)


# ---- mDNS


@pytest.mark.parametrize("one, other", list(itertools.combinations_with_replacement(PEERS, 2)))
async def test_neighbours_find_each_other_by_mdns(
    lan: NetworkNamespace, start_finding: StartFindingPeers, one: str, other: str
) -> None:
    listen = f"/ip4/{lan.address}/tcp/0"
    first = await start_finding[one](listen=listen, mdns=True)
    second = await start_finding[other](listen=listen, mdns=True)
    for peer, neighbour in ((first, second), (second, first)):
        if neighbour.language in FINDS_BY_MDNS[peer.language]:
            told = await peer.found("mdns", neighbour.id)
            assert any(neighbour.address.startswith(address) for address in told["addresses"])
        await peer.connected(neighbour.id)
