"""Messages in parts through the live API, on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

import rumormill
from rumormill.core.errors import ClosedError, ConfigError, LocalProtocolError
from rumormill.libp2p.gossipsub.partial import PartialNews, PartList
from rumormill.libp2p.live.network import Libp2pNetwork
from rumormill.libp2p.live.partial_topic import PartialTopic

CELLS = [b"cell %d" % number for number in range(8)]


def eight(group_id: bytes) -> PartList:
    return PartList(group_id, len(CELLS))


async def opened(stack: AsyncExitStack, **settings: Any) -> Libp2pNetwork:
    settings = {"listen": "/ip4/127.0.0.1/tcp/0", "partial_messages": True, **settings}
    return await stack.enter_async_context(rumormill.open("gossipsub", **settings))


@pytest.fixture
def topic() -> Iterator[PartialTopic]:
    class Nowhere:
        lost = 0

        def overflowed(self, name: str) -> None:
            self.lost += 1

        def closed(self, topic: PartialTopic) -> None:
            pass

    yield PartialTopic(Nowhere(), "cells", 3, None)  # type: ignore[arg-type]


def news(group: int, message: PartList | None = None) -> PartialNews:
    return PartialNews("cells", b"%d" % group, "ann", message)


async def test_parts_pass_through_a_node_that_only_relays() -> None:
    async with AsyncExitStack() as stack:
        middle = await opened(stack)
        ends = [await opened(stack, bootstrap=middle.addresses) for _ in range(2)]
        relay = middle.partial_topic("cells", eight)
        left, right = (each.partial_topic("cells", eight) for each in ends)
        for each in ends:
            await each.wait_for_peers("cells", timeout=10)
        await middle.wait_for_peers("cells", 2, timeout=10)
        left.publish(PartList.whole(b"block", CELLS))
        while True:
            told = await right.get(timeout=10)
            assert isinstance(told.message, PartList)
            if told.message.complete:
                break
        assert told.message.data == b"".join(CELLS)
        assert (await relay.get(timeout=10)).group_id == b"block"
        assert middle.counters["parts_taken"] >= 1


async def test_who_has_no_parts_gets_whole_messages() -> None:
    async with AsyncExitStack() as stack:
        modern = await opened(stack)
        plain = await opened(stack, bootstrap=modern.addresses, partial_messages=False)
        cells = modern.partial_topic("cells")
        async with plain.subscribe("cells") as messages:
            await modern.wait_for_peers("cells", timeout=10)
            await plain.wait_for_peers("cells", timeout=10)
            await modern.publish("cells", b"whole", ready=10)
            assert (await messages.get(timeout=10)).data == b"whole"
            await plain.publish("cells", b"also whole", ready=10)
            assert cells.messages is not None
            got = [(await cells.messages.get(timeout=10)).data for _ in range(2)]
            assert got == [b"whole", b"also whole"], "our own, too"


async def test_a_topic_is_open_once_and_ends_with_its_network() -> None:
    async with AsyncExitStack() as stack:
        network = await opened(stack)
        cells = network.partial_topic("cells")
        assert list(network.topics) == ["cells"]
        with pytest.raises(LocalProtocolError, match="open for partial messages already"):
            network.partial_topic("cells")
        cells.close()
        cells.close()
        assert list(network.topics) == []
        with pytest.raises(ClosedError):
            cells.publish(eight(b"block"))
        with pytest.raises(LocalProtocolError, match="not open"):
            network.publish_partial("cells", eight(b"block"))
        again = network.partial_topic("cells", listen=False)
        assert again.messages is None and list(network.topics) == []
        assert network.publish_partial("cells", eight(b"block")).peers == ()
        reading = asyncio.create_task(again.get())
        await asyncio.sleep(0)
    with pytest.raises(ClosedError):
        await reading
    assert again.closed
    assert [each async for each in again] == []


async def test_errors_say_what_to_do() -> None:
    async with AsyncExitStack() as stack:
        plain = await opened(stack, partial_messages=False)
        with pytest.raises(LocalProtocolError, match="open gossipsub with partial_messages=True"):
            plain.partial_topic("cells")
        network = await opened(stack, allowed_topics=["weather"])
        with pytest.raises(ConfigError, match="buffer"):
            network.partial_topic("weather", buffer=0)
        with pytest.raises(LocalProtocolError, match="not among the allowed"):
            network.partial_topic("cells")
        with pytest.raises(LocalProtocolError, match="not open"):
            network.publish_partial("cells", eight(b"block"))


async def test_of_a_message_only_one_news_waits(topic: PartialTopic) -> None:
    message = eight(b"1")
    for _ in range(10):
        topic.push(news(1, message))
    topic.push(news(2, message))
    assert [(await topic.get()).group_id for _ in range(2)] == [b"1", b"2"]
    topic.push(news(1, message))
    assert (await topic.get(timeout=1)).group_id == b"1"
    with pytest.raises(TimeoutError):
        await topic.get(timeout=0)


async def test_what_nobody_reads_is_dropped_and_counted(topic: PartialTopic) -> None:
    for number in range(10):
        topic.push(news(number))
    assert topic.dropped == topic._topics.lost == 7  # type: ignore[attr-defined]
    topic.close()
    assert [each.group_id async for each in topic] == [b"7", b"8", b"9"]
