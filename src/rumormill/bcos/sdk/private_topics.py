"""Which topics are private, and what such a topic is called towards nodes.

The application uses the plain name alone. A reader of the private topic t listens to the name that
its messages go to, and to a VerifyChannel of its own, on which publishers ask who it is. A
publisher listens to the topic's PushChannel, on which its node asks it to verify readers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from rumormill.bcos.sdk.challenges.dialect import Dialect
from rumormill.bcos.sdk.challenges.dialects import KECCAK256
from rumormill.bcos.sdk.connection import Connection
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, TopicPublicKey
from rumormill.bcos.wire.topic_body import LONGEST_TOPIC
from rumormill.bcos.wire.verification import (
    is_need_verify,
    need_verify,
    push_channel,
    verify_channel,
)
from rumormill.core.errors import LocalProtocolError
from rumormill.core.topic import check_topic

MOST_NAMES: Final = 1024
"""Names of topics that are kept at hand."""


class TopicKeys(NamedTuple):
    """What we have of the keys of private topics."""

    topics: tuple[str, ...] = ()
    """Which topics are private; none named: all of them, if there is a key."""
    private_key: TopicPrivateKey | None = None
    """Lets us read."""
    public_keys: tuple[TopicPublicKey, ...] = ()
    """Of those who may read what we publish."""
    dialect: Dialect = KECCAK256
    """How we ask for a proof; we give one in whichever dialect we are asked."""
    max_topics: int = 1024
    """Private topics that we may publish to."""


class PrivateTopics:
    """Names of topics on the wire, private or not; :class:`LocalProtocolError` if there is none."""

    def __init__(self, keys: TopicKeys) -> None:
        self.keys = keys
        self._named = frozenset(keys.topics)
        self._published: dict[str, None] = {}
        """The names of private topics that we publish to."""
        self._publishable: dict[str, str] = {}
        """Names that were looked at lately: each message asks for one."""
        for topic in keys.topics:
            need_verify(check_topic(topic))
            if keys.public_keys:
                self.publish_to(topic)

    def is_private(self, topic: str) -> bool:
        """Whether its messages are for verified readers alone."""
        if self._named:
            return topic in self._named
        return self.keys.private_key is not None or bool(self.keys.public_keys)

    def readable_name(self, topic: str) -> str:
        """The name of a topic that we want to read."""
        if self.is_private(topic) and self.keys.private_key is None:
            raise LocalProtocolError(
                f"the topic {topic[:40]!r} is private, and there is no private_key to read it with"
            )
        return self.name(topic)

    def publishable_name(self, topic: str) -> str:
        """The name of a topic that we want to publish to."""
        name = self._publishable.get(topic)
        if name is None:
            if self.is_private(topic) and not self.keys.public_keys:
                raise LocalProtocolError(
                    f"the topic {topic[:40]!r} is private, and there are no public_keys of its"
                    " readers"
                )
            name = self.name(topic)
            if len(self._publishable) >= MOST_NAMES:
                self._publishable.clear()
            self._publishable[topic] = name
        return name

    def publish_to(self, topic: str) -> bool:
        """We publish to a topic; True if nodes have to be told a name that they do not know."""
        name = self.publishable_name(topic)
        if name == topic or name in self._published:  # a private one is never called as it is
            return False
        if len(self._published) >= self.keys.max_topics:
            most = self.keys.max_topics
            raise LocalProtocolError(f"{most} private topics are published to, no more are allowed")
        self._published[name] = None
        return True

    def is_published(self, name: str) -> bool:
        """Whether we are a publisher of a private topic of this name."""
        return name in self._published

    def name(self, topic: str) -> str:
        """What a topic is called on the wire."""
        check_topic(topic)
        if self.is_private(topic):
            return need_verify(topic)
        size = len(topic.encode())
        if size > LONGEST_TOPIC:
            raise LocalProtocolError(
                f"the topic {topic[:40]!r}... has {size} bytes, {LONGEST_TOPIC} can be sent"
            )
        return topic

    def channels(self, connection: Connection, read: Iterable[str]) -> list[str]:
        """What else a node has to be told, beside the names that we read."""
        channels = [push_channel(name) for name in self._published]
        if self.keys.private_key is not None:
            channels += [
                verify_channel(name, connection.uuid) for name in read if is_need_verify(name)
            ]
        return channels
