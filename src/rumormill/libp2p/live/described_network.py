"""A network that takes topic descriptors wherever others take the text of a topic.

    topic = rumormill.load_topic("weather.topic")
    async with network.subscribe(topic) as messages:
        await network.publish(topic, b"rain at noon")

A descriptor is known from the first time that it is used. From then on the node holds the topic's
messages against it, whatever else it does with the topic.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rumormill.core.errors import LocalProtocolError
from rumormill.core.receipt import Receipt
from rumormill.libp2p.descriptor.commands import KnowTopic, Trust
from rumormill.libp2p.descriptor.descriptor import TopicDescriptor
from rumormill.libp2p.descriptor.private_topics import PrivateTopics
from rumormill.libp2p.live.publishing import OtherPublications
from rumormill.libp2p.live.topic_file import TopicFile
from rumormill.libp2p.live.topic_watch import TopicWatch
from rumormill.libp2p.stack.keys import PrivateKey
from rumormill.libp2p.stack.peer_id import from_text, to_text
from rumormill.live.checks.validation import ValidatorFunction
from rumormill.live.topics.message_filter import MessageFilter
from rumormill.live.topics.relay import Relay
from rumormill.live.topics.subscription import Subscription, WhenFull
from rumormill.live.topics.topic import Topic
from rumormill.live.topics.topic_events import TopicEvents

AnyTopic: TypeAlias = str | TopicDescriptor | TopicFile

A_YEAR = 365 * 86400.0


class DescribedNetwork(OtherPublications):
    """What a network does for topics with descriptors."""

    _private: PrivateTopics
    _tell: Callable[[Any], None]
    """Hands a command to the machine."""

    def _watch_topics(self) -> TopicWatch:
        """Looks after files of topics; made when the first is used."""
        if self._topic_watch_files is None:
            self._topic_watch_files = TopicWatch(self._tell, self._private, self._trace)
            self.at_close(self._topic_watch_files.close)
        return self._topic_watch_files

    _topic_watch_files: TopicWatch | None = None

    def text_of(self, topic: AnyTopic) -> str:
        """The topic's id, once its descriptor is known to this node."""
        if isinstance(topic, str):
            return topic
        self._check_open()
        if isinstance(topic, TopicFile):
            self._watch_topics().add(topic)
        elif isinstance(topic, TopicDescriptor):
            if topic.guarded and self._private.topic(topic.topic_id) is None:
                self._tell(KnowTopic(topic))
        else:
            raise LocalProtocolError(f"a topic is a text or a descriptor, not {topic!r}")
        return topic.topic_id

    def _several(self, topics: Any) -> tuple[str, ...]:
        if isinstance(topics, TopicDescriptor | TopicFile):
            return (self.text_of(topics),)
        return tuple(self.text_of(each) for each in topics)

    # ---- the same as of other topics

    if TYPE_CHECKING:  # what is done is done by `_several`, without a further call a message

        async def publish(
            self,
            topic: AnyTopic | Sequence[AnyTopic],
            data: bytes,
            *,
            ready: float | None = None,
            timeout: float = 5.0,
            local: bool = False,
            gossip: bool = True,
            author: PrivateKey | None = None,
        ) -> Receipt:
            """See :meth:`OtherPublications.publish`."""

        async def publish_many(
            self,
            topic: AnyTopic | Sequence[AnyTopic],
            several: Iterable[bytes],
            *,
            ready: float | None = None,
            timeout: float = 5.0,
        ) -> tuple[Receipt, ...]:
            """See :meth:`MessageNetwork.publish_many`."""

    def subscribe(
        self,
        topic: AnyTopic,
        *,
        buffer: int = 1024,
        when_full: WhenFull | None = None,
        buffer_bytes: int = 16 * 1024 * 1024,
        only: MessageFilter | None = None,
    ) -> Subscription:
        """See :meth:`Network.subscribe`; an encrypted topic needs a key of it."""
        name = self.text_of(topic)
        known = self._private.topic(name)
        if known is not None and known.shared is not None and not len(known.shared):
            raise LocalProtocolError(
                f"{known.descriptor.name!r} is encrypted, and none of its keys is here; relay it "
                "instead (network.relay)"
            )
        return super().subscribe(
            name, buffer=buffer, when_full=when_full, buffer_bytes=buffer_bytes, only=only
        )

    def join(self, topic: AnyTopic) -> None:
        """See :meth:`Network.join`."""
        super().join(self.text_of(topic))

    def relay(self, topic: AnyTopic) -> Relay:
        """See :meth:`Network.relay`."""
        return super().relay(self.text_of(topic))

    def topic(self, name: AnyTopic, *, fanout_only: bool = False) -> Topic:
        """See :meth:`Network.topic`."""
        return super().topic(self.text_of(name), fanout_only=fanout_only)

    def topic_events(self, topic: AnyTopic) -> TopicEvents:
        """See :meth:`Network.topic_events`."""
        return super().topic_events(self.text_of(topic))

    async def wait_for_peers(
        self, topic: AnyTopic, count: int = 1, timeout: float | None = None
    ) -> tuple[str, ...]:
        """See :meth:`Network.wait_for_peers`."""
        return await super().wait_for_peers(self.text_of(topic), count, timeout)

    async def wait_subscribed(self, topic: AnyTopic, timeout: float | None = None) -> None:
        """See :meth:`Network.wait_subscribed`."""
        await super().wait_subscribed(self.text_of(topic), timeout)

    def add_validator(
        self,
        topic: AnyTopic | None,
        function: ValidatorFunction,
        *,
        timeout: float = 5.0,
        concurrency: int = 1024,
    ) -> None:
        """See :meth:`Network.add_validator`; of an encrypted topic it sees what can be read."""
        name = None if topic is None else self.text_of(topic)
        super().add_validator(name, function, timeout=timeout, concurrency=concurrency)

    def remove_validator(self, topic: AnyTopic | None) -> None:
        """See :meth:`Network.remove_validator`."""
        super().remove_validator(None if topic is None else self.text_of(topic))

    # ---- trust

    def _awaits_trust(self, topics: tuple[str, ...]) -> bool:
        """Whether a web of trust has yet to tell us that we may publish on one of the topics."""
        if not self._private.topics:
            return False
        known = [topic for topic in map(self._private.topic, topics) if topic is not None]
        return any(topic.awaits_trust(self._driver.now()) for topic in known)

    def trust(self, topic: AnyTopic, peer: str, until: float | None = None) -> None:
        """Say on the topic's web of trust that we trust a peer, until a time (in a year).

        Raises :class:`LocalProtocolError` if we are not trusted ourselves, or the topic has none.
        """
        self._check_open()
        now = time.time()
        end = int(now + A_YEAR if until is None else until)
        if end <= now:
            raise LocalProtocolError("trust must end in the future; revoke ends it now")
        self._tell(Trust(self.text_of(topic), from_text(peer), end))

    def revoke(self, topic: AnyTopic, peer: str) -> None:
        """Take back that we trust a peer, and with it whom only it has trusted.

        If the topic lists us, nobody else's trust helps the peer any more.
        """
        self._check_open()
        self._tell(Trust(self.text_of(topic), from_text(peer), 0))

    def trusted(self, topic: AnyTopic) -> tuple[str, ...]:
        """Who may publish on the topic, as far as this node knows; none if anyone may."""
        known = self._private.topic(self.text_of(topic))
        if known is None:
            return ()
        return tuple(to_text(each) for each in known.trust.trusted(time.time()))
