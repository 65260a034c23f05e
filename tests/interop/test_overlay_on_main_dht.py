"""Topics and the main DHT around them: members find each other through libtorrent's nodes, and
values go from the overlay to the main DHT and back.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

import rumormill
from rumormill import ConnectError, Message, Subscription
from rumormill.bep50.live.key_file import create_item_key
from rumormill.bep50.live.network import Bep50Network
from rumormill.bep50.wire.addresses import parse_peer
from rumormill.bep50.wire.items import torrent_value
from rumormill.bep50.wire.keys import ItemKey
from rumormill.bep50.wire.topics import TopicName
from tests.helpers.bep50.overlay_process import OverlayProcess
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.dht_peer import StartDhtPeer
from tests.helpers.interop.interop_matrix import BOTH, OURS, THEIRS, row
from tests.helpers.interop.our_node import eventually
from tests.helpers.interop.private_dht import PrivateDht

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATIENCE = 30.0
FIRST, SECOND = b"1" * 20, b"2" * 20


class Town:
    """A main DHT of ten libtorrent nodes, and nodes of ours that were told of one of them."""

    def __init__(self, dht: PrivateDht, stack: AsyncExitStack, folder: Path) -> None:
        self.dht = dht
        self.key_file = folder / "key.json"
        self.key: ItemKey = create_item_key(self.key_file)
        self.topic = TopicName(self.key.public_key, b"weather")
        self._stack = stack
        self._count = 0
        self._processes: list[OverlayProcess] = []

    def _place(self) -> dict[str, Any]:
        """Another host, and another node of the DHT, for each."""
        self._count += 1
        node = self.dht.peers[self._count % len(self.dht.peers)]
        return {"host": self.dht.host(self._count), "main_dht_nodes": [node]}

    async def open(self, **settings: Any) -> Bep50Network:
        """A node of ours in this process."""
        place = self._place()
        listen = f"{place.pop('host')}:0"
        network = await self._stack.enter_async_context(
            rumormill.open("bep50", listen=listen, **{"main_dht": True, **place, **settings})
        )
        assert isinstance(network, Bep50Network)
        return network

    async def publisher(self, **settings: Any) -> Bep50Network:
        """The one that has the key."""
        return await self.open(key_file=self.key_file, **settings)

    async def process(self) -> OverlayProcess:
        """A subscriber in a process of its own."""
        process = await OverlayProcess.start(self.topic.text, **self._place())
        self._processes.append(process)
        return process

    async def stop_processes(self) -> None:
        """All at once: each waits a little for neighbours that are no longer there."""
        await asyncio.gather(*(process.stop() for process in self._processes))


@pytest_asyncio.fixture(loop_scope="module")
async def town(tmp_path: Path) -> AsyncIterator[Town]:
    async with PrivateDht() as dht, AsyncExitStack() as stack:
        made = Town(dht, stack, tmp_path)
        stack.push_async_callback(made.stop_processes)
        yield made


async def next_message(messages: Subscription) -> Message:
    return await asyncio.wait_for(anext(messages), PATIENCE)


# ---- finding each other


@row(matrix.NEWCOMER, BOTH, "libtorrent")
async def test_a_newcomer_who_knows_only_the_key_finds_the_overlay(town: Town) -> None:
    topic = town.topic.text
    publisher = await town.publisher()
    await publisher.publish(topic, b"rain at noon")
    member = await town.open()
    member.join(topic)
    newcomer = await town.open()
    async with newcomer.subscribe(topic) as messages:
        first = await next_message(messages)
        assert (first.data, first.fields["seq"]) == (b"rain at noon", 1)
        everybody = {publisher.addresses[0], member.addresses[0]}
        await eventually(
            lambda: set(newcomer.subscribers(topic)) == everybody, "the newcomer knows both"
        )
        await publisher.publish(topic, b"snow")
        second = await next_message(messages)
    # Pushed along the overlay, and not read from the main DHT.
    assert (second.data, second.received_from in everybody) == (b"snow", True)


@row(matrix.STRANGER, BOTH, "libtorrent bittorrent-dht")
async def test_an_ordinary_node_is_not_taken_for_a_member(
    town: Town, start_dht_peer: StartDhtPeer
) -> None:
    """Both answer our queries, as from the main DHT: without the name of the topic."""
    topic = town.topic.text
    webtorrent = await start_dht_peer(nodes=town.dht.peers[:3])
    await webtorrent.announce(town.topic.target, parse_peer(webtorrent.address)[1])
    stranger = town.dht.nodes[8]
    stranger.announce(town.topic.target, parse_peer(stranger.peer)[1])
    await eventually(lambda: len(_searched(town)) == 2, "both strangers are announced")

    network = await town.open()
    network.join(topic)
    await eventually(lambda: network.counters["main_dht_found"] >= 2, "both strangers are found")
    member = await town.open()
    member.join(topic)
    await eventually(
        lambda: network.subscribers(topic) == member.addresses, "the member and nobody else"
    )
    assert member.subscribers(topic) == network.addresses
    for address in (webtorrent.address, stranger.peer):
        with pytest.raises(ConnectError, match="takes no part in topics"):
            await network.connect(address)


def _searched(town: Town) -> set[str]:
    node = town.dht.nodes[1]
    node.search(town.topic.target)
    return set(node.announced(town.topic.target))


# ---- values


@row(matrix.UPDATE, OURS, "libtorrent bittorrent-dht")
async def test_readers_of_bep_46_see_the_update_of_a_torrent(
    town: Town, start_dht_peer: StartDhtPeer
) -> None:
    publisher = await town.publisher(main_dht_pause=0.1)
    webtorrent = await start_dht_peer(nodes=town.dht.peers[:3])
    reader, key = town.dht.nodes[9], town.key.public_key
    for seq, info_hash in ((1, FIRST), (2, SECOND)):
        await publisher.publish_torrent(town.topic.text, info_hash)
        found = await reader.poll(key, town.topic.salt, at_least=seq)
        assert found == (seq, torrent_value(info_hash))
        assert await webtorrent.get(town.topic.target, town.topic.salt) == found


@row(matrix.FROM_MAIN, THEIRS, "bittorrent-dht")
async def test_an_update_by_bittorrent_dht_reaches_the_overlay(
    town: Town, start_dht_peer: StartDhtPeer
) -> None:
    webtorrent = await start_dht_peer(nodes=town.dht.peers[:3])
    seed, salt, topic = town.key.seed, town.topic.salt, town.topic.text
    assert seed is not None
    await webtorrent.put(seed, 5, torrent_value(FIRST), salt)
    reader = await town.open()
    # Knows nothing of the main DHT: what it gets was passed on.
    other = await town.open(main_dht=False, main_dht_nodes=[], bootstrap=reader.addresses)
    async with reader.subscribe(topic) as messages, other.subscribe(topic) as passed_on:
        for subscription in (messages, passed_on):
            message = await next_message(subscription)
            assert message.fields["seq"] == 5
            assert message.fields["info_hash"] == FIRST.hex()
        await webtorrent.put(seed, 6, torrent_value(SECOND), salt)
        for subscription in (messages, passed_on):
            message = await next_message(subscription)
            assert (message.fields["seq"], message.fields["info_hash"]) == (6, SECOND.hex())
        assert message.received_from == reader.addresses[0]


@row(matrix.FROM_MAIN, THEIRS, "libtorrent")
async def test_a_value_put_by_libtorrent_reaches_the_overlay(town: Town) -> None:
    seed, topic = town.key.seed, town.topic.text
    assert seed is not None
    await town.dht.nodes[4].put(seed, town.key.public_key, b"rain at noon", town.topic.salt)
    reader = await town.open()
    async with reader.subscribe(topic) as messages:
        message = await next_message(messages)
        assert (message.data, message.fields["seq"]) == (b"rain at noon", 1)
        assert message.sender == town.key.public_key.hex()


@row(matrix.FROM_MAIN, THEIRS, "libtorrent")
async def test_a_publisher_that_forgot_everything_goes_on_with_the_next_number(town: Town) -> None:
    seed, topic = town.key.seed, town.topic.text
    assert seed is not None
    for text in (b"rain", b"hail"):
        await town.dht.nodes[4].put(seed, town.key.public_key, text, town.topic.salt)
    publisher = await town.publisher()
    receipt = await publisher.publish(topic, b"snow")
    assert receipt.fields["seq"] == 3
    reader = town.dht.nodes[2]
    found = await reader.poll(town.key.public_key, town.topic.salt, at_least=3)
    assert found == (3, b"4:snow")


# ---- processes


@row(matrix.KILLED, BOTH, "libtorrent")
async def test_members_are_killed_and_the_rest_has_the_newest_value(town: Town) -> None:
    topic = town.topic.text
    publisher = await town.publisher()
    await publisher.publish(topic, b"rain")
    members = await asyncio.gather(*(town.process() for _ in range(5)))
    for member in members:
        assert (await member.message(1))["data"] == "rain"
    await eventually(lambda: len(publisher.subscribers(topic)) == 5, "all five are members")

    killed, alive = members[:2], members[2:]
    await asyncio.gather(*(member.kill() for member in killed))
    await publisher.publish(topic, b"snow")
    for member in alive:
        assert (await member.message(2))["data"] == "snow"

    # The dead are still announced on the main DHT; who comes now finds the living.
    newcomer = await town.process()
    assert (await newcomer.message(2))["data"] == "snow"
    await eventually(
        lambda: newcomer.addresses[0] in publisher.subscribers(topic), "the newcomer is a member"
    )
    await publisher.publish(topic, b"sun")
    for member in (*alive, newcomer):
        told = await member.message(3)
        assert (told["data"], told["topic"]) == ("sun", topic)
