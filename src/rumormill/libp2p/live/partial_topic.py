"""Topics whose messages come in parts, for the user of a live network.

    async with network.partial_topic("cells", lambda group_id: PartList(group_id, 128)) as cells:
        cells.publish(message)
        async for news in cells:
            if news.message.complete:
                print(news.group_id, len(news.message.data))

What is new of a message is passed on to others by itself, as soon as its
:meth:`~rumormill.libp2p.gossipsub.partial.message.PartialMessage.take` has taken it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from rumormill.core import trace
from rumormill.core.errors import ClosedError, ConfigError, LocalProtocolError
from rumormill.libp2p.effects import FromRouter
from rumormill.libp2p.gossipsub.partial import (
    ClosePartial,
    OpenPartial,
    PartialMessage,
    PartialNews,
    PartialPublished,
    PublishPartial,
)
from rumormill.live.driver import Driver
from rumormill.live.topics.subscription import Subscription


class PartialTopic:
    """One topic of one network, open for parts until it is closed; iterate over what comes.

    Of a message only the last news waits, however many parts have come: the message itself has
    them. Close it with ``async with`` or :meth:`close`.
    """

    def __init__(
        self,
        topics: PartialTopics,
        name: str,
        buffer: int,
        messages: Subscription | None,
    ) -> None:
        self.name = name
        self.messages = messages
        """Whole messages of the topic, from peers that send no parts; None without ``listen``. Of
        those that are not read the oldest go."""
        self.dropped = 0
        """News that was lost because nobody read it."""
        self._topics = topics
        self._buffer = buffer
        self._news: deque[PartialNews] = deque()
        self._waiting: set[bytes] = set()
        """Groups with a message whose news waits already."""
        self._arrived = asyncio.Event()
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "open"
        return f"<PartialTopic {self.name!r} {state} pending={len(self._news)}>"

    @property
    def closed(self) -> bool:
        """Whether no more parts are exchanged."""
        return self._closed

    def publish(self, message: PartialMessage) -> PartialPublished:
        """Offer a message, or say that one has changed that was offered; whom it went to.

        The network keeps the object for some heartbeats: gives its parts to those who lack them,
        and lets it take what they send.
        """
        if self._closed:
            raise ClosedError(f"the topic {self.name!r} is closed for partial messages")
        return self._topics.publish(self.name, message)

    # ---- the network's side

    def push(self, news: PartialNews) -> None:
        """Take news from the network."""
        if news.message is not None:
            if news.group_id in self._waiting:
                return
            self._waiting.add(news.group_id)
        self._news.append(news)
        if len(self._news) > self._buffer:
            self._take()
            self.dropped += 1
            self._topics.overflowed(self.name)
        self._arrived.set()

    # ---- the reader's side

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> PartialNews:
        while not self._news and not self._closed:
            self._arrived.clear()
            await self._arrived.wait()
        if not self._news:
            raise StopAsyncIteration
        return self._take()

    async def get(self, timeout: float | None = None) -> PartialNews:
        """The next news; raises :class:`TimeoutError`, or :class:`ClosedError` at the end."""
        async with asyncio.timeout(timeout):
            try:
                return await self.__anext__()
            except StopAsyncIteration:
                raise ClosedError(f"the topic {self.name!r} is closed") from None

    def _take(self) -> PartialNews:
        news = self._news.popleft()
        if news.message is not None:
            self._waiting.discard(news.group_id)
        return news

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Exchange no more parts; news that came can still be read. Twice is harmless."""
        if not self._closed:
            self._closed = True
            self._arrived.set()
            self._topics.closed(self)


class PartialTopics:
    """All topics of a network that are open for parts."""

    def __init__(
        self,
        driver: Driver[Any],
        *,
        subscribe: Callable[[str], Subscription],
        emit: Callable[..., None],
    ) -> None:
        self._driver = driver
        self._subscribe = subscribe
        self._emit = emit
        self._topics: dict[str, PartialTopic] = {}
        driver.on(FromRouter, self._told)

    def open(self, command: OpenPartial, *, buffer: int, listen: bool) -> PartialTopic:
        """Begin to exchange parts on a topic, and to listen to it."""
        name = command.topic
        if buffer < 1:
            raise ConfigError("buffer", f"must be at least 1, not {buffer}")
        if name in self._topics:
            raise LocalProtocolError(f"the topic {name!r} is open for partial messages already")
        # Before we listen, so that peers are told both at once.
        self._driver.feed(command)
        try:
            messages = self._subscribe(name) if listen else None
        except LocalProtocolError:
            self._driver.feed(ClosePartial(name))
            raise
        topic = self._topics[name] = PartialTopic(self, name, buffer, messages)
        return topic

    def publish(self, topic: str, message: PartialMessage) -> PartialPublished:
        """Hand a message to the machine."""
        news = self._driver.ask(PublishPartial(topic, message), FromRouter).news
        assert isinstance(news, PartialPublished)
        return news

    def closed(self, topic: PartialTopic) -> None:
        """The user has closed a topic."""
        del self._topics[topic.name]
        if topic.messages is not None:
            topic.messages.close()
        self._driver.feed(ClosePartial(topic.name))

    def close(self) -> None:
        """Close every topic."""
        for topic in list(self._topics.values()):
            topic.close()

    def overflowed(self, topic: str) -> None:
        """News of a topic was lost."""
        reason = "subscription_full"
        self._emit(trace.DROPPED, topic, what="partial_news", reason=reason, count=1)

    def _told(self, effect: FromRouter) -> None:
        if isinstance(effect.news, PartialNews) and effect.news.topic in self._topics:
            self._topics[effect.news.topic].push(effect.news)
