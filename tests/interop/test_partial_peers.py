"""Messages in parts with rust and go: each side gives what it has and gets what it lacks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rumormill.libp2p.live.partial_topic import PartialTopic
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.go_peer import GoPeer
from tests.helpers.interop.interop_matrix import OURS, THEIRS, row
from tests.helpers.interop.our_node import PATIENCE, OpenNode, OurNode, eventually
from tests.helpers.interop.parts import (
    CELLS,
    EVEN,
    GROUP,
    ODD,
    PARTS,
    complete,
    empty,
    nobody_is_blamed,
    only,
    theirs,
)
from tests.helpers.interop.rust_peer import RustPeer

Start = Callable[..., Awaitable[RustPeer | GoPeer]]

OPTIONS: dict[str, dict[str, Any]] = {
    "rust": {
        "partial_topics": {CELLS: len(PARTS)},
        "score": {},
        "heartbeat_initial_delay": 0.5,
    },
    "go": {"PartialTopics": {CELLS: len(PARTS)}, "Score": {}},
}
"""As each of them calls the same."""

each_peer = pytest.mark.parametrize("peer", OPTIONS)


async def opened(
    open_node: OpenNode, start_peer: Start, peer: str
) -> tuple[OurNode, PartialTopic, RustPeer | GoPeer]:
    """Our node and one of the other implementation, in each other's mesh of the topic."""
    other = await start_peer(topics=[CELLS], options=OPTIONS[peer])
    node = await open_node(partial_messages=True)
    cells = node.network.partial_topic(CELLS, empty)
    await node.network.connect(other.address)
    await other.meshes(node.id, CELLS, timeout=PATIENCE)
    await eventually(lambda: other.id in node.network.mesh(CELLS), "it is in our mesh", node.state)
    return node, cells, other


@row(matrix.PARTS, OURS)
@each_peer
async def test_they_get_our_parts(open_node: OpenNode, start_peer: Start, peer: str) -> None:
    node, cells, other = await opened(open_node, start_peer, peer)
    cells.publish(only(*range(len(PARTS))))
    assert await other.assembled(CELLS, GROUP, timeout=PATIENCE) == PARTS
    await nobody_is_blamed(node, other)


@row(matrix.PARTS, THEIRS)
@each_peer
async def test_we_get_their_parts(open_node: OpenNode, start_peer: Start, peer: str) -> None:
    node, cells, other = await opened(open_node, start_peer, peer)
    await other.publish_partial(CELLS, GROUP, theirs(*range(len(PARTS))))
    assert list((await complete(cells)).parts) == PARTS
    await nobody_is_blamed(node, other)


@row(matrix.PARTS, OURS)
@row(matrix.PARTS, THEIRS)
@each_peer
async def test_two_that_have_half_each_have_the_whole_and_no_part_comes_twice(
    open_node: OpenNode, start_peer: Start, peer: str
) -> None:
    node, cells, other = await opened(open_node, start_peer, peer)
    cells.publish(only(*EVEN))
    await other.publish_partial(CELLS, GROUP, theirs(*ODD))
    assert list((await complete(cells)).parts) == PARTS

    told = await other.expect("parts", timeout=PATIENCE)
    # Whole by that, unless our half was there before its own, as may be on a busy machine.
    assert told["new"] == list(EVEN), "all that it lacked, at once"
    assert told["via"] == node.id
    await nobody_is_blamed(node, other)


@row(matrix.PARTS, OURS)
@row(matrix.PARTS, THEIRS)
@each_peer
async def test_parts_of_one_of_them_reach_another_through_us(
    open_node: OpenNode, start_peer: Start, peer: str
) -> None:
    node, cells, first = await opened(open_node, start_peer, peer)
    second = await start_peer(topics=[CELLS], options=OPTIONS[peer], dial=[node.address])
    await second.meshes(node.id, CELLS, timeout=PATIENCE)
    await eventually(lambda: second.id in node.network.mesh(CELLS), "both are in our mesh")

    await first.publish_partial(CELLS, GROUP, theirs(*range(len(PARTS))))
    assert await second.assembled(CELLS, GROUP, timeout=PATIENCE) == PARTS
    assert (await complete(cells)).complete
    for other in (first, second):
        await nobody_is_blamed(node, other)
