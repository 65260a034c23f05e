"""Ten processes of five implementations in one mesh: everybody hears everybody, once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import StartPeer
from tests.helpers.interop.go_peer import StartGoPeer
from tests.helpers.interop.interop_matrix import BOTH, row
from tests.helpers.interop.js_peer import StartJsPeer
from tests.helpers.interop.our_node import PATIENCE, TOPIC
from tests.helpers.interop.peer_process import RouterPeer, numbered_payloads
from tests.helpers.interop.py_peer import StartPyPeer
from tests.helpers.interop.rumormill_peer import StartRumormillPeer
from tests.helpers.interop.rust_peer import StartRustPeer

MEMBERS = ("rust", "js", "go", "rumormill") * 2 + ("py", "rumormill")
COUNT = 10
# rust's own first heartbeat comes after five seconds.
OPTIONS: Mapping[str, dict[str, Any]] = {
    "rust": {"heartbeat_initial_delay": 0.5, "heartbeat_interval": 0.5}
}


def neighbours(index: int) -> set[int]:
    """Each node has four, and no two that are alike in everything are next to each other."""
    return {(index + step) % len(MEMBERS) for step in (-3, -1, 1, 3)}


async def started(starters: Mapping[str, StartPeer]) -> list[RouterPeer]:
    """All nodes, connected to their neighbours and in the mesh with them."""
    common = {"topics": [TOPIC], "message_id": "origin_bytes"}
    nodes = await asyncio.gather(
        *(starters[name](**common, options=OPTIONS.get(name, {})) for name in MEMBERS)
    )
    for index, node in enumerate(nodes):
        for other in sorted(neighbours(index)):
            if other > index:
                await node.dial(nodes[other].address)
    for index, node in enumerate(nodes):
        for other in sorted(neighbours(index)):
            await node.sees(nodes[other].id, TOPIC, timeout=PATIENCE)
            await node.meshes(nodes[other].id, TOPIC, timeout=PATIENCE)
    return nodes


@row(matrix.MIXED, BOTH, peer="rust js py go")
async def test_in_a_mixed_mesh_of_ten_every_message_reaches_everyone_once(
    start_rust_peer: StartRustPeer,
    start_js_peer: StartJsPeer,
    start_py_peer: StartPyPeer,
    start_go_peer: StartGoPeer,
    start_rumormill_peer: StartRumormillPeer,
) -> None:
    nodes = await started(
        {
            "rust": start_rust_peer,
            "js": start_js_peer,
            "py": start_py_peer,
            "go": start_go_peer,
            "rumormill": start_rumormill_peer,
        }
    )
    await asyncio.gather(
        *(node.publish_many(TOPIC, COUNT, size=1024, prefix=node.id) for node in nodes)
    )
    expected = {node.id: numbered_payloads(COUNT, size=1024, prefix=node.id) for node in nodes}
    for node in nodes:
        others = [data for id, payloads in expected.items() if id != node.id for data in payloads]
        messages = await node.messages(TOPIC, len(others), timeout=PATIENCE)
        assert sorted(message["data"] for message in messages) == sorted(others), node.language
        assert {message["from"] for message in messages} == expected.keys() - {node.id}

    # Each link is in order: what was there twice came before the last message.
    for node in nodes:
        await node.publish(TOPIC, f"last of {node.id}".encode())
    lasts = {f"last of {node.id}".encode() for node in nodes}
    for node in nodes:
        messages = await node.messages(TOPIC, len(nodes) - 1, timeout=PATIENCE)
        own = f"last of {node.id}".encode()
        assert {message["data"] for message in messages} == lasts - {own}, node.language
    for node in nodes:
        assert node.pending("message") == [], node.language
