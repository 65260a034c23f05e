"""What is below pubsub: Noise, yamux, identify, ping, and streams under load."""

from __future__ import annotations

import asyncio
import random

import pytest

from rumormill.libp2p.host.host import AGENT
from rumormill.libp2p.stack.identify import IDENTIFY
from rumormill.libp2p.stack.ping import PING, PING_SIZE
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import ROUTER_PEERS, StartPeer
from tests.helpers.interop.go_peer import ECHO, GoPeer, StartGoPeer
from tests.helpers.interop.interop_matrix import OURS, THEIRS, THEY_DIAL, WE_DIAL, row
from tests.helpers.interop.our_node import PATIENCE, eventually
from tests.helpers.interop.peer_process import PeerProcess
from tests.helpers.interop.stream_node import DrivenStream, StreamNode

AGENTS = {"go": "rumormill-go-peer", "rust": "rust-libp2p/", "js": "js-libp2p/", "py": "py-libp2p/"}
CHUNK = 32 * 1024

every_direction = pytest.mark.parametrize("direction", [WE_DIAL, THEY_DIAL])


async def connect(node: StreamNode, peer: PeerProcess, direction: str) -> None:
    if direction == WE_DIAL:
        assert await node.connect(peer.address) == peer.id
    else:
        assert await peer.dial(node.address) == node.id
    await eventually(lambda: peer.id in node.peers, "our node has the peer")
    await peer.expect("peer", id=node.id, state="connected", timeout=PATIENCE)


# ---- identify


@row(matrix.IDENTIFY)
@every_direction
@pytest.mark.parametrize("peer", ROUTER_PEERS)
async def test_our_node_and_a_peer_identify_each_other(
    start_peer: StartPeer, peer: str, direction: str
) -> None:
    other = await start_peer()
    async with StreamNode.start() as node:
        await connect(node, other, direction)
        await we_know(node, other, AGENTS[peer])
        if peer != "py":  # it does not tell
            identified = await other.expect(
                "peer", id=node.id, state="identified", timeout=PATIENCE
            )
            assert identified["agent"] == AGENT
            assert {IDENTIFY, PING, ECHO, "/floodsub/1.0.0"} <= set(identified["protocols"])


@row(matrix.IDENTIFY, peer="go")
@every_direction
async def test_our_node_and_go_identify_each_other(
    start_go_peer: StartGoPeer, direction: str
) -> None:
    other = await start_go_peer()
    async with StreamNode.start() as node:
        await connect(node, other, direction)
        protocols = await we_know(node, other, AGENTS["go"])
        assert ECHO in protocols
        identified = await other.expect("peer", id=node.id, state="identified", timeout=PATIENCE)
        assert (identified["agent"], identified["protocol_version"]) == (AGENT, "ipfs/0.1.0")
        assert {IDENTIFY, PING, ECHO, "/floodsub/1.0.0"} <= set(identified["protocols"])
        assert identified["listens"] == [node.address.partition("/p2p/")[0]]
        assert identified["observed"].startswith("/ip4/127.0.0.1/tcp/")


async def we_know(node: StreamNode, peer: PeerProcess, agent: str) -> list[str]:
    """Wait until the peer has told us of itself; returns what it speaks."""
    await eventually(lambda: bool(node.identified(peer.id)), "the peer has told us of itself")
    told = node.identified(peer.id)
    assert agent in told["agent"]
    protocols = told["protocols"].split()
    assert {IDENTIFY, PING} <= set(protocols)
    return protocols


# rust sends a record only if its program asks for it.
@pytest.mark.parametrize("peer", [each for each in ROUTER_PEERS if each != "rust"])
async def test_the_signed_record_of_a_peer_has_the_address_that_it_was_dialed_at(
    start_peer: StartPeer, peer: str
) -> None:
    other = await start_peer()
    async with StreamNode.start() as node:
        await connect(node, other, WE_DIAL)
        await we_know(node, other, AGENTS[peer])
        assert other.address.partition("/p2p/")[0] in node.addresses_of(other.id)


