"""A topic of a network as an object, for code that has to do with one topic only.

weather = network.topic("weather")
await weather.publish(b"rain at noon")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rumormill.core.receipt import Receipt
from rumormill.core.topic import check_topic
from rumormill.live.subscription import Subscription, WhenFull

if TYPE_CHECKING:
    from rumormill.live.network import Network


class Topic:
    """One topic of one network. It has no state of its own: making one changes nothing."""

    __slots__ = ("name", "network")

    def __init__(self, network: Network, name: str) -> None:
        self.network = network
        self.name = check_topic(name)

    def __repr__(self) -> str:
        return f"<Topic {self.name!r} of {self.network.name}>"

    async def publish(
        self, data: bytes, *, ready: float | None = None, timeout: float = 5.0
    ) -> Receipt:
        """See :meth:`Network.publish`."""
        return await self.network.publish(self.name, data, ready=ready, timeout=timeout)

    def subscribe(
        self,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
    ) -> Subscription:
        """See :meth:`Network.subscribe`."""
        return self.network.subscribe(
            self.name, buffer=buffer, when_full=when_full, buffer_bytes=buffer_bytes
        )

    @property
    def peers(self) -> tuple[str, ...]:
        """Who listens to the topic, as far as we know."""
        return self.network.subscribers(self.name)

    @property
    def mesh(self) -> tuple[str, ...]:
        """Who gets every message of the topic from us, where the network has such peers."""
        return self.network.mesh(self.name)
