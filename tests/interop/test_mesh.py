"""Joining and leaving a mesh, and floodsub nodes as the guests of gossipsub nodes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import ROUTER_PEERS, StartPeer, acquainted, connected
from tests.helpers.interop.dialects import dialect
from tests.helpers.interop.interop_matrix import BOTH, row
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, eventually

MESHSUB = ["/meshsub/1.2.0", "/meshsub/1.1.0", "/meshsub/1.0.0"]

GUESTS: dict[str, dict[str, Any]] = {
    "rust": {"router": "gossipsub", "options": {"support_floodsub": True}},
    "js": {"router": "gossipsub"},
    "py": {"router": "gossipsub", "options": {"protocols": [*MESHSUB, "/floodsub/1.0.0"]}},
    "go": {"router": "gossipsub"},
}
"""Arguments with which a gossipsub peer takes floodsub peers as guests."""

every_peer = pytest.mark.parametrize("peer", ROUTER_PEERS)


@row(matrix.MESH, BOTH)
@every_peer
async def test_a_peer_and_we_leave_and_join_each_other_s_mesh(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    node, other = await connected(open_node, start_peer, dialect(peer))
    assert node.network.mesh(TOPIC) == (other.id,)
    assert await other.mesh(TOPIC) == [node.id]

    await other.unsubscribe(TOPIC)
    await eventually(lambda: node.network.subscribers(TOPIC) == (), "the peer has left the topic")
    assert node.network.mesh(TOPIC) == ()
    (receipt,) = await node.publish(b"unheard")
    assert receipt.peers == ()

    tides = node.network.subscribe("tides")
    await other.subscribe("tides")
    await other.meshes(node.id, "tides", timeout=PATIENCE)
    await eventually(lambda: node.network.mesh("tides") == (other.id,), "the peer is in our mesh")
    tides.close()

    async def left() -> bool:
        return await other.mesh("tides") == []

    await eventually(left, "we are out of the peer's mesh")


@row(matrix.GUEST, BOTH)
@every_peer
async def test_our_floodsub_node_is_the_guest_of_a_gossipsub_peer(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    other = await start_peer(topics=[TOPIC], **GUESTS[peer])
    node = await open_node("floodsub", bootstrap=[other.address])
    await acquainted(node, other)
    await node.publish(b"from us")
    (there,) = await other.messages(TOPIC, 1, timeout=PATIENCE)
    assert there["data"] == b"from us"
    await other.publish(TOPIC, b"from them")
    (here,) = await node.received(1)
    assert here.data == b"from them"


@row(matrix.GUEST, BOTH)
@pytest.mark.parametrize("peer", ["js", "py", "go"])
async def test_a_floodsub_peer_is_the_guest_of_our_gossipsub_node(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    other = await start_peer(topics=[TOPIC], router="floodsub")
    node = await open_node("gossipsub", bootstrap=[other.address])
    await node.sees(other.id)
    await other.sees(node.id, TOPIC, timeout=PATIENCE)
    assert node.network.mesh(TOPIC) == (), "a guest is never in a mesh"
    (receipt,) = await node.publish(b"from us")
    assert receipt.peers == (other.id,)
    (there,) = await other.messages(TOPIC, 1, timeout=PATIENCE)
    assert there["data"] == b"from us"
    await other.publish(TOPIC, b"from them")
    (here,) = await node.received(1)
    assert here.data == b"from them"
