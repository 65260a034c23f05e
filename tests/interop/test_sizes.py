"""Messages from one byte to a mebibyte, with every real peer."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import ROUTER_PEERS, StartPeer, acquainted, connected
from tests.helpers.interop.dialects import LARGE, LARGEST, MIB, dialect
from tests.helpers.interop.go_peer import StartGoPeer
from tests.helpers.interop.interop_matrix import OURS, THEIRS, row
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode
from tests.helpers.interop.peer_process import RouterPeer

SMALL = (1, 1024, 60 * 1024)

every_peer = pytest.mark.parametrize("peer", ROUTER_PEERS)


def payload(size: int) -> bytes:
    return random.Random(size).randbytes(size)


async def pairs(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> list[tuple[OurNode, RouterPeer, Sequence[int]]]:
    """The stock peer for what it takes; for more, one that was told to take it."""
    speech = dialect(peer)
    settings: dict[str, Any] = {"max_rpc_size": 4 * MIB}
    stock = await connected(open_node, start_peer, speech, **settings)
    if not LARGE[peer]:
        return [(*stock, (*SMALL, LARGEST[peer]))]
    options = LARGE[peer]
    large = await connected(open_node, start_peer, speech, options=options, **settings)
    return [(*stock, SMALL), (*large, (LARGEST[peer],))]


@row(matrix.SIZES, OURS)
@every_peer
async def test_a_peer_gets_our_messages_of_every_size(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    for node, other, sizes in await pairs(open_node, start_peer, peer):
        for size in sizes:
            # One at a time: rust holds all that it has read against the limit of one message.
            (receipt,) = await node.publish(payload(size))
            assert receipt.peers == (other.id,)
            (message,) = await other.messages(TOPIC, 1, timeout=PATIENCE)
            assert message["data"] == payload(size)


@row(matrix.SIZES, THEIRS)
@every_peer
async def test_we_get_a_peer_s_messages_of_every_size(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    for node, other, sizes in await pairs(open_node, start_peer, peer):
        for size in sizes:
            await other.publish(TOPIC, payload(size))
            (message,) = await node.received(1)
            assert message.data == payload(size)
            assert message.sender == other.id
        assert node.network.counters["protocol_error"] == 0


@pytest.mark.parametrize("peer", ["rust"])
async def test_a_peer_that_breaks_our_stream_gets_our_messages_again_on_a_new_one(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    """rust drops a stream on which more waits than one message may have, and says nothing anew."""
    node, other = await connected(open_node, start_peer, dialect(peer), max_rpc_size=4 * MIB)
    lost = node.network.counters.get
    for number in range(500):
        await node.publish(payload(60 * 1024))
        if lost("stream_lost", 0):
            break
        if number % 50 == 49:
            await asyncio.sleep(0.05)
    assert lost("stream_lost", 0), "the peer took everything: nothing was tested"
    # One after the other until one gets through: what was under way when it broke is lost.
    async with asyncio.timeout(PATIENCE):
        while True:
            await node.publish(b"are you still there?")
            messages = await other.messages(TOPIC, 1, timeout=PATIENCE)
            if any(message["data"] == b"are you still there?" for message in messages):
                break
    assert node.network.counters.get("peer_left", 0) == 0


LARGEST_RPC = 1024 * 1024
"""Bytes of the largest packet that go writes and reads by default."""
AROUND_DATA = 133
"""What else such a packet holds: author, number, signature, topic, and the tags of all."""


async def test_what_fills_a_peer_s_largest_packet_is_received_and_passed_on(
    open_node: OpenNode, start_go_peer: StartGoPeer
) -> None:
    first = await start_go_peer(topics=[TOPIC])
    last = await start_go_peer(topics=[TOPIC])
    node = await open_node(bootstrap=[first.address, last.address])
    await acquainted(node, first)
    await acquainted(node, last)
    for size in (LARGEST_RPC - 1023, LARGEST_RPC - AROUND_DATA):
        await first.publish(TOPIC, payload(size))
        (here,) = await node.received(1)
        assert here.data == payload(size)
        (there,) = await last.messages(TOPIC, 1, timeout=PATIENCE)
        assert there["data"] == payload(size)
    assert node.network.counters["rejected"] == 0
    assert first.pending("trouble") == []
    await first.publish(TOPIC, payload(LARGEST_RPC - AROUND_DATA + 1))
    await first.expect("trouble", timeout=PATIENCE)
