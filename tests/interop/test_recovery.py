"""A stream or a connection breaks while the peer lives: it heals, and every loss is accounted for.

rust (gossipsub 0.50) holds all that it has read against the limit of one message, so several large
messages in a row break our stream to it; and it goes deaf, in both directions, with the fifth
stream on one connection.
"""

from __future__ import annotations

import asyncio
import itertools
import random

import pytest

from rumormill.core.trace import TraceEvent
from tests.helpers.interop.conversation import StartPeer, acquainted, connected
from tests.helpers.interop.dialects import dialect
from tests.helpers.interop.our_node import PATIENCE, TOPIC, OpenNode, OurNode, eventually
from tests.helpers.interop.peer_process import RouterPeer, numbered_payloads

BURST = 50
LARGE = 60 * 1024
COUNT = 20


async def burst(node: OurNode, number: int = 0) -> None:
    """Fifty large messages, as fast as they are taken."""
    for each in range(BURST):
        await node.publish(random.Random(f"{number} {each}").randbytes(LARGE))


async def taken(peer: RouterPeer) -> list[bytes]:
    """What has arrived there since somebody last looked."""
    count = len(peer.pending("message"))
    if not count:
        return []
    return [event["data"] for event in await peer.messages(TOPIC, count, timeout=PATIENCE)]


async def heard_again(node: OurNode, peer: RouterPeer) -> list[bytes]:
    """From some message on, everything that we say arrives there, and the other way round.

    Returns what arrived there before that.
    """
    before: list[bytes] = []
    for number in itertools.count():
        probe = f"are you there? {node.id} {number}".encode()
        await node.publish(probe)
        await asyncio.sleep(0.1)
        before += await taken(peer)
        if probe in before:
            break
        assert number < PATIENCE * 10, f"nothing arrives any more; {node.state()}"
    prefix = f"{node.id} {node.network.counters['published']} "
    for data in (wanted := numbered_payloads(COUNT, prefix=prefix)):
        await node.publish(data)
    while wanted:
        (message,) = await peer.messages(TOPIC, 1, timeout=PATIENCE)
        wanted = [each for each in wanted if each != message["data"]]
    await peer.publish_many(TOPIC, COUNT, prefix=prefix, timeout=PATIENCE)
    answers = set(numbered_payloads(COUNT, prefix=prefix))
    while answers:
        (answer,) = await node.received(1)
        answers.discard(answer.data)
    return before


@pytest.mark.parametrize("peer", ["rust"])
async def test_fifty_large_messages_in_a_row_and_each_has_arrived_or_is_accounted_for(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    node, other = await connected(open_node, start_peer, dialect(peer))
    events: list[TraceEvent] = []
    node.network.on_trace(events.append)
    await burst(node)
    counters = node.network.counters
    await eventually(lambda: counters["stream_lost"] > 0, "our stream breaks", node.state)
    arrived = [data for data in await heard_again(node, other) if len(data) == LARGE]
    lost = [event.fields["unconfirmed"] for event in events if event.event == "stream_lost"]
    under_way = sum(int(str(each)) for each in lost) / LARGE
    assert len(arrived) + counters["dropped.stream_lost"] + under_way >= BURST
    assert counters["peer_left"] == 0, "its own stream has never ended"


@pytest.mark.parametrize("peer", ["rust"])
async def test_a_peer_whose_streams_break_again_and_again_gets_a_new_connection(
    open_node: OpenNode, start_peer: StartPeer, peer: str
) -> None:
    node, other = await connected(open_node, start_peer, dialect(peer))
    lost = node.network.counters
    for number in range(6):
        before = lost["stream_lost"] + lost["connection_closed"]
        for each in itertools.count():
            await burst(node, number * 1000 + each)
            await asyncio.sleep(0.2)
            if lost["stream_lost"] + lost["connection_closed"] > before:
                break
        await heard_again(node, other)
    assert lost["connection_closed.pubsub_streams_used_up"] >= 1
    assert lost["pubsub_unavailable"] == 0


@pytest.mark.parametrize("which", [0, 1], ids=["the first", "the second"])
@pytest.mark.parametrize("peer", ["rust", "go"])
async def test_both_dial_at_once_and_we_close_one_of_two_connections(
    open_node: OpenNode, start_peer: StartPeer, peer: str, which: int
) -> None:
    speech = dialect(peer)
    other = await start_peer(**speech.theirs())
    node = await open_node(**speech.ours)
    network = node.network
    while len(network._tcp._connections) < 2:
        await asyncio.gather(other.dial(node.address), network.connect(other.address))
    await acquainted(node, other)
    await heard_again(node, other)
    number = list(network._tcp._connections)[which]
    network._tcp._connections[number].transport.abort()
    await eventually(lambda: number not in network._tcp._connections, "it is closed", node.state)
    await heard_again(node, other)
    assert network.counters["peer_left"] == 0
    assert network.counters["protocol_error"] == 0
