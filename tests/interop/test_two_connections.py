"""Both sides dial at once, and one of the two connections is closed: the other one carries on.

go forgets what a peer is subscribed to when its own stream to it ends, though another connection
lives, and opens a new stream. Whoever then says nothing on its side gets nothing from it any more.
"""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.helpers.interop.conversation import acquainted
from tests.helpers.interop.go_peer import GoPeer, StartGoPeer
from tests.helpers.interop.our_node import TOPIC, OpenNode, OurNode, eventually
from tests.helpers.interop.peer_process import numbered_payloads

TRIES = 6
COUNT = 20


async def connected_twice(open_node: OpenNode, go: GoPeer) -> OurNode:
    """A node of ours that has two connections with the peer."""
    while True:
        node = await open_node()
        await asyncio.gather(go.dial(node.address), node.network.connect(go.address))
        await acquainted(node, go)
        if await go.connections(node.id) == 2:
            return node
        # One came before the other had begun.
        await node.network.close()


async def hears_again(node: OurNode, go: GoPeer) -> None:
    """From some message on, all of the peer's messages reach us."""
    numbers = itertools.count()

    async def arrives() -> bool:
        await go.publish(TOPIC, f"are you there? {node.id} {next(numbers)}".encode())
        await asyncio.sleep(0.1)
        return node.messages.pending > 0

    await eventually(arrives, "one of the peer's messages reaches us", node.state)
    await go.publish_many(TOPIC, COUNT, prefix=node.id)
    wanted = set(numbered_payloads(COUNT, prefix=node.id))
    while wanted:
        (message,) = await node.received(1)
        wanted.discard(message.data)


@pytest.mark.parametrize("which", [1, 2], ids=["the first", "the second"])
async def test_after_one_of_two_connections_is_closed_the_peer_s_messages_arrive(
    open_node: OpenNode, start_go_peer: StartGoPeer, which: int
) -> None:
    go = await start_go_peer(topics=[TOPIC])
    for _ in range(TRIES):
        node = await connected_twice(open_node, go)
        assert await go.close_connection(node.id, which) == 1
        await hears_again(node, go)
        assert node.network.peers == (go.id,)
        await node.network.close()
