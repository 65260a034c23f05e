"""IDONTWANT with real peers: who has a large message, or is about to, is sent no other copy.

Four nodes in a ring: the publisher, our quick node, the receiver, our slow node. The slow node gets
a message at once, says so to the receiver, and takes its time to look at it. Meanwhile the
receiver gets it from the quick node, and says so to the slow one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import pytest

from rumormill import Message
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import StartPeer, acquainted
from tests.helpers.interop.interop_matrix import OURS, THEIRS, row
from tests.helpers.interop.our_node import TOPIC, OpenNode, OurNode, eventually
from tests.helpers.interop.peer_process import RouterPeer

COUNT = 8
SIZE = 64 * 1024
OLD = ["/meshsub/1.1.0", "/meshsub/1.0.0"]
"""Versions without IDONTWANT."""
OPTIONS: dict[str, dict[str, Any]] = {
    "rust": {
        "max_transmit_size": 4 * 1024 * 1024,
        "heartbeat_initial_delay": 0.5,
    },
}
QUICK, SLOW = 0.5, 2.0
"""Seconds that our nodes take to look at a message."""


class Ring(NamedTuple):
    """The nodes of the ring, but for the quick one."""

    publisher: RouterPeer
    receiver: RouterPeer
    slow: OurNode


def after(seconds: float) -> Callable[[Message], Awaitable[bool]]:
    """A validator that finds everything good, but not at once."""

    async def look(message: Message) -> bool:
        await asyncio.sleep(seconds)
        return True

    return look


async def ring(open_node: OpenNode, start_peer: StartPeer, peer: str, **settings: Any) -> Ring:
    """All four in place, each in the meshes of both neighbours."""
    common = {"topics": [TOPIC], "message_id": "origin_bytes", "options": OPTIONS.get(peer, {})}
    publisher, receiver = await start_peer(**common), await start_peer(**common)
    addresses = [publisher.address, receiver.address]
    nodes = []
    for seconds in (QUICK, SLOW):
        node = await open_node(bootstrap=addresses, **settings)
        node.network.add_validator(TOPIC, after(seconds))
        await acquainted(node, publisher)
        await acquainted(node, receiver)
        nodes.append(node)
    return Ring(publisher, receiver, nodes[1])


async def published(ring: Ring) -> int:
    """Publish, wait until everybody has everything; returns the copies that the receiver got."""
    await ring.receiver.bench_reset(TOPIC)
    await ring.publisher.publish_many(TOPIC, COUNT, size=SIZE)
    await ring.slow.received(COUNT)

    async def all_there() -> bool:
        return bool((await ring.receiver.bench_report())["received"] == COUNT)

    await eventually(all_there, "the receiver has everything", ring.slow.state)
    # What is sent twice is on its way by now: the slow node passes on as it delivers.
    await asyncio.sleep(0.5)
    return int((await ring.receiver.bench_report())["copies"])


@row(matrix.DONT_WANT, OURS)
@row(matrix.DONT_WANT, THEIRS)
@pytest.mark.parametrize("peer", ["rust", "js", "go"])
async def test_neither_we_nor_the_peer_send_what_the_other_has(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    nodes = await ring(open_node, start_peer, peer)
    assert await published(nodes) == COUNT, "we sent nothing that the peer had"
    counters = nodes.slow.network.counters
    assert counters["duplicate"] == 0, f"the peer sent nothing that we had; {nodes.slow.state()}"
    assert counters["spared.not_queued"] == COUNT
    assert counters["ignored"] == counters["rejected"] == 0


async def test_in_older_versions_the_peer_sends_us_every_message_a_second_time(
    open_node: OpenNode, start_rust_peer: StartPeer
) -> None:
    nodes = await ring(open_node, start_rust_peer, "rust", protocols=OLD)
    assert await published(nodes) == COUNT, "by its copy we learned that the peer has it"
    counters = nodes.slow.network.counters
    assert counters["duplicate"] == COUNT
    assert counters["spared"] == 0
