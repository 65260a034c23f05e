"""Our node and one real peer: how they meet, and how each tells the other a hundred things."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from tests.helpers.interop.dialects import OUR_RESTLESS, RESTLESS, Dialect
from tests.helpers.interop.interop_matrix import WE_DIAL
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode, contents, eventually
from tests.helpers.interop.peer_process import PeerProcess, RouterPeer, numbered_payloads

ROUTER_PEERS = ("rust", "js", "py", "go")

NO_MESH = {"D": 0, "D_low": 0, "D_high": 0, "D_lazy": 6}
"""Settings of a node of ours that gets and gives messages by gossip only."""

StartPeer: TypeAlias = Callable[..., Awaitable[RouterPeer]]
"""The fixture ``start_peer``: starts peers of the kind that the test's ``peer`` names."""


async def connected(
    open_node: OpenNode,
    start_peer: StartPeer,
    speech: Dialect,
    direction: str = WE_DIAL,
    *,
    options: Mapping[str, Any] | None = None,
    **settings: Any,
) -> tuple[OurNode, RouterPeer]:
    """Our node and a peer, ready to send: see :func:`acquainted`."""
    if direction == WE_DIAL:
        peer = await start_peer(**speech.theirs(options))
        node = await open_node(**speech.ours, **settings, bootstrap=[peer.address])
    else:
        node = await open_node(**speech.ours, **settings)
        peer = await start_peer(**speech.theirs(options), dial=[node.address])
    await acquainted(node, peer)
    return node, peer


async def acquainted(node: OurNode, peer: RouterPeer) -> None:
    """Wait until each has the other in its mesh of the topic; in floodsub, knows it subscribed."""
    topic = node.topic
    await node.sees(peer.id)
    await peer.sees(node.id, topic, timeout=PATIENCE)
    if node.network.name == "gossipsub":
        await eventually(lambda: peer.id in node.network.mesh(topic), "the peer is in our mesh")
        await peer.meshes(node.id, topic, timeout=PATIENCE)


async def exchange(
    node: OurNode, peer: RouterPeer, *, signed: bool = True, count: int = 100
) -> None:
    """So many messages each way, and a last one: what is there twice came before it."""
    ours = numbered_payloads(count, size=1024, prefix=f"from {node.id} ")
    for receipt in await node.publish(*ours, b"our last to " + peer.id.encode()):
        assert receipt.peers == (peer.id,)
        assert not receipt.dropped
    there = await peer.messages(TOPIC, count + 1, timeout=PATIENCE)
    last = b"our last to " + peer.id.encode()
    assert sorted(message["data"] for message in there) == sorted([*ours, last])
    assert {message["from"] for message in there} == {node.id if signed else None}

    prefix = f"from {peer.id} "
    await peer.publish_many(TOPIC, count, size=1024, prefix=prefix, timeout=PATIENCE)
    await peer.publish(TOPIC, b"their last")
    here = await node.received(count + 1)
    theirs = numbered_payloads(count, size=1024, prefix=prefix)
    assert contents(here) == sorted([*theirs, b"their last"])
    assert {message.sender for message in here} == {peer.id if signed else None}

    assert peer.pending("message") == []
    assert node.messages.pending == 0
    counters = node.network.counters
    assert counters["rejected"] == counters["protocol_error"] == counters["dropped"] == 0


async def row_of_three(
    open_node: OpenNode, start_peer: StartPeer, speech: Dialect
) -> tuple[OurNode, RouterPeer, OurNode]:
    """A node of ours, the peer, and another node of ours that wants no mesh.

    The first two are in each other's mesh. The last is connected to the peer only.
    """
    peer = await start_peer(**speech.theirs(RESTLESS[speech.peer]))
    settings = {**speech.ours, **OUR_RESTLESS, "bootstrap": [peer.address]}
    if speech.peer == "py":
        # It takes peers of 1.1 and above into a mesh that is full, when it scores them higher than
        # those in it; and of what it has it tells nobody whom it may not graft.
        settings["protocols"] = ("/meshsub/1.0.0",)
    first = await open_node(**settings)
    await acquainted(first, peer)
    last = await open_node(**settings, **NO_MESH)
    await last.sees(peer.id)
    await peer.sees(last.id, TOPIC, timeout=PATIENCE)
    if speech.peer != "py":
        # The peer takes our last node into its mesh, and is told that this node wants none. py has
        # a mesh of one, our first node.
        await eventually(lambda: last.transcript.pruned(TOPIC, ours=True), "we prune the peer")

    async def out() -> bool:
        return last.id not in await peer.mesh(TOPIC) and last.network.mesh(TOPIC) == ()

    await eventually(out, "our node without a mesh is out of the peer's mesh")
    return first, peer, last


async def kill(peer: PeerProcess) -> None:
    """End the peer without a word to anyone."""
    peer._process.kill()
    await peer._process.wait()
