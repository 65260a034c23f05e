"""Honest ones that talk all the time through a node, while somebody else does its worst."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from rumormill.core.trace import TraceEvent
from rumormill.live.network import Network

PATIENCE = 30.0
"""Seconds that a test waits for what must come."""


class Siege(ABC):
    """What a node tells while it is attacked, and what honest subscribers have heard."""

    def __init__(self, stack: AsyncExitStack) -> None:
        self._stack = stack
        self.events: list[TraceEvent] = []
        """Of the node that is attacked."""
        self.heard: dict[str, Counter[bytes]] = {}
        """By subscriber: how often each message came."""

    @property
    @abstractmethod
    def attacked(self) -> Network:
        """The node that is attacked."""

    @abstractmethod
    async def exchange(self, number: int) -> None:
        """Send the message of a number to all honest subscribers, and see that it went well."""

    def listen(self, name: str, network: Network, topic: str) -> None:
        """Have an honest subscriber count what it hears."""
        heard = self.heard[name] = Counter()
        messages = network.subscribe(topic)

        async def listen() -> None:
            async for message in messages:
                heard[message.data] += 1

        task = asyncio.ensure_future(listen())
        self._stack.callback(task.cancel)

    @staticmethod
    def message(number: int) -> bytes:
        """What an honest publisher says."""
        return b"message %d" % number

    @asynccontextmanager
    async def honest_traffic(self, least: int = 20) -> AsyncIterator[None]:
        """Messages within, and ``least`` after: each arrives, once, at each who is to have it."""
        sent = 0
        over = False

        async def talk() -> None:
            nonlocal sent
            while not over:
                await self.exchange(sent)
                sent += 1

        for heard in self.heard.values():
            heard.clear()
        talking = asyncio.ensure_future(talk())
        try:
            yield
        finally:
            over = True
            await asyncio.wait_for(talking, 2 * PATIENCE)
        for number in range(sent, sent + least):
            await self.exchange(number)
        expected = Counter(map(self.message, range(sent + least)))
        await self.until(lambda: all(heard == expected for heard in self.heard.values()))

    async def until(self, happened: Callable[[], object]) -> None:
        """Wait for something that must happen."""
        try:
            async with asyncio.timeout(PATIENCE):
                while not happened():
                    await asyncio.sleep(0.01)
        except TimeoutError:
            counters = {name: count for name, count in self.attacked.counters.items() if count}
            sizes = {name: size for name, size in self.attacked.sizes().items() if size}
            raise AssertionError(f"it never happened: {counters} {sizes}") from None

    # ---- what the trace tells

    def culprit(self, event: TraceEvent) -> str:
        """Whom an event is about: the peer, or where it is if it is none."""
        return event.peer or str(event.fields.get("address"))

    def blamed(self, event: str, reason: str) -> set[str]:
        """Whom the trace has told this of."""
        return {
            self.culprit(each)
            for each in self.events
            if each.event == event and each.fields.get("reason") == reason
        }

    def held_back(self, kind: str) -> set[str]:
        """Who had to rest for work of a kind, or was dropped because it was that much at once."""
        return self.blamed("held_back", kind) | {
            self.culprit(each)
            for each in self.events
            if each.event == "protocol_error"
            and each.fields.get("reason") == "too_much_work"
            and str(each.fields.get("detail")).endswith(f"mostly for {kind}")
        }
