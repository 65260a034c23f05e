"""A peer that keeps a score: our coming and going costs us nothing with it.

go lets a peer that PRUNEs without a time stay away for its own backoff, and takes points from one
that GRAFTs before. That backoff is longer here than any test waits: whoever is punished, or held
to it, does not come back.
"""

from __future__ import annotations

from pathlib import Path

from tests.helpers.interop.conversation import acquainted
from tests.helpers.interop.go_peer import GoPeer, StartGoPeer
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode, contents, eventually
from tests.helpers.interop.peer_process import numbered_payloads

SCORING = {"Score": {}, "PruneBackoff": 600}
COUNT = 20


async def hears_everything(node: OurNode, go: GoPeer) -> None:
    """Each of the peer's messages reaches us, and the peer thinks no worse of us than before."""
    await go.publish_many(TOPIC, COUNT, size=500)
    assert contents(await node.received(COUNT)) == numbered_payloads(COUNT, size=500)
    score = await go.score_of(node.id)
    assert score["lowest"] == 0, f"{score}, after {await go.control_of(node.id)}"


async def test_a_clean_restart_with_the_same_key_costs_no_score_and_we_are_back_in_the_mesh(
    open_node: OpenNode, start_go_peer: StartGoPeer, tmp_path: Path
) -> None:
    go = await start_go_peer(topics=[TOPIC], options=SCORING)
    settings = {"key_file": tmp_path / "key", "bootstrap": [go.address]}
    for _ in range(3):
        node = await open_node(**settings)
        await acquainted(node, go)
        await hears_everything(node, go)

        await node.network.close()
        await go.expect("peer", id=node.id, state="disconnected", timeout=PATIENCE)
        assert (await go.control_of(node.id))["prunes"] == [], "whoever closes prunes nobody"


async def test_leaving_a_topic_and_joining_it_again_costs_no_score_and_we_are_back_in_the_mesh(
    open_node: OpenNode, start_go_peer: StartGoPeer
) -> None:
    go = await start_go_peer(topics=[TOPIC], options=SCORING)
    node = await open_node(bootstrap=[go.address])
    await acquainted(node, go)
    await hears_everything(node, go)

    node.messages.close()

    async def left() -> bool:
        return await go.mesh(TOPIC) == []

    await eventually(left, "we are out of the peer's mesh")
    (prune,) = (await go.control_of(node.id))["prunes"]
    assert 0 < prune["backoff"] < SCORING["PruneBackoff"], "we say how long we stay away"

    node.messages = node.network.subscribe(TOPIC, buffer=100_000)
    await go.meshes(node.id, TOPIC, timeout=PATIENCE)
    await eventually(lambda: go.id in node.network.mesh(TOPIC), "the peer is in our mesh")
    await hears_everything(node, go)
