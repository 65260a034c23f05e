"""A network of messages: each is handed to the machine once its peers have room for it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from rumormill.core.receipt import Receipt
from rumormill.live.network import Network, as_bytes

PUBLISH_BURST = 64
"""Messages that one loop may publish before others, and the sockets, get their turn."""

MOST_AT_ONCE, MOST_BYTES_AT_ONCE = 256, 1024 * 1024
"""Of messages that are published together: how many are handed to the machine in one turn."""


class MessageNetwork(Network):
    """A network that carries every message, with a queue for each peer."""

    _publications = 0

    def _several(self, topics: Sequence[str]) -> tuple[str, ...]:
        """The texts of topics, where it is not one text."""
        return tuple(topics)

    async def publish(
        self,
        topic: str | Sequence[str],
        data: bytes,
        *,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> Receipt:
        """See :meth:`Network.publish`.

        While the queue of a peer is full, wait up to ``timeout`` seconds for room; after that the
        message is dropped for this peer, and the receipt says so.
        """
        self._check_open()
        topics = (topic,) if isinstance(topic, str) else self._several(topic)
        data = as_bytes(data)
        if self._validators:
            await self._judge_own(topics, data)
        if ready is not None and not self._has_targets(topics):
            await self._wait_ready(topics, ready)
        if not self._has_room(topics, len(data)):
            await self._until(lambda: self._has_room(topics, len(data)), timeout)
        self._publications += 1
        if self._publications % PUBLISH_BURST == 0:
            await asyncio.sleep(0)
        self._check_open()
        return self._publish(topics, data)

    async def publish_many(
        self,
        topic: str | Sequence[str],
        several: Iterable[bytes],
        *,
        ready: float | None = None,
        timeout: float = 5.0,
    ) -> tuple[Receipt, ...]:
        """Publish several messages as one; a receipt for each, in their order.

        Where the network can, peers get them in different orders, so that all of them are under way
        as soon as one copy of each has left. Our validator judges all of them before the first
        leaves. ``timeout`` seconds are what the
        whole may wait for room in the queues of peers: see :meth:`publish`.
        """
        self._check_open()
        topics = (topic,) if isinstance(topic, str) else self._several(topic)
        messages = [as_bytes(data) for data in several]
        if self._validators:
            for data in messages:
                await self._judge_own(topics, data)
        if ready is not None and not self._has_targets(topics):
            await self._wait_ready(topics, ready)
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        receipts: list[Receipt] = []
        for group in self._groups(messages):
            if receipts:
                await asyncio.sleep(0)  # what was published leaves, and others get their turn
            has_room = partial(self._has_room_for, topics, group)
            if not has_room():
                await self._until(has_room, max(0.0, end - loop.time()))
            self._check_open()
            receipts += self._publish_together(topics, group)
        return tuple(receipts)

    def _groups(self, messages: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
        """The messages in groups that go to the machine in one turn."""
        most, most_bytes = self._most_together()
        first = size = 0
        for number, data in enumerate(messages):
            size += len(data)
            if number > first and (number - first >= most or size > most_bytes):
                yield messages[first:number]
                first, size = number, len(data)
        if messages:
            yield messages[first:]

    def _most_together(self) -> tuple[int, int]:
        """Messages, and bytes of them, that a queue has room for as soon as it is half empty."""
        return MOST_AT_ONCE, MOST_BYTES_AT_ONCE

    def _has_room_for(self, topics: tuple[str, ...], several: Sequence[bytes]) -> bool:
        """Whether all of these find room now for each who would get them."""
        return self._has_room(topics, sum(map(len, several)))

    def _publish_together(
        self, topics: tuple[str, ...], several: Sequence[bytes]
    ) -> Sequence[Receipt]:
        """Hand several messages to the machine."""
        return [self._publish(topics, data) for data in several]

    @abstractmethod
    def _publish(self, topics: tuple[str, ...], data: bytes) -> Receipt:
        """Hand a message to the machine."""

    @abstractmethod
    def _has_room(self, topics: tuple[str, ...], size: int) -> bool:
        """Whether a message of ``size`` bytes finds room now for each who would get it."""
