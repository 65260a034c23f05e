"""Clients that are killed or frozen, and nodes of ours that come back."""

from __future__ import annotations

import asyncio
import os
import signal

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.bcos_go import GoSdk
from tests.helpers.interop.bcos_sdk import Answer, SdkClient
from tests.helpers.interop.bcos_town import Client, Town, reached
from tests.helpers.interop.conversation import kill
from tests.helpers.interop.interop_matrix import AMONG, THEY_DIAL, row
from tests.helpers.interop.our_bcos_node import OurBcosNode, OurClient
from tests.helpers.interop.our_node import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

REDIAL = 1.0
"""Seconds after which a Java client looks for its node again; the SDK's own are 20."""


async def three_subscribers(town: Town, topic: str) -> dict[str, GoSdk]:
    """One on the first node and two on the second, each in a process of its own."""
    processes: dict[str, GoSdk] = {}
    publisher = await town.client("go", 0)
    for name, where in (("near", 0), ("far", 1), ("farther", 1)):
        processes[name] = await town.go()
        address, certificates = town.nodes[where].channel, town.chain.sdk(where)
        client = await processes[name].connect(name, address, certificates)
        await client.subscribe(topic)
        await town.known(client, publisher)
    return processes


async def answerers(publisher: Client, topic: str, count: int) -> set[str]:
    """Who answers: every message must be answered by somebody."""
    answers: list[Answer] = await asyncio.gather(
        *(publisher.unicast(topic, b"who is there?") for _ in range(count))
    )
    assert {answer.code for answer in answers} == {0}, answers
    return {answer.data.partition(b":")[0].decode() for answer in answers}


@row(matrix.FAILOVER, AMONG, "go")
async def test_when_a_subscriber_is_killed_others_answer(town: Town) -> None:
    topic, publisher = town.topic(), await town.client("go", 0)
    processes = await three_subscribers(town, topic)
    assert await answerers(publisher, topic, 60) == set(processes)
    await kill(processes.pop("far"))
    assert await answerers(publisher, topic, 60) == set(processes)
    await kill(processes.pop("near"))
    assert await answerers(publisher, topic, 20) == set(processes)


@row(matrix.FAILOVER, AMONG, "go")
async def test_when_a_subscriber_does_not_answer_another_one_is_asked(town: Town) -> None:
    topic, publisher = town.topic(), await town.client("go", 0)
    processes = await three_subscribers(town, topic)
    frozen = processes["far"].process_id
    os.kill(frozen, signal.SIGSTOP)
    try:
        assert await answerers(publisher, topic, 20) == {"near", "farther"}
    finally:
        os.kill(frozen, signal.SIGCONT)


# ---- a node comes back


async def restarted(town: Town, node: OurBcosNode) -> OurBcosNode:
    """The node is killed, and another one is started in its place."""
    await node.kill()
    listen, channel = node.addresses[0], node.channel
    return await town.start_node(1, town.nodes[0].addresses[0], listen=listen, channel=channel)


@row(matrix.NODE_RESTART, THEY_DIAL, "java")
async def test_java_and_our_own_client_come_back_to_a_node_that_was_killed(town: Town) -> None:
    java, far = await town.java(), town.nodes[1]
    theirs = await java.connect(
        "theirs", far.channel, town.chain.sdk(1, "rsa"), redial_seconds=REDIAL
    )
    ours = await OurClient.open("ours", far.channel, town.chain.sdk(1))
    topics: dict[str, Client] = {town.topic(): theirs, town.topic(): ours}
    publisher = await town.client("go", 0)
    for topic, client in topics.items():
        await client.subscribe(topic)
        assert (await reached(publisher, topic, b"rain")).code == 0
    town.nodes[1] = await restarted(town, far)
    for topic, client in topics.items():
        assert (await reached(publisher, topic, b"hail")).data == client.name.encode() + b":hail"
        assert await client.messages(topic, 2) == [b"rain", b"hail"]
    await ours.close()


async def test_a_go_client_that_lost_its_node_dials_without_end_and_the_node_stands_it(
    town: Town,
) -> None:
    """The SDK (1.1.1) takes each connection that it gets for lost and makes another one at once;
    an application needs a new client.
    """
    far, topic, publisher = town.nodes[1], town.topic(), await town.client("go", 0)
    lost = await (await town.go()).connect("lost", far.channel, town.chain.sdk(1))
    await lost.subscribe(topic)
    assert (await reached(publisher, topic, b"rain")).code == 0
    town.nodes[1] = await restarted(town, far)
    await eventually(lambda: dials_again(lost), "the client that lost its node dials again")
    fresh = await (await town.go()).connect("fresh", far.channel, town.chain.sdk(1))
    await fresh.subscribe(topic)
    assert (await reached(publisher, topic, b"hail")).data == b"fresh:hail"


def dials_again(client: SdkClient) -> bool:
    """Whether it has been connected anew."""
    return "handshake channel protocol failed" in client.process.said_to_stderr
