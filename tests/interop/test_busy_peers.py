"""Real peers that send as fast as they can, while others are connected: nobody pays for it."""

from __future__ import annotations

import pytest

from tests.helpers.interop.conversation import StartPeer, connected
from tests.helpers.interop.dialects import dialect
from tests.helpers.interop.interop_matrix import THEY_DIAL
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, contents
from tests.helpers.interop.peer_process import numbered_payloads

MANY = 3000


@pytest.mark.parametrize("peer", ["go", "rust", "js"])
async def test_all_that_a_busy_peer_sends_arrives_and_it_is_not_to_blame(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    speech = dialect(peer)
    node, busy = await connected(open_node, start_peer, speech, THEY_DIAL)
    # A peer that is alone with us has nobody to share our time with.
    bystander = await open_node(**speech.ours, bootstrap=[node.address])
    await node.sees(bystander.id)
    await busy.publish_many(TOPIC, MANY, timeout=PATIENCE)
    sent = sorted(numbered_payloads(MANY))
    assert contents(await node.received(MANY)) == sent
    assert contents(await bystander.received(MANY)) == sent
    assert busy.id in node.network.peers
    # That nobody is to blame is asked of every node at the end of every test with real peers.
