"""Publishing in other ways than to everybody, in our own name, with gossip about it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from rumormill.core.machine import Published
from rumormill.core.receipt import Receipt
from rumormill.libp2p.effects import PublishOtherwise
from rumormill.libp2p.live.peer_choices import NodeInput
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.live.driver import Driver
from rumormill.live.message_network import MessageNetwork
from rumormill.live.network import as_bytes


class OtherPublications(MessageNetwork):
    """What this family adds to ``publish``."""

    _driver: Driver[NodeInput]

    def publish(
        self,
        topic: str | Sequence[str],
        data: bytes,
        *,
        ready: float | None = None,
        timeout: float = 5.0,
        local: bool = False,
        gossip: bool = True,
        author: PrivateKey | None = None,
    ) -> Coroutine[Any, Any, Receipt]:
        """See :meth:`MessageNetwork.publish`. Beyond that:

        ``local``: deliver it to our own subscriptions and to nobody else, also without
        ``deliver_own``; the receipt has ``fields["local"]``, and ``ready`` and ``timeout`` mean
        nothing. ``gossip=False``: send it, but neither keep it for peers that ask for it nor tell
        of it (gossipsub). ``author``: sign it with another key than the node's own.
        """
        if local or not gossip or author is not None:
            topics = (topic,) if isinstance(topic, str) else self._several(topic)
            command = PublishOtherwise(topics, as_bytes(data), local, gossip, author)
            return self._publish_otherwise(command, ready, timeout)
        # As nearly always, and so not a coroutine within another.
        return super().publish(topic, data, ready=ready, timeout=timeout)

    async def _publish_otherwise(
        self, command: PublishOtherwise, ready: float | None, timeout: float
    ) -> Receipt:
        self._check_open()
        topics, data, author = command.topics, command.data, command.author
        if self._validators:
            signer = author.peer if isinstance(author, PrivateKey) else None
            await self._judge_own(topics, data, signer)
        if not command.local:
            if ready is not None and not self._has_targets(topics):
                await self._wait_ready(topics, ready)
            if not self._has_room(topics, len(data)):
                await self._until(lambda: self._has_room(topics, len(data)), timeout)
        await asyncio.sleep(0)  # others, and the sockets, get their turn
        self._check_open()
        return self._driver.ask(command, Published).receipt
