"""Half a minute of ordinary traffic: nobody thinks worse of anybody.

One node of ours is in the mesh with all. It keeps the score that is advised for the rate, P3
included, with a shorter time of grace so that it is in force for most of the test. Another one is
in no mesh: it asks for what it is told of, so that others make promises to it. The others keep the
scores of their libraries.
"""

from __future__ import annotations

import asyncio
from typing import Any

from rumormill import TraceEvent
from rumormill.libp2p.gossipsub.score import TopicScoreParameters
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.conversation import NO_MESH, acquainted
from tests.helpers.interop.go_peer import StartGoPeer
from tests.helpers.interop.interop_matrix import BOTH, row
from tests.helpers.interop.js_peer import StartJsPeer
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode
from tests.helpers.interop.peer_process import RouterPeer
from tests.helpers.interop.rust_peer import StartRustPeer

SECONDS = 30
RATE = 5
"""Messages a second of each peer."""
GRACE = 8.0
OURS = 50
COMMON: dict[str, Any] = {"topics": [TOPIC], "message_id": "origin_bytes"}


def strict_score(peers: int) -> dict[str, Any]:
    """The advised parameters, in force after some seconds, when only a part of what is advised to
    demand can have come.
    """
    advised = TopicScoreParameters.for_rate(peers * RATE, mesh_size=peers, steady=True).parameters
    demanded = advised.mesh_deliveries
    assert demanded is not None
    sooner = demanded.model_copy(update={"activation": GRACE, "threshold": demanded.threshold / 8})
    return {"topics": {TOPIC: advised.model_copy(update={"mesh_deliveries": sooner})}}


class Watch:
    """The lowest that each thinks of another, and every penalty that our nodes gave."""

    def __init__(self, nodes: list[OurNode], peers: list[RouterPeer]) -> None:
        self.ours: dict[str, float] = {}
        self.theirs: dict[str, float] = {}
        self.penalties: list[str] = []
        self._nodes = nodes
        self._peers = peers
        for node in nodes:
            node.network.on_trace(self._on_trace)

    def _on_trace(self, event: TraceEvent) -> None:
        if event.event == "scored" and "reasons" in event.fields:
            self.penalties.append(f"{event.peer}: {event.fields['reasons']}")

    async def look(self) -> None:
        """Ask everybody once."""
        for node in self._nodes:
            for peer, score in node.network.scores().items():
                self.ours[peer] = min(self.ours.get(peer, 0.0), score.total)
            for each in self._peers:
                score_of_us = (await each.score_of(node.id))["score"]
                name = f"{each.language} {each.id}"
                self.theirs[name] = min(self.theirs.get(name, 0.0), score_of_us)

    async def until(self, work: asyncio.Future[Any]) -> None:
        """Ask again and again while something is under way."""
        while not work.done():
            await self.look()
            await asyncio.wait([work], timeout=0.5)
        await work


async def publish_calmly(node: OurNode) -> None:
    """Our own share, spread over the whole time."""
    for index in range(OURS):
        await node.publish(f"ours {index}".encode())
        await asyncio.sleep(SECONDS / OURS)


@row(matrix.CALM, BOTH, peer="rust js go")
async def test_in_a_calm_mesh_no_score_falls_below_zero_and_nobody_is_blamed(
    open_node: OpenNode,
    start_rust_peer: StartRustPeer,
    start_js_peer: StartJsPeer,
    start_go_peer: StartGoPeer,
) -> None:
    rust_options = {"score": {}, "heartbeat_initial_delay": 0.5}
    peers: list[RouterPeer] = [
        await start_rust_peer(**COMMON, options=rust_options),
        await start_rust_peer(**COMMON, options=rust_options),
        await start_js_peer(**COMMON),
        await start_js_peer(**COMMON),
        await start_go_peer(**COMMON, options={"Score": {}}),
    ]
    for index, peer in enumerate(peers):
        for other in peers[:index]:
            await peer.dial(other.address)
    node = await open_node(
        bootstrap=[each.address for each in peers], score=strict_score(len(peers))
    )
    listener = await open_node(bootstrap=[each.address for each in peers], **NO_MESH)
    for peer in peers:
        await acquainted(node, peer)
        await listener.sees(peer.id)
        await peer.sees(listener.id, TOPIC, timeout=PATIENCE)
    watch = Watch([node, listener], peers)

    count = SECONDS * RATE
    work = [each.bench_rate(TOPIC, rate=RATE, count=count, size=200) for each in peers]
    await watch.until(asyncio.gather(publish_calmly(node), *work))

    await node.received(count * len(peers))
    await listener.received(OURS + count * len(peers))
    assert len(listener.transcript.wanted(ours=True)) >= OURS, "we held others to their word"
    for peer in peers:
        await peer.messages(TOPIC, OURS + count * (len(peers) - 1), timeout=PATIENCE)
    await watch.look()
    assert set(watch.ours) == {each.id for each in peers}
    assert set(watch.ours.values()) == set(watch.theirs.values()) == {0.0}, vars(watch)
    assert watch.penalties == []
    assert not node.transcript.pruned(TOPIC, ours=True)
    assert not node.transcript.pruned(TOPIC, ours=False)
    assert set(node.network.mesh(TOPIC)) == {each.id for each in peers}
    scores = node.network.scores().values()
    assert min(each.total for each in scores) > 0, "and what they brought counts"
    for each in (node, listener):
        counters = each.network.counters
        assert counters["rejected"] == counters["protocol_error"] == counters["dropped"] == 0
