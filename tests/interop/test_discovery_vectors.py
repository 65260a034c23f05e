"""What real peers say when they look for each other: live, and kept as ``tests/vectors/discovery``.

``RUMORMILL_WRITE_VECTORS=1`` keeps what was said in this run, in place of what was kept before.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

import pytest

from rumormill.libp2p.stack.envelope import seal
from rumormill.libp2p.stack.multiaddr import Multiaddr
from rumormill.libp2p.stack.peer_record import PeerRecord, encode_peer_record
from rumormill.libp2p.wire.frames import length_prefixed
from tests.helpers.interop import discovery_vectors
from tests.helpers.interop.discovery_vectors import (
    VectorLine,
    kademlia_kind,
    packet_kind,
    rendezvous_kind,
)
from tests.helpers.interop.finding_peer import KADEMLIA, RENDEZVOUS, StartFindingPeers
from tests.helpers.interop.network_namespace import NetworkNamespace
from tests.helpers.interop.our_node import eventually
from tests.helpers.interop.peer_process import PeerProcessError
from tests.helpers.interop.relay_node import RelayNode, Said
from tests.helpers.interop.rust_peer import RustPeer, StartRustPeer

TOPIC = "weather"
PEERS = ("rust", "js", "go")
PATIENCE = 20.0
GROUP, PORT = "224.0.0.251", 5353
SERVICE = b"\x04_p2p\x04_udp\x05local\x00"

# How rust seals its records, as all did before there was a specification; it resets the stream of
# a registration that is sealed as the specification has it.
DOMAIN_OF_RUST, TYPE_OF_RUST = "libp2p-routing-state", b"/libp2p/routing-state-record"


async def heard(relay: RelayNode, kind: Callable[[Said], str], wanted: set[str]) -> None:
    """Wait until all kinds have come by; what has no answer may still be on its way."""

    def kinds() -> set[str]:
        return {kind(each) for each in relay.said}

    await eventually(lambda: wanted <= kinds(), f"{wanted} at the relay", kinds)


# ---- Kademlia


@pytest.mark.parametrize("peer", PEERS)
async def test_requests_and_answers_of_kademlia(
    start_finding: StartFindingPeers, peer: str
) -> None:
    """The peer asks one of its own kind, which has something to tell; the relay is in between."""
    server = await start_finding[peer](kademlia="server")
    providers = []
    for other in PEERS:
        neighbour = await start_finding[other](kademlia="server", bootstrap=[server.address])
        await neighbour.knows(server.id)
        await server.knows(neighbour.id)
        await neighbour.provide(TOPIC)
        providers.append(neighbour.id)
    # So that there is something to tell before the first question.
    await server.finds(TOPIC, *providers)
    async with RelayNode.between(KADEMLIA, server.address) as relay:
        asker = await start_finding[peer](kademlia="client", bootstrap=[relay.address])
        await asker.knows(relay.id)
        await asker.finds(TOPIC, *providers)
        await asker.provide(TOPIC)
        await asker.find_peer(neighbour.id)
        wanted = {
            "FIND_NODE request", "FIND_NODE answer", "GET_PROVIDERS request",
            "GET_PROVIDERS answer", "ADD_PROVIDER request",
        }  # fmt: skip
        await heard(relay, kademlia_kind, wanted)
        lines = [VectorLine(kademlia_kind(each), each.frame) for each in relay.said]
    discovery_vectors.keep("kademlia", peer, lines)


# ---- rendezvous


async def test_requests_and_answers_of_rendezvous(start_rust_peer: StartRustPeer) -> None:
    point = await start_rust_peer(rendezvous="server")
    guest = await start_rust_peer(rendezvous="client", dial=[point.address])
    await guest.expect("dial")
    await guest.register(point.id, TOPIC)
    async with RelayNode.between(RENDEZVOUS, point.address) as relay:
        asker = await start_rust_peer(rendezvous="client", dial=[relay.address])
        await asker.expect("dial")
        assert [each["id"] for each in await asker.discover(relay.id, TOPIC)] == [guest.id]
        assert await asker.discover(relay.id, "nobody is here") == []
        # The relay is not who the record speaks of.
        refused = await refusal(asker, relay.id)
        await asker.unregister(relay.id, TOPIC)
        assert "NotAuthorized" in refused
        await heard(relay, rendezvous_kind, set(discovery_vectors.RENDEZVOUS_KINDS.values()))
        said = [*relay.said, *await registered(relay, point.id)]
    lines = [VectorLine(rendezvous_kind(each), each.frame) for each in said]
    discovery_vectors.keep("rendezvous", "rust", lines)


async def refusal(asker: RustPeer, point: str) -> str:
    """What the peer is told when it registers with a relay."""
    with pytest.raises(PeerProcessError) as caught:
        await asker.register(point, TOPIC)
    return str(caught.value)


async def registered(relay: RelayNode, point: str) -> list[Said]:
    """The relay registers itself, for no one else can through it; both frames."""
    key = relay.identity
    address = Multiaddr.parse("/ip4/127.0.0.1/tcp/4001").to_bytes()
    record = encode_peer_record(PeerRecord(key.peer_id, 1, (address,)))
    register = field(1, TOPIC.encode()) + field(2, seal(key, DOMAIN_OF_RUST, TYPE_OF_RUST, record))
    request = length_prefixed(b"\x08\x00" + field(2, register))
    stream = await relay.open_stream(point, RENDEZVOUS)
    await stream.write(request)
    size = (await stream.read(1))[0]
    return [Said(True, request), Said(False, bytes([size]) + await stream.read(size))]


def field(number: int, content: bytes) -> bytes:
    """A field of bytes in a message of protobuf."""
    return bytes([number << 3 | 2]) + length_prefixed(content)


# ---- mDNS


@pytest.mark.parametrize("peer", PEERS)
async def test_queries_and_answers_of_mdns(
    lan: NetworkNamespace, start_finding: StartFindingPeers, peer: str
) -> None:
    """A peer alone hears its own query, and answers it; so does whoever else asks the same."""
    with multicast_socket(lan.address) as ear:
        await start_finding[peer](listen=f"/ip4/{lan.address}/tcp/0", mdns=True)
        query = await packet(ear, "query")
        await asyncio.get_running_loop().sock_sendto(ear, query, (GROUP, PORT))
        answer = await packet(ear, "answer")
    # js has TXT records among the answers, the others among the additional records.
    assert b"dnsaddr=/ip4/" in answer
    lines = [VectorLine("query", query), VectorLine("answer", answer)]
    discovery_vectors.keep("mdns", peer, lines)


def multicast_socket(address: str) -> socket.socket:
    """A socket that speaks and hears mDNS on the interface with this address."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("", PORT))
    interface = socket.inet_aton(address)
    made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface)
    membership = struct.pack("4s4s", socket.inet_aton(GROUP), interface)
    made.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    made.setblocking(False)
    return made


async def packet(ear: socket.socket, kind: str) -> bytes:
    """The next packet of this kind that speaks of peers of libp2p."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await asyncio.get_running_loop().sock_recv(ear, 9000)
            if packet_kind(found) == kind and SERVICE in found:
                return found
