"""Our own node in tests with real peers: subscribed, and with all it says written down."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import rumormill
from rumormill import Libp2pNetwork, Message, Receipt, Subscription
from tests.helpers.interop.transcript import RecordingPubsub, Transcript

TOPIC = "weather"
LISTEN = "/ip4/127.0.0.1/tcp/0"
PATIENCE = 90.0
"""Seconds before a test gives up waiting: a machine may have much else to do."""


class OurNode:
    """A network that is open and subscribed to one topic."""

    def __init__(self, network: Libp2pNetwork, topic: str) -> None:
        self.network = network
        self.topic = topic
        self.messages: Subscription = network.subscribe(topic, buffer=100_000)

    @property
    def id(self) -> str:
        return self.network.id

    @property
    def address(self) -> str:
        return self.network.addresses[0]

    @property
    def transcript(self) -> Transcript:
        pubsub = self.network._pubsub
        assert isinstance(pubsub, RecordingPubsub)
        return pubsub.transcript

    async def sees(self, peer: str) -> None:
        """Wait until the peer is subscribed to the topic, as far as we know."""
        await eventually(
            lambda: peer in self.network.subscribers(self.topic), f"we see {peer}", self.state
        )

    async def alone(self) -> None:
        """Wait until nobody is connected."""
        await eventually(lambda: self.network.peers == (), "our last peer is gone", self.state)

    async def publish(self, *payloads: bytes) -> list[Receipt]:
        """Publish each of them."""
        return [await self.network.publish(self.topic, data, timeout=PATIENCE) for data in payloads]

    async def received(self, count: int) -> list[Message]:
        """Take so many messages."""
        found: list[Message] = []
        try:
            async with asyncio.timeout(PATIENCE):
                while len(found) < count:
                    found.append(await self.messages.get())
        except TimeoutError:
            raise AssertionError(
                f"our node got {len(found)} of {count} messages in {PATIENCE:.0f} s; {self.state()}"
            ) from None
        return found

    def state(self) -> str:
        """Whom it knows, and what it counted: for the message of a failed test."""
        topic = self.topic
        return (
            f"peers {self.network.peers}, subscribers {self.network.subscribers(topic)}, "
            f"mesh {self.network.mesh(topic)}, counters {dict(self.network.counters)}"
        )


OpenNode: TypeAlias = Callable[..., Awaitable[OurNode]]
"""The fixture ``open_node``: the arguments are those of :func:`rumormill.open`."""


async def open_our_node(
    router: str = "gossipsub", *, topic: str = TOPIC, **settings: Any
) -> OurNode:
    """Open a network that does not deliver what it publishes itself."""
    settings = {"listen": LISTEN, "deliver_own": False, **settings}
    network = await rumormill.open(router, **settings)
    assert isinstance(network, Libp2pNetwork)
    return OurNode(network, topic)


async def eventually(
    condition: Callable[[], bool | Awaitable[bool]],
    what: str,
    state: Callable[[], object] = lambda: "",
) -> None:
    """Wait until the condition holds; the error says what did not come about."""
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = condition()
                if await answer if inspect.isawaitable(answer) else answer:
                    return
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"not within {PATIENCE:.0f} s: {what}; {state()}") from None


def contents(messages: Iterable[Message]) -> list[bytes]:
    """What is in the messages, sorted."""
    return sorted(message.data for message in messages)