async def test_the_signed_record_of_go_has_the_address_that_it_was_dialed_at(
    start_go_peer: StartGoPeer,
) -> None:
    go = await start_go_peer()
    async with StreamNode.start() as node:
        await connect(node, go, WE_DIAL)
        await we_know(node, go, AGENTS["go"])
        assert go.address.partition("/p2p/")[0] in node.addresses_of(go.id)


async def test_a_peer_that_is_not_the_one_we_dialed_is_refused(start_go_peer: StartGoPeer) -> None:
    go, other = await start_go_peer(), await start_go_peer()
    wrong = f"{go.address.partition('/p2p/')[0]}/p2p/{other.id}"
    async with StreamNode.start() as node:
        with pytest.raises(AssertionError, match="wrong peer"):
            await node.connect(wrong)
        assert node.peers == ()


# ---- ping


@row(matrix.PING, THEIRS, peer="go")
@every_direction
async def test_go_pings_us(start_go_peer: StartGoPeer, direction: str) -> None:
    go = await start_go_peer()
    async with StreamNode.start() as node:
        await connect(node, go, direction)
        assert len(await go.ping(node.id, 20)) == 20


@row(matrix.PING, OURS, peer="go")
@every_direction
async def test_we_ping_go(start_go_peer: StartGoPeer, direction: str) -> None:
    go = await start_go_peer()
    async with StreamNode.start() as node:
        await connect(node, go, direction)
        stream = await node.open_stream(go.id, PING)
        for number in range(20):
            ping = random.Random(number).randbytes(PING_SIZE)
            await stream.write(ping)
            assert await stream.read(PING_SIZE) == ping


# ---- streams under load


@row(matrix.STREAMS, THEIRS, peer="go")
@every_direction
@pytest.mark.parametrize(
    ("streams", "size", "chunk"),
    [(1, 16 * 1024 * 1024, 0), (20, 1024 * 1024, 0), (30, 20_000, 7)],
    ids=["one large", "many at once", "in tiny pieces"],
)
async def test_go_s_streams_get_their_echo_from_us(
    start_go_peer: StartGoPeer, direction: str, streams: int, size: int, chunk: int
) -> None:
    go = await start_go_peer()
    async with StreamNode.start() as node:
        await connect(node, go, direction)
        done = await go.echo(node.id, streams=streams, size=size, chunk=chunk, timeout=PATIENCE)
        assert (done["streams"], done["bytes"]) == (streams, size)


@row(matrix.STREAMS, OURS, peer="go")
@every_direction
@pytest.mark.parametrize(
    ("streams", "size"),
    [(1, 16 * 1024 * 1024), (20, 1024 * 1024), (100, 1000)],
    ids=["one large", "many at once", "many small"],
)
async def test_our_streams_get_their_echo_from_go(
    start_go_peer: StartGoPeer, direction: str, streams: int, size: int
) -> None:
    go = await start_go_peer()
    async with StreamNode.start() as node:
        await connect(node, go, direction)
        await echoes(node, go, streams, size)


@row(matrix.STREAMS, OURS, peer="go")
async def test_go_s_window_may_be_small_and_both_may_speak_at_once(
    start_go_peer: StartGoPeer,
) -> None:
    go = await start_go_peer(window=256 * 1024)
    async with StreamNode.start() as node:
        await connect(node, go, WE_DIAL)
        size = 2 * 1024 * 1024
        theirs = go.echo(node.id, streams=4, size=size, timeout=PATIENCE)
        await asyncio.gather(theirs, echoes(node, go, 4, size))


async def echoes(node: StreamNode, go: GoPeer, streams: int, size: int) -> None:
    """So many streams at once, each of which gets back what it sent, and then the end."""
    await asyncio.gather(*(echo(node, go, number, size) for number in range(streams)))


async def echo(node: StreamNode, go: GoPeer, number: int, size: int) -> None:
    stream = await node.open_stream(go.id, ECHO)
    data = random.Random(number).randbytes(size)
    _, back = await asyncio.gather(write_all(stream, data), stream.read(size))
    assert back == data
    assert await stream.read(1) == b"", "more than was sent"


async def write_all(stream: DrivenStream, data: bytes) -> None:
    for start in range(0, len(data), CHUNK):
        await stream.write(data[start : start + CHUNK])
    stream.close()
