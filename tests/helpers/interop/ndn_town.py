"""Forwarders of every kind, and on each of them publishers and subscribers of theirs and ours."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

import rumormill
from rumormill import Subscription
from rumormill.core.receipt import Outcome
from rumormill.ndn.live.network import NdnNetwork
from tests.helpers.interop.interop_matrix import AMONG, OURS, THEIRS
from tests.helpers.interop.ndn_forwarders import RunningForwarder, start_forwarder
from tests.helpers.interop.ndn_python import PATIENCE, Published, PythonProgram


class Member(Protocol):
    """What publishers and subscribers of either kind can do."""

    async def subscribe(self, topic: str) -> None:
        """Subscribe, and wait until the route stands."""

    async def publish(self, topic: str, data: bytes) -> Published:
        """Publish one message, and wait for what becomes of it."""

    async def messages(self, topic: str, count: int, *, timeout: float = PATIENCE) -> list[bytes]:
        """Wait for ``count`` messages of the topic."""


class OurProgram:
    """A network of ours, with the methods that the original has in the tests."""

    def __init__(self, network: NdnNetwork) -> None:
        self.network = network
        self.subscriptions: dict[str, Subscription] = {}

    async def subscribe(self, topic: str) -> None:
        """Subscribe, and wait until the route stands."""
        self.subscriptions[topic] = self.network.subscribe(topic)
        await self.network.wait_subscribed(topic, timeout=PATIENCE)

    async def publish(self, topic: str, data: bytes) -> Published:
        """Publish one message, and wait for what becomes of it."""
        receipt = await self.network.publish(topic, data, timeout=PATIENCE)
        return Published(receipt.outcome == Outcome.DELIVERED, receipt.fields["seconds"])

    async def messages(self, topic: str, count: int, *, timeout: float = PATIENCE) -> list[bytes]:
        """Wait for ``count`` messages of the topic."""
        found: list[bytes] = []
        try:
            async with asyncio.timeout(timeout):
                while len(found) < count:
                    found.append((await self.subscriptions[topic].get()).data)
        except TimeoutError:
            counters = {name: number for name, number in self.network.counters.items() if number}
            raise AssertionError(f"{len(found)} of {count} messages came; {counters}") from None
        return found


class Town:
    """Leaving the context ends all that was started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = AsyncExitStack()
        self._forwarders: dict[str, RunningForwarder] = {}
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Town:
        await self._stack.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    async def forwarder(self, kind: str) -> RunningForwarder:
        """One of a kind, the same each time."""
        if kind not in self._forwarders:
            self._forwarders[kind] = await self.new_forwarder(kind)
        return self._forwarders[kind]

    async def new_forwarder(self, kind: str) -> RunningForwarder:
        """One that no other test has."""
        return await self._stack.enter_async_context(await start_forwarder(kind, self._folder))

    async def theirs(self, address: str, **options: Any) -> PythonProgram:
        """The original PubSub on a forwarder."""
        program = await PythonProgram.start(address, self.prefix("theirs"), **options)
        return await self._stack.enter_async_context(program)

    async def ours(self, address: str, **settings: Any) -> OurProgram:
        """A network of ours on a forwarder."""
        settings = {"prefix": self.prefix("ours"), **settings}
        network = await rumormill.open("ndn", bootstrap=[address], **settings)
        assert isinstance(network, NdnNetwork)
        self._stack.push_async_callback(network.close)
        return OurProgram(network)

    async def pair(
        self,
        direction: str,
        address: str,
        ours: dict[str, Any] | None = None,
        theirs: dict[str, Any] | None = None,
    ) -> tuple[Member, Member]:
        """A publisher and a subscriber, each of the kind that the direction says."""

        async def member(is_ours: bool) -> Member:
            if is_ours:
                return await self.ours(address, **(ours or {}))
            return await self.theirs(address, **(theirs or {}))

        first, second = {OURS: (True, False), THEIRS: (False, True), AMONG: (False, False)}[
            direction
        ]
        return await member(first), await member(second)

    def topic(self) -> str:
        """A name that no other test has."""
        return f"/weather/{next(self._numbers)}"

    def prefix(self, who: str) -> str:
        """A name that no other program has."""
        return f"/{who}/{next(self._numbers)}"


async def exchange(publisher: Member, subscriber: Member, topic: str, count: int = 20) -> None:
    """So many messages: each is acknowledged, and arrives once, in the order of publishing."""
    await subscriber.subscribe(topic)
    sent = [f"rain {number}".encode() for number in range(count)]
    for data in sent:
        published = await publisher.publish(topic, data)
        assert published.delivered, data
    assert await subscriber.messages(topic, count) == sent
