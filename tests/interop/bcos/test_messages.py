"""Messages of the real SDKs and of our own client by way of our nodes."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.bcos_sdk import NOBODY, Answer, answer_of
from tests.helpers.interop.bcos_town import SDKS, Client, Town, reached, roles
from tests.helpers.interop.interop_matrix import AMONG, OURS, THEIRS, THEY_DIAL, row

pytestmark = pytest.mark.asyncio(loop_scope="module")

MEBIBYTE = 1024 * 1024

every_sdk = pytest.mark.parametrize("peer", SDKS)
every_way = pytest.mark.parametrize("direction", [OURS, THEIRS, AMONG])


def content(answer: Answer) -> Answer:
    """Without the time that it took."""
    return answer._replace(seconds=0.0)


async def across(town: Town, peer: str, direction: str) -> tuple[Client, Client]:
    """A publisher on the first node and a subscriber on the second."""
    publisher, subscriber = roles(peer, direction)
    return await town.client(publisher, 0), await town.client(subscriber, 1)


async def exchange(town: Town, publisher: Client, subscriber: Client) -> None:
    """A unicast that is answered, and a multicast that is not."""
    topic = town.topic()
    await subscriber.subscribe(topic)
    answer = await reached(publisher, topic, b"rain at noon")
    assert content(answer) == answer_of(subscriber.name, b"rain at noon")
    await publisher.multicast(topic, b"hail at one")
    assert await subscriber.messages(topic, 2) == [b"rain at noon", b"hail at one"]


# ---- certificates


@pytest.mark.parametrize("profile", ["ec", "rsa"])
@pytest.mark.parametrize("package", ["conn", "client"])
@row(matrix.COME_UP, THEY_DIAL, "go")
async def test_a_go_client_comes_up(town: Town, package: str, profile: str) -> None:
    go, certificates = await town.go(), town.chain.sdk(0, profile)
    name, address = f"go-{package}-{profile}", town.nodes[1].channel
    client = await go.connect(name, address, certificates, package=package, chain_id=1)
    await exchange(town, await town.client("python", 0), client)


@row(matrix.COME_UP, THEY_DIAL, "java")
async def test_a_java_client_comes_up_on_the_port_that_others_use(town: Town) -> None:
    java = await town.client("java", 1)
    assert await java.nodes() == [town.nodes[1].channel]  # type: ignore[attr-defined]
    await exchange(town, await town.client("python", 0), java)


async def test_a_go_client_with_certificates_of_another_chain_is_refused(
    town: Town, tmp_path: Path
) -> None:
    other = town.chain.make(tmp_path / "chain", nodes=1, sdks=1)
    go = await town.go()
    with pytest.raises(AssertionError, match=r"could not connect: .*(certificate|EOF|reset)"):
        await go.connect("stranger", town.nodes[0].channel, other.sdk(0))
    await exchange(town, await town.client("go", 0), await town.client("python", 1))


# ---- two nodes


@every_sdk
@every_way
@row(matrix.UNICAST)
async def test_a_unicast_reaches_one_subscriber_and_brings_its_answer(
    town: Town, peer: str, direction: str
) -> None:
    publisher, subscriber = await across(town, peer, direction)
    topic = town.topic()
    await subscriber.subscribe(topic)
    await town.known(subscriber, publisher)
    for text in (b"rain at noon", b"", bytes(range(256))):
        answer = await publisher.unicast(topic, text)
        assert content(answer) == answer_of(subscriber.name, text)
        assert await subscriber.messages(topic, 1) == [text]


@every_sdk
@every_way
@row(matrix.MULTICAST)
async def test_a_multicast_reaches_every_subscriber_on_both_nodes(
    town: Town, peer: str, direction: str
) -> None:
    kind = roles(peer, direction)[1]
    publisher, far = await across(town, peer, direction)
    near = await town.client(kind, 0, 2)
    topic = town.topic()
    for subscriber in (near, far):
        await subscriber.subscribe(topic)
        await town.known(subscriber, publisher)
    await publisher.multicast(topic, b"rain at noon")
    for subscriber in (near, far):
        assert await subscriber.messages(topic, 1) == [b"rain at noon"]


@every_sdk
@row(matrix.NO_SUBSCRIBER, THEIRS)
async def test_code_100_says_that_nobody_is_subscribed(town: Town, peer: str) -> None:
    publisher, subscriber = await town.client(peer, 0), await town.client("python", 1)
    assert (await publisher.unicast(town.topic(), b"anybody?")).code == NOBODY
    # A multicast to nobody is no error.
    await publisher.multicast(town.topic(), b"anybody?")
    await exchange(town, publisher, subscriber)


@every_sdk
async def test_who_leaves_a_topic_is_not_reached_on_it_any_more(town: Town, peer: str) -> None:
    publisher = await town.client("python", 0)
    subscriber = await town.client(peer, 1)
    topic = town.topic()
    await subscriber.subscribe(topic)
    await town.known(subscriber, publisher)
    await subscriber.unsubscribe(topic)  # type: ignore[attr-defined]
    await town.known(subscriber, publisher)
    assert (await publisher.unicast(topic, b"anybody?")).code == NOBODY


@every_sdk
@every_way
@row(matrix.LARGE)
async def test_a_mebibyte_goes_both_ways(town: Town, peer: str, direction: str) -> None:
    publisher, subscriber = await across(town, peer, direction)
    topic, large = town.topic(), os.urandom(MEBIBYTE)
    await subscriber.subscribe(topic)
    answer = await reached(publisher, topic, large, timeout=30)
    assert content(answer) == answer_of(subscriber.name, large)
    assert await subscriber.messages(topic, 1) == [large]
    # What comes after it is in its place.
    await exchange(town, publisher, subscriber)


@every_sdk
@row(matrix.BURST, OURS)
async def test_five_multicasts_at_once_all_arrive(town: Town, peer: str) -> None:
    """Go reads one packet of each TLS record: those behind it would wait for the next one."""
    publisher, subscriber = await across(town, peer, OURS)
    topic = town.topic()
    await subscriber.subscribe(topic)
    await town.known(subscriber, publisher)
    burst = [b"message %d" % number for number in range(5)]
    await asyncio.gather(*(publisher.multicast(topic, each) for each in burst))
    # Both SDKs hand over what comes in threads of their own, so the order is not kept.
    assert sorted(await subscriber.messages(topic, 5)) == burst


# ---- one node, other SDKs


@every_sdk
@every_way
@row(matrix.SAME_NODE)
async def test_clients_of_one_node_reach_each_other(town: Town, peer: str, direction: str) -> None:
    publisher, subscriber = roles(peer, direction)
    await exchange(town, await town.client(publisher, 0), await town.client(subscriber, 0, 2))


@pytest.mark.parametrize(("publisher", "subscriber"), [("go", "java"), ("java", "go")])
@pytest.mark.parametrize("where", [0, 1], ids=["one node", "two nodes"])
@row(matrix.EACH_OTHER, AMONG, "go java")
async def test_go_and_java_reach_each_other(
    town: Town, publisher: str, subscriber: str, where: int
) -> None:
    await exchange(town, await town.client(publisher, 0), await town.client(subscriber, where))


# ---- time


@row(matrix.IDLE, THEY_DIAL, "go java")
async def test_clients_that_have_nothing_to_say_stay_connected(town: Town) -> None:
    """Java drops a node that is silent for 10 s; heartbeats are all that it hears."""
    go, java = await town.client("go", 0), await town.client("java", 1)
    await asyncio.sleep(11)
    assert await java.nodes() == [town.nodes[1].channel]  # type: ignore[attr-defined]
    await exchange(town, go, java)
    await exchange(town, java, go)
