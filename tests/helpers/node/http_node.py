"""A node with an HTTP side, in a thread of this process; it can be ended and started again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue

import rumormill
from rumormill.core.message import Message
from rumormill.node.app import NodeParts
from rumormill.node.server import serve
from rumormill.node.settings import HttpSettings

PATIENCE = 30.0


@dataclass
class HttpNode:
    """Where it answers, and the messages that were published through it."""

    address: str
    messages: list[Message] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])


@contextmanager
def http_node(
    spool: Path | None = None,
    *,
    topics: Sequence[str] = (),
    port: int = 0,
    token: str | None = None,
) -> Iterator[HttpNode]:
    """Run one until the block ends; with topics, a gossipsub network that listens to them."""
    ready: Queue[HttpNode | BaseException] = Queue()
    loop = asyncio.new_event_loop()
    ending = asyncio.Event()

    async def run() -> None:
        async with AsyncExitStack() as stack:
            networks = []
            node = HttpNode("")
            if topics:
                network = await stack.enter_async_context(rumormill.open("gossipsub"))
                networks.append(network)
                for topic in topics:
                    messages = await stack.enter_async_context(network.subscribe(topic))
                    task = asyncio.create_task(collect(messages, node.messages))
                    stack.callback(task.cancel)
            parts = NodeParts(networks, spool)
            settings = HttpSettings("127.0.0.1", port, token)
            node.address = await stack.enter_async_context(serve(parts, settings))
            ready.put(node)
            await ending.wait()

    def work() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(run())
        except BaseException as error:
            ready.put(error)
        finally:
            loop.close()

    thread = threading.Thread(target=work, name="http-node")
    thread.start()
    started = ready.get(timeout=PATIENCE)
    if isinstance(started, BaseException):
        thread.join(PATIENCE)
        raise started
    try:
        yield started
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(PATIENCE)
        assert not thread.is_alive()


async def collect(messages: rumormill.Subscription, found: list[Message]) -> None:
    async for message in messages:
        found.append(message)
