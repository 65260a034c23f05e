"""Messages from one byte to a mebibyte, with every real peer."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import interop_matrix as matrix
import pytest
from conversation import ROUTER_PEERS, StartPeer, connected
from dialects import LARGE, LARGEST, MIB, dialect
from interop_matrix import OURS, THEIRS, row
from our_node import PATIENCE, TOPIC, OpenNode, OurNode
from peer_process import RouterPeer

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
