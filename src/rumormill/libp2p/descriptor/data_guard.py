"""The guard of a topic's messages: who wrote them, and what is in them.

Whoever knows the descriptor refuses what the topic does not want, with or without keys: messages of
peers that may not publish, such as are not encrypted, or under a key that is not listed. What
only who has the key can see (that a message was not encrypted for this topic, author and number) is
ignored without blame: who passed it on may not have it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.machine import Peer
from rumormill.libp2p.descriptor.descriptor import AuthMode
from rumormill.libp2p.descriptor.private_topic import PrivateTopic
from rumormill.libp2p.descriptor.telling import Telling
from rumormill.libp2p.pubsub.guard import UNREADABLE, GuardServices, Refusal, TopicGuard
from rumormill.libp2p.wire.message import WireMessage

UNTRUSTED: Final = Refusal("untrusted_author")
UNSETTLED: Final = Refusal("untrusted_author", blame=False)
NOT_SEALED: Final = Refusal("not_sealed")
UNKNOWN_KEY: Final = Refusal("unknown_key")
OLD_EPOCH: Final = Refusal("old_epoch", blame=False)
BAD_SEAL: Final = Refusal("bad_seal", blame=False)


class DataGuard(TopicGuard):
    """Guards the topic itself."""

    def __init__(
        self,
        topic: PrivateTopic,
        pubsub: GuardServices,
        telling: Telling,
        judged: Callable[[str], bool],
    ) -> None:
        """Messages of a topic that is ``judged`` by a validator do not wait for their key."""
        self._topic = topic
        self._pubsub = pubsub
        self._telling = telling
        self._judged = judged
        self._by_list = topic.descriptor.auth.mode is AuthMode.KEY
        self._allowed = frozenset(topic.descriptor.auth.keys)
        self._encrypted = topic.encrypted

    def refuses(self, message: WireMessage, now: float) -> Refusal | None:
        """See :class:`TopicGuard`."""
        if self._by_list:
            if message.sender_id not in self._allowed:
                return UNTRUSTED
        elif not self._topic.may_publish(message.sender_id, now):
            self._topic.look_at_trust(now)
            return UNSETTLED if now < self._topic.restless_until else UNTRUSTED
        return self._wrong_key(message, now) if self._encrypted else None

    def _wrong_key(self, message: WireMessage, now: float) -> Refusal | None:
        """What is wrong with the key that a message names, as everyone can see it."""
        topic = self._topic
        try:
            author, key_id = topic.key_of(message)
        except RemoteProtocolError:
            return NOT_SEALED
        if topic.shared is not None and not topic.shared.knows(key_id):
            return UNKNOWN_KEY
        if topic.epochs is not None and topic.epochs.past(author, key_id, now):
            return OLD_EPOCH
        return None

    def admit(self, message: WireMessage, source: Peer, now: float) -> Refusal | None:
        """See :class:`TopicGuard`; whom we trust may have changed since the message came."""
        if message.is_open:  # a validator has seen it
            opened = message.data
            message.close()
            refusal = self.refuses(message, now)
            if refusal is None:
                message.open(opened)
            return refusal
        refusal = self.refuses(message, now)
        if refusal is not None or not self._encrypted:
            return refusal
        if not self._pubsub.wants(self._topic.id):
            return None  # it is only passed on
        return self._open(message, source, now)

    def _open(self, message: WireMessage, source: Peer, now: float) -> Refusal | None:
        topic = self._topic
        key = topic.key_of(message)
        if not topic.can_read(key):
            if topic.lacks(key):
                topic.wait(key, message, source, now)
                if self._judged(topic.id):
                    for each in topic.waiting.take(key):
                        topic.lose(each, "key_missing")
                self._telling.key_missing(now)
            return UNREADABLE
        data = topic.read(key, message)
        if data is None:
            return BAD_SEAL
        message.open(data)
        return None

    def open_for_validators(self, message: WireMessage) -> bool:
        """Open a genuine message before its time; False if that cannot be, or not yet."""
        topic = self._topic
        if not self._encrypted or message.is_open:
            return True
        try:
            key = topic.key_of(message)
        except RemoteProtocolError:
            return False
        data = topic.read(key, message) if topic.can_read(key) else None
        if data is None:
            return False
        message.open(data)
        return True

    def seal(self, data: bytes, sequence: int, now: float) -> bytes:
        """See :class:`TopicGuard`; who begins an epoch tells its key before it uses it."""
        if self._topic.epochs is not None and self._topic.renew_epoch(now):
            self._telling.tell_keys(now)
        return self._topic.seal(data, sequence, now)
