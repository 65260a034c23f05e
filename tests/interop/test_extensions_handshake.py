"""gossipsub 1.3: each side says which extensions it has, and both use those that both have."""

from __future__ import annotations

import pytest

from rumormill import TraceEvent
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import acquainted
from tests.helpers.interop.go_peer import StartGoPeer
from tests.helpers.interop.interop_matrix import THEY_DIAL, WE_DIAL, row
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode, eventually
from tests.helpers.interop.rust_peer import StartRustPeer

BOTH_EXTENSIONS = {"test_extension": True, "partial_messages": True}

every_direction = pytest.mark.parametrize("direction", [WE_DIAL, THEY_DIAL])


def agreements(node: OurNode) -> dict[str | None, str]:
    """What is agreed on with each peer, as it is announced from now on."""
    found: dict[str | None, str] = {}

    def see(event: TraceEvent) -> None:
        if event.event == "peer_extensions":
            assert event.peer not in found, "it is said once"
            found[event.peer] = str(event.fields["agreed"])

    node.network.on_trace(see)
    return found


def blameless(node: OurNode, peer: str) -> bool:
    counters = node.network.counters
    return counters["rejected"] == 0 and node.network.scores()[peer].behaviour == 0


@row(matrix.EXTENSIONS, peer="go")
@every_direction
async def test_the_test_extension_with_go(
    open_node: OpenNode, start_go_peer: StartGoPeer, direction: str
) -> None:
    node = await open_node(**BOTH_EXTENSIONS)
    agreed = agreements(node)
    options = {"TestExtension": True, "Score": {}}
    if direction == WE_DIAL:
        go = await start_go_peer(topics=[TOPIC], options=options)
        await node.network.connect(go.address)
    else:
        go = await start_go_peer(topics=[TOPIC], options=options, dial=[node.address])
    await acquainted(node, go)

    await go.expect("extension-tested", id=node.id, timeout=PATIENCE)
    await eventually(lambda: node.network.counters["extension_tested"] == 1, "go has sent its own")
    assert (await go.control_of(node.id))["extensions"] == ["partial", "test"]
    assert agreed == {go.id: "test"}, "and it has no other"
    assert blameless(node, go.id)
    assert (await go.score_of(node.id))["lowest"] == 0


async def test_nothing_is_announced_where_there_is_nothing(
    open_node: OpenNode, start_go_peer: StartGoPeer
) -> None:
    go = await start_go_peer(topics=[TOPIC], options={"TestExtension": True, "Score": {}})
    node = await open_node(bootstrap=[go.address])
    await acquainted(node, go)
    assert not (await go.control_of(node.id))["extensions"]
    assert node.network.counters["extension_tested"] == 0
    assert blameless(node, go.id)


@row(matrix.EXTENSIONS, peer="rust")
@every_direction
async def test_partial_messages_are_agreed_on_with_rust(
    open_node: OpenNode, start_rust_peer: StartRustPeer, direction: str
) -> None:
    node = await open_node(**BOTH_EXTENSIONS)
    agreed = agreements(node)
    options = {"score": {}, "heartbeat_initial_delay": 0.5}
    if direction == WE_DIAL:
        rust = await start_rust_peer(topics=[TOPIC], options=options)
        await node.network.connect(rust.address)
    else:
        rust = await start_rust_peer(topics=[TOPIC], options=options, dial=[node.address])
    await acquainted(node, rust)
    await eventually(
        lambda: agreed == {rust.id: "partial_messages"},
        f"rust has announced its extension, not {agreed}",
    )
    assert node.network.counters["extension_tested"] == 0, "rust has no test extension"
    assert blameless(node, rust.id)
    assert (await rust.score_of(node.id))["score"] >= 0
