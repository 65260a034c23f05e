"""Two of our nodes, connected, and clients of every kind on each: go, java and python."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Protocol

from tests.helpers.interop.bcos_go import GoSdk
from tests.helpers.interop.bcos_java import JavaSdk
from tests.helpers.interop.bcos_sdk import NOBODY, PATIENCE, Answer
from tests.helpers.interop.interop_matrix import AMONG, OURS, THEIRS
from tests.helpers.interop.our_bcos_node import Chain, OurBcosNode, OurClient

SDKS = ("go", "java")


class Client(Protocol):
    """What clients of every kind can do."""

    name: str

    async def subscribe(self, topic: str, *, private_key: Path | None = None) -> None:
        """Subscribe to a topic; with a key, to a private one."""

    async def admit(self, topic: str, *public_keys: Path) -> None:
        """Be a publisher of a private topic for subscribers that have one of these keys."""

    async def unicast(
        self, topic: str, data: bytes, *, private: bool = False, timeout: float = 5.0
    ) -> Answer:
        """Send a message to one of the subscribers."""

    async def multicast(self, topic: str, data: bytes, *, private: bool = False) -> None:
        """Send a message to all subscribers."""

    async def messages(self, topic: str, count: int, *, timeout: float = PATIENCE) -> list[bytes]:
        """Wait for ``count`` messages of the topic."""


def roles(peer: str, direction: str) -> tuple[str, str]:
    """Which kind of client publishes, and which kind is subscribed.

    >>> roles("go", "ours to them"), roles("go", "theirs to us")
    (('python', 'go'), ('go', 'python'))
    """
    return {OURS: ("python", peer), THEIRS: (peer, "python"), AMONG: (peer, peer)}[direction]


class Town:
    """Nodes, and the clients that a test asks for; leaving the context ends all of them."""

    def __init__(self, chain: Chain, go_program: Path, java_program: Path) -> None:
        self.chain = chain
        self.nodes: list[OurBcosNode] = []
        self._programs = (go_program, java_program)
        self._clients: dict[str, Client] = {}
        self._go: GoSdk | None = None
        self._java: JavaSdk | None = None
        self._stack = AsyncExitStack()
        self._numbers = itertools.count(1)

    async def __aenter__(self) -> Town:
        await self._stack.__aenter__()
        try:
            first = await self.start_node(0)
            second = await self.start_node(1, first.addresses[0])
        except BaseException:
            await self._stack.aclose()
            raise
        self.nodes = [first, second]
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    # ---- who is there

    async def start_node(self, number: int, *peers: str, **settings: str) -> OurBcosNode:
        """Start a node of its own certificate."""
        node = await OurBcosNode.start(
            self.chain.node(number), peers=peers, subscriber_timeout=1, **settings
        )
        return await self._stack.enter_async_context(node)

    async def go(self) -> GoSdk:
        """A new process with the Go SDK."""
        return await self._stack.enter_async_context(await GoSdk.start(self._programs[0]))

    async def java(self) -> JavaSdk:
        """A new process with the Java SDK."""
        return await self._stack.enter_async_context(await JavaSdk.start(self._programs[1]))

    async def client(self, kind: str, where: int, which: int = 1) -> Client:
        """A client of this kind on the first (0) or the second (1) node, the same each time."""
        name = f"{kind}{where}-{which}"
        if name not in self._clients:
            self._clients[name] = await self._new_client(kind, where, name)
        return self._clients[name]

    async def _new_client(self, kind: str, where: int, name: str) -> Client:
        address = self.nodes[where].channel
        if kind == "python":
            return await self.python(where, name)
        # One process is enough for all of a kind: Java takes its time to start.
        if kind == "go":
            self._go = self._go or await self.go()
            return await self._go.connect(name, address, self.chain.sdk(where))
        self._java = self._java or await self.java()
        return await self._java.connect(name, address, self.chain.sdk(where, "rsa"))

    async def python(self, where: int, name: str = "python", **settings: Any) -> OurClient:
        """A new client of our own."""
        address, certificates = self.nodes[where].channel, self.chain.sdk(where)
        client = await OurClient.open(name, address, certificates, **settings)
        self._stack.push_async_callback(client.close)
        return client

    async def for_private(self, kind: str, where: int, **keys: Any) -> Client:
        """A client for private topics: ours takes the keys when it is opened, others later."""
        if kind == "python":
            return await self.python(where, **keys)
        return await self.client(kind, where)

    # ---- what they do

    def topic(self) -> str:
        """A name that no other test has."""
        return f"weather-{next(self._numbers)}"

    async def known(self, subscriber: Client, publisher: Client) -> None:
        """Wait until the publisher's node knows what the subscriber is subscribed to.

        All topics of a client travel together: who is reached on a later one is known for all
        that were before it.
        """
        probe = f"probe-{next(self._numbers)}"
        await subscriber.subscribe(probe)
        answer = await reached(publisher, probe, b"are you there?")
        assert answer.code == 0, answer


async def reached(
    publisher: Client, topic: str, data: bytes, *, private: bool = False, timeout: float = 5.0
) -> Answer:
    """Send a message again and again while nobody is known who is subscribed; the answer."""
    async with asyncio.timeout(PATIENCE):
        while True:
            answer = await publisher.unicast(topic, data, private=private, timeout=timeout)
            if answer.code != NOBODY:
                return answer
            await asyncio.sleep(0.05)
