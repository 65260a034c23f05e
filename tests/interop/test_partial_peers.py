"""Messages in parts with rust: each side gives what it has and gets what it lacks."""

from __future__ import annotations

from typing import Any

from rumormill.libp2p.gossipsub.partial import PartialMessage, PartList
from rumormill.libp2p.live.partial_topic import PartialTopic
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.interop_matrix import OURS, THEIRS, row
from tests.helpers.interop.our_node import PATIENCE, OpenNode, OurNode, eventually
from tests.helpers.interop.rust_peer import RustPeer, StartRustPeer

CELLS = "cells"
GROUP = b"block 7"
PARTS = [bytes([65 + number]) * 500 for number in range(20)]
RUST_OPTIONS: dict[str, Any] = {
    "partial_topics": {CELLS: len(PARTS)},
    "score": {},
    "heartbeat_initial_delay": 0.5,
}


def empty(group_id: bytes) -> PartList:
    """A message of which we have nothing yet."""
    return PartList(group_id, len(PARTS))


def only(*numbers: int) -> PartList:
    """A message of which we have these parts."""
    message = empty(GROUP)
    for number in numbers:
        message.add(number, PARTS[number])
    return message


def theirs(*numbers: int) -> list[bytes | None]:
    """The same for rust."""
    return [part if number in numbers else None for number, part in enumerate(PARTS)]


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


async def complete(cells: PartialTopic) -> PartList:
    """Wait until we have a message whole."""
    while True:
        news = await cells.get(timeout=PATIENCE)
        message: PartialMessage | None = news.message
        assert isinstance(message, PartList)
        if message.complete:
            return message


async def nobody_is_blamed(node: OurNode, rust: RustPeer) -> None:
    assert node.network.counters["rejected"] == node.network.counters["protocol_error"] == 0
    assert node.network.scores()[rust.id].total >= 0
    assert (await rust.score_of(node.id))["score"] >= 0
    assert rust.pending("trouble") == []


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
    even, odd = range(0, len(PARTS), 2), range(1, len(PARTS), 2)
    cells.publish(only(*even))
    await rust.publish_partial(CELLS, GROUP, theirs(*odd))
    assert list((await complete(cells)).parts) == PARTS

    told = await rust.expect("parts", timeout=PATIENCE)
    assert told["complete"]
    assert told["new"] == list(even), "all that it lacked, at once"
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
