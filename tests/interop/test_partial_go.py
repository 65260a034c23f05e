"""Messages in parts with go: each side gives what it has and gets what it lacks."""

from __future__ import annotations

from typing import Any

from rumormill.libp2p.live.partial_topic import PartialTopic
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.go_peer import GoPeer, StartGoPeer
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

GO_OPTIONS: dict[str, Any] = {
    "PartialTopics": {CELLS: len(PARTS)},
    "Score": {},
}


async def opened(
    open_node: OpenNode, start_go_peer: StartGoPeer
) -> tuple[OurNode, PartialTopic, GoPeer]:
    """Our node and a go node, in each other's mesh of the topic."""
    go = await start_go_peer(topics=[CELLS], options=GO_OPTIONS)
    node = await open_node(partial_messages=True)
    cells = node.network.partial_topic(CELLS, empty)
    await node.network.connect(go.address)
    await go.meshes(node.id, CELLS, timeout=PATIENCE)
    await eventually(lambda: go.id in node.network.mesh(CELLS), "go is in our mesh", node.state)
    return node, cells, go


@row(matrix.PARTS, OURS, peer="go")
async def test_go_gets_our_parts(open_node: OpenNode, start_go_peer: StartGoPeer) -> None:
    node, cells, go = await opened(open_node, start_go_peer)
    cells.publish(only(*range(len(PARTS))))
    assert await go.assembled(CELLS, GROUP, timeout=PATIENCE) == PARTS
    await nobody_is_blamed(node, go)


@row(matrix.PARTS, THEIRS, peer="go")
async def test_we_get_the_parts_of_go(open_node: OpenNode, start_go_peer: StartGoPeer) -> None:
    node, cells, go = await opened(open_node, start_go_peer)
    await go.publish_partial(CELLS, GROUP, theirs(*range(len(PARTS))))
    assert list((await complete(cells)).parts) == PARTS
    await nobody_is_blamed(node, go)


@row(matrix.PARTS, OURS, peer="go")
@row(matrix.PARTS, THEIRS, peer="go")
async def test_two_that_have_half_each_have_the_whole_and_no_part_comes_twice(
    open_node: OpenNode, start_go_peer: StartGoPeer
) -> None:
    node, cells, go = await opened(open_node, start_go_peer)
    cells.publish(only(*EVEN))
    await go.publish_partial(CELLS, GROUP, theirs(*ODD))
    assert list((await complete(cells)).parts) == PARTS

    told = await go.expect("parts", timeout=PATIENCE)
    assert told["complete"]
    assert told["new"] == list(EVEN), "all that it lacked, at once"
    assert told["via"] == node.id
    await nobody_is_blamed(node, go)


@row(matrix.PARTS, OURS, peer="go")
@row(matrix.PARTS, THEIRS, peer="go")
async def test_parts_of_go_reach_go_through_us(
    open_node: OpenNode, start_go_peer: StartGoPeer
) -> None:
    node, cells, first = await opened(open_node, start_go_peer)
    second = await start_go_peer(topics=[CELLS], options=GO_OPTIONS, dial=[node.address])
    await second.meshes(node.id, CELLS, timeout=PATIENCE)
    await eventually(lambda: second.id in node.network.mesh(CELLS), "both are in our mesh")

    await first.publish_partial(CELLS, GROUP, theirs(*range(len(PARTS))))
    assert await second.assembled(CELLS, GROUP, timeout=PATIENCE) == PARTS
    assert (await complete(cells)).complete
    for go in (first, second):
        await nobody_is_blamed(node, go)
