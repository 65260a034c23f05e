"""Peer exchange in a star: whom the hub has no room for, it tells of others, with their records.

The hub's mesh is small. Leaves know nobody but the hub at first; those that it prunes connect to
each other by the signed records that it sends along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import StartPeer
from tests.helpers.interop.interop_matrix import OURS, THEIRS, row
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode, eventually

LEAVES = 6
HUB: dict[str, dict[str, Any]] = {
    "go": {
        "PeerExchange": True, "D": 2, "Dlo": 1, "Dhi": 3, "Dscore": 1, "Dout": 0,
        "HeartbeatInterval": 0.3, "PruneBackoff": 5,
    },
    "js": {
        "doPX": True, "D": 2, "Dlo": 1, "Dhi": 3, "Dscore": 1, "Dout": 0,
        "heartbeatInterval": 300, "pruneBackoff": 5000,
    },
}  # fmt: skip
"""Options with which a peer has room for few, and names others to the rest."""
LEAF: dict[str, dict[str, Any]] = {
    "go": {},
    # A hub has done nothing yet to be trusted as much as js would have it.
    "js": {"scoreThresholds": {"acceptPXThreshold": 0}},
}
OUR_HUB: dict[str, Any] = {
    "peer_exchange": True, "D": 2, "D_low": 1, "D_high": 3, "D_out": 0, "heartbeat_interval": 0.3,
}  # fmt: skip


def held_together(leaves: Sequence[OurNode]) -> bool:
    """Whether the meshes of the leaves alone lead from the first one to all."""
    meshes = {leaf.id: leaf.network.mesh(TOPIC) for leaf in leaves}
    reached: set[str] = set()
    waiting = [leaves[0].id]
    while waiting:
        leaf = waiting.pop()
        if leaf in meshes and leaf not in reached:
            reached.add(leaf)
            waiting += meshes[leaf]
    return reached == meshes.keys()


@row(matrix.EXCHANGE, THEIRS)
@pytest.mark.parametrize("peer", ["js", "go"])
async def test_leaves_of_ours_meet_by_the_records_of_their_hub(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    hub = await start_peer(topics=[TOPIC], options=HUB[peer], message_id="origin_bytes")
    leaves = [await open_node(bootstrap=[hub.address], peer_exchange=True) for _ in range(LEAVES)]

    def state() -> object:
        return [leaf.state() for leaf in leaves]

    await eventually(lambda: held_together(leaves), "the leaves have a mesh of their own", state)
    named = sum(leaf.network.counters["exchange_connected"] for leaf in leaves)
    assert named >= 1, "by the exchange"
    for leaf in leaves:
        assert leaf.network.counters["rejected"] == 0, leaf.state()
        assert all(score.total >= 0 for score in leaf.network.scores().values())

    await hub.stop()
    first = leaves[0]
    await eventually(lambda: hub.id not in first.network.peers, "the hub is gone", first.state)
    await first.publish(b"without a hub")
    for leaf in leaves[1:]:
        (message,) = await leaf.received(1)
        assert message.data == b"without a hub"


@row(matrix.EXCHANGE, OURS)
@pytest.mark.parametrize("peer", ["js", "go"])
async def test_leaves_of_theirs_meet_by_the_records_of_our_hub(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    hub = await open_node(**OUR_HUB)
    leaves = [
        await start_peer(
            topics=[TOPIC], options=LEAF[peer], message_id="origin_bytes", dial=[hub.address]
        )
        for _ in range(LEAVES)
    ]
    ids = {leaf.id for leaf in leaves}

    async def met() -> bool:
        known = [{each["id"] for each in await leaf.peers()} & ids for leaf in leaves]
        return all(known)

    await eventually(met, "every leaf knows another leaf", hub.state)
    assert hub.network.counters["exchange_sent"] >= 1
    for leaf in leaves:
        await leaf.sees(hub.id, TOPIC, timeout=PATIENCE)
    assert hub.network.counters["rejected"] == 0
    assert hub.network.scores().keys() >= ids
