"""Messages in parts with rust: each side gives what it has and gets what it lacks."""

from __future__ import annotations

from typing import Any

from rumormill.libp2p.live.partial_topic import PartialTopic
from tests.helpers.interop import interop_matrix as matrix
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
from tests.helpers.interop.rust_peer import RustPeer, StartRustPeer

RUST_OPTIONS: dict[str, Any] = {
    "partial_topics": {CELLS: len(PARTS)},
    "score": {},
    "heartbeat_initial_delay": 0.5,
}


async def opened(
    open_node: OpenNode, start_rust_peer: StartRustPeer
) -> tuple[OurNode, PartialTopic, RustPeer]:
    """Our node and a rust node, in each other's mesh of the topic."""
    rust = await start_rust_peer(topics=[CELLS], options=RUST_OPTIONS)
    node = await open_node(partial_messages=True)
    cells = node.network.partial_topic(CELLS, empty)
    await node.network.connect(rust.address)
    await rust.meshes(node.id, CELLS, timeout=PATIENCE)
    await eventually(lambda: rust.id in node.network.mesh(CELLS), "rust is in our mesh", node.state)
    return node, cells, rust


@row(matrix.PARTS, OURS, peer="rust")
async def test_rust_gets_our_parts(open_node: OpenNode, start_rust_peer: StartRustPeer) -> None:
    node, cells, rust = await opened(open_node, start_rust_peer)
    cells.publish(only(*range(len(PARTS))))
    assert await rust.assembled(CELLS, GROUP, timeout=PATIENCE) == PARTS
    await nobody_is_blamed(node, rust)


@row(matrix.PARTS, THEIRS, peer="rust")
async def test_we_get_the_parts_of_rust(
    open_node: OpenNode, start_rust_peer: StartRustPeer
) -> None:
    node, cells, rust = await opened(open_node, start_rust_peer)
    await rust.publish_partial(CELLS, GROUP, theirs(*range(len(PARTS))))
    assert list((await complete(cells)).parts) == PARTS
    await nobody_is_blamed(node, rust)


@row(matrix.PARTS, OURS, peer="rust")
@row(matrix.PARTS, THEIRS, peer="rust")
async def test_two_that_have_half_each_have_the_whole_and_no_part_comes_twice(
    open_node: OpenNode, start_rust_peer: StartRustPeer
) -> None:
    node, cells, rust = await opened(open_node, start_rust_peer)
    cells.publish(only(*EVEN))
    await rust.publish_partial(CELLS, GROUP, theirs(*ODD))
    assert list((await complete(cells)).parts) == PARTS

    told = await rust.expect("parts", timeout=PATIENCE)
    assert told["complete"]
    assert told["new"] == list(EVEN), "all that it lacked, at once"
    assert told["via"] == node.id
    await nobody_is_blamed(node, rust)


@row(matrix.PARTS, OURS, peer="rust")
@row(matrix.PARTS, THEIRS, peer="rust")
async def test_parts_of_rust_reach_rust_through_us(
    open_node: OpenNode, start_rust_peer: StartRustPeer
) -> None:
    node, cells, first = await opened(open_node, start_rust_peer)
    second = await start_rust_peer(topics=[CELLS], options=RUST_OPTIONS, dial=[node.address])
    await second.meshes(node.id, CELLS, timeout=PATIENCE)
    await eventually(lambda: second.id in node.network.mesh(CELLS), "both are in our mesh")

    await first.publish_partial(CELLS, GROUP, theirs(*range(len(PARTS))))
    assert await second.assembled(CELLS, GROUP, timeout=PATIENCE) == PARTS
    assert (await complete(cells)).complete
    for rust in (first, second):
        await nobody_is_blamed(node, rust)
