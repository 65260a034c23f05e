"""A network of messages: each is handed to the machine once its peers have room for it."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence

from rumormill.core.receipt import Receipt
from rumormill.live.network import Network, as_bytes

PUBLISH_BURST = 64
"""Messages that one loop may publish before others, and the sockets, get their turn."""


class MessageNetwork(Network):
    """A network that carries every message, with a queue for each peer."""

    _publications = 0

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
        topics = (topic,) if isinstance(topic, str) else tuple(topic)
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

    @abstractmethod
    def _publish(self, topics: tuple[str, ...], data: bytes) -> Receipt:
        """Hand a message to the machine."""

    @abstractmethod
    def _has_room(self, topics: tuple[str, ...], size: int) -> bool:
        """Whether a message of ``size`` bytes finds room now for each who would get it."""
