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
from rumormill.libp2p.descriptor.sealed_data import HEAD_SIZE, key_id_of
from rumormill.libp2p.descriptor.telling import Telling
from rumormill.libp2p.descriptor.waiting_room import KeyName
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
        self._telling = telling
        self._judged = judged
        self._by_list = topic.descriptor.auth.mode is AuthMode.KEY
        self._allowed = frozenset(topic.descriptor.auth.keys)
        self._encrypted = topic.encrypted
        self._id = topic.id
        self._subscribed = pubsub.subscribed

    def refuses(self, message: WireMessage, now: float) -> Refusal | None:
        """See :class:`TopicGuard`."""
        refusal = self._unwelcome(message.sender_id, now)
        if refusal is None and self._encrypted:
            return self._wrong_key(message, now)
        return refusal

    def _unwelcome(self, author: bytes | None, now: float) -> Refusal | None:
        """Whether the author may not publish."""
        if self._by_list:
            return None if author in self._allowed else UNTRUSTED
        topic = self._topic
        if topic.may_publish(author, now):
            return None
        topic.look_at_trust(now)
        return UNSETTLED if now < topic.restless_until else UNTRUSTED

    def _wrong_key(self, message: WireMessage, now: float) -> Refusal | None:
        """What is wrong with the key that a message names, as everyone can see it."""
        topic = self._topic
        try:
            key_id = key_id_of(message.data)
        except RemoteProtocolError:
            return NOT_SEALED
        if topic.shared is not None:
            return None if key_id in topic.shared.listed else UNKNOWN_KEY
        if topic.epochs is not None and topic.epochs.past(message.sender_id or b"", key_id, now):
            return OLD_EPOCH
        return None

    def admit(self, message: WireMessage, source: Peer, now: float) -> Refusal | None:
        """See :class:`TopicGuard`; whom we trust may have changed since the message came."""
        refusal = self._unwelcome(message.sender_id, now)
        if refusal is not None or not self._encrypted or self._id not in self._subscribed:
            return refusal  # what nobody here wants is only passed on
        if self._judged(self._id) and message.is_open:
            return None  # a validator has seen it
        topic = self._topic
        # As `key_of` says, which was asked when the message came.
        key_id, shared = message.data[1:HEAD_SIZE], topic.shared
        key = (b"" if shared is not None else message.sender_id or b""), key_id
        reader = topic.reader(key) if shared is None else shared.reader(key_id)
        if reader is None:
            self._miss(key, message, source, now)
            return UNREADABLE
        data = topic.read(reader, message)
        if data is None:
            return BAD_SEAL
        message.open(data)
        return None

    def _miss(self, key: KeyName, message: WireMessage, source: Peer, now: float) -> None:
        """We have not got the key of a message: it waits, if the key may still come."""
        topic = self._topic
        if not topic.lacks(key):
            return
        topic.wait(key, message, source, now)
        if self._judged(topic.id):
            for each in topic.waiting.take(key):
                topic.lose(each, "key_missing")
        self._telling.key_missing(now)

    def open_for_validators(self, message: WireMessage) -> bool:
        """Open a genuine message before its time; False if that cannot be, or not yet."""
        if not self._encrypted or message.is_open:
            return True
        try:
            reader = self._topic.reader(self._topic.key_of(message))
        except RemoteProtocolError:
            return False
        data = None if reader is None else self._topic.read(reader, message)
        if data is None:
            return False
        message.open(data)
        return True

    def seal(self, data: bytes, sequence: int, now: float) -> bytes:
        """See :class:`TopicGuard`; who begins an epoch tells its key before it uses it."""
        topic = self._topic
        if topic.epochs is not None and topic.epoch_is_over(now) and topic.renew_epoch(now):
            self._telling.tell_keys(now)
        return topic.seal(data, sequence, now)
