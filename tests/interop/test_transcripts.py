"""The sessions that are kept as test vectors, live: what holds of the files holds of each new run.

``RUMORMILL_WRITE_VECTORS=1`` keeps what was said in this run, in place of what was kept before.
"""

from __future__ import annotations

import os

import pytest

from tests.helpers.interop import peer_transcripts
from tests.helpers.interop.conversation import StartPeer, connected, row_of_three
from tests.helpers.interop.dialects import Dialect
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode, eventually
from tests.helpers.interop.peer_process import RouterPeer
from tests.helpers.interop.peer_transcripts import Session

SHORT, LONG = b"a short one from ", b"one of more than a kilobyte from "


def payloads(name: str) -> list[bytes]:
    return [SHORT + name.encode(), (LONG + name.encode()).ljust(1100, b".")]


@pytest.mark.parametrize(("peer", "name"), peer_transcripts.every_session())
async def test_a_session_holds_what_the_kept_ones_hold(
    open_node: OpenNode, start_peer: StartPeer, peer: str, name: str
) -> None:
    speech = peer_transcripts.sessions(peer)[name]
    if speech.router == "gossipsub":
        session = await gossipsub_session(open_node, start_peer, speech)
    else:
        session = await floodsub_session(open_node, start_peer, speech)
    peer_transcripts.check(session, speech)
    if os.environ.get("RUMORMILL_WRITE_VECTORS") == "1":
        peer_transcripts.write(peer, name, session)


async def gossipsub_session(open_node: OpenNode, start_peer: StartPeer, speech: Dialect) -> Session:
    node_b, peer, node_c = await row_of_three(open_node, start_peer, speech)
    await node_b.publish(*payloads("B"))
    await peer.messages(TOPIC, 2, timeout=PATIENCE)
    await node_c.publish(*payloads("C"))
    await peer.messages(TOPIC, 2, timeout=PATIENCE)
    if not peer_transcripts.forgetful(speech):
        await node_b.received(2)
        await node_c.received(2)
    for data in payloads("the peer"):
        await peer.publish(TOPIC, data)
    await node_b.received(2)
    await goodbye(node_b, peer)
    return {"B": node_b.transcript, "C": node_c.transcript}


async def floodsub_session(open_node: OpenNode, start_peer: StartPeer, speech: Dialect) -> Session:
    node, peer = await connected(open_node, start_peer, speech)
    await node.publish(*payloads("B"))
    await peer.messages(TOPIC, 2, timeout=PATIENCE)
    for data in payloads("the peer"):
        await peer.publish(TOPIC, data)
    await node.received(2)
    await goodbye(node, peer)
    return {"B": node.transcript}


async def goodbye(node: OurNode, peer: RouterPeer) -> None:
    """The peer leaves the topic."""
    await peer.unsubscribe(TOPIC)
    await eventually(lambda: not node.network.subscribers(TOPIC), "the peer has left the topic")
    if node.network.name == "gossipsub":
        await eventually(lambda: node.transcript.pruned(TOPIC, ours=False), "the peer prunes us")
