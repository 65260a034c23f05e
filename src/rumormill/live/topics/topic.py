"""A topic of a network as an object, for code that has to do with one topic only.

weather = network.topic("weather")
await weather.publish(b"rain at noon")

One that is ``fanout_only`` is for publishing: what is published goes out by the fanout, and whoever
tries to subscribe to the topic, or to relay it, by this object is refused. So code that is handed
it cannot make the node join the topic, and carry its traffic, by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rumormill.core.errors import LocalProtocolError
from rumormill.core.receipt import Receipt
from rumormill.core.topic import check_topic
from rumormill.live.topics.message_filter import MessageFilter
from rumormill.live.topics.relay import Relay
from rumormill.live.topics.subscription import Subscription, WhenFull
from rumormill.live.topics.topic_events import TopicEvents

if TYPE_CHECKING:
    from rumormill.live.network import Network


class Topic:
    """One topic of one network. It has no state of its own: making one changes nothing."""

    __slots__ = ("fanout_only", "name", "network")

    def __init__(self, network: Network, name: str, *, fanout_only: bool = False) -> None:
        self.network = network
        self.name = check_topic(name)
        self.fanout_only = fanout_only
        if fanout_only and not network.capabilities.fanout:
            raise LocalProtocolError(
                f"{network.name} has no fanout: who publishes on a topic takes part in it"
            )

    def __repr__(self) -> str:
        kind = " fanout-only" if self.fanout_only else ""
        return f"<Topic {self.name!r} of {self.network.name}{kind}>"

    async def publish(
        self, data: bytes, *, ready: float | None = None, timeout: float = 5.0
    ) -> Receipt:
        """See :meth:`Network.publish`."""
        return await self.network.publish(self.name, data, ready=ready, timeout=timeout)

    async def publish_many(
        self, several: Iterable[bytes], *, ready: float | None = None, timeout: float = 5.0
    ) -> tuple[Receipt, ...]:
        """See :meth:`Network.publish_many`."""
        return await self.network.publish_many(self.name, several, ready=ready, timeout=timeout)

    def subscribe(
        self,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
        only: MessageFilter | None = None,
    ) -> Subscription:
        """See :meth:`Network.subscribe`."""
        self._check_joinable("subscribed to")
        return self.network.subscribe(
            self.name, buffer=buffer, when_full=when_full, buffer_bytes=buffer_bytes, only=only
        )

    def relay(self) -> Relay:
        """See :meth:`Network.relay`."""
        self._check_joinable("relayed")
        return self.network.relay(self.name)

    def _check_joinable(self, what: str) -> None:
        if self.fanout_only:
            raise LocalProtocolError(
                f"the topic {self.name!r} is fanout-only here: it is published on, never {what}"
            )

    def events(self) -> TopicEvents:
        """See :meth:`Network.topic_events`."""
        return self.network.topic_events(self.name)

    @property
    def peers(self) -> tuple[str, ...]:
        """Who listens to the topic, as far as we know."""
        return self.network.subscribers(self.name)

    @property
    def mesh(self) -> tuple[str, ...]:
        """Who gets every message of the topic from us, where the network has such peers."""
        return self.network.mesh(self.name)
