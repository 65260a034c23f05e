"""A peer is killed and comes back as another one; the topic heals by itself."""

from __future__ import annotations

import random
import socket

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import (
    ROUTER_PEERS,
    StartPeer,
    acquainted,
    connected,
    exchange,
    kill,
)
from tests.helpers.interop.dialects import dialect
from tests.helpers.interop.interop_matrix import THEY_DIAL, WE_DIAL, row
from tests.helpers.interop.our_node import OpenNode

every_peer = pytest.mark.parametrize("peer", ROUTER_PEERS)


def lasting_port() -> int:
    """A free port below those that the system hands out: nobody takes it while its peer is dead."""
    while True:
        port = random.randrange(15_000, 30_000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port


@row(matrix.RESTART, WE_DIAL)
@every_peer
async def test_we_dial_a_restarted_peer_again(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    speech = dialect(peer)
    # Without a peer id: it will be another one at the same place.
    place = f"/ip4/127.0.0.1/tcp/{lasting_port()}"
    first = await start_peer(**speech.theirs(), listen=place)
    node = await open_node(
        **speech.ours, bootstrap=[place], redial_first_delay=0.1, redial_longest_delay=1.0
    )
    await acquainted(node, first)
    await exchange(node, first, count=10)

    await kill(first)
    await node.alone()
    (receipt,) = await node.publish(b"nobody is there")
    assert receipt.peers == ()

    second = await start_peer(**speech.theirs(), listen=place)
    assert second.id != first.id
    await acquainted(node, second)
    assert node.network.subscribers(node.topic) == (second.id,)
    await exchange(node, second, count=10)


@row(matrix.RESTART, THEY_DIAL)
@every_peer
async def test_a_restarted_peer_dials_us_again(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    speech = dialect(peer)
    node, first = await connected(open_node, start_peer, speech, THEY_DIAL)
    await exchange(node, first, count=10)

    await kill(first)
    await node.alone()
    second = await start_peer(**speech.theirs(), dial=[node.address])
    await acquainted(node, second)
    assert node.network.subscribers(node.topic) == (second.id,)
    await exchange(node, second, count=10)
