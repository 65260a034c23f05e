"""One topic with a descriptor, on this node: who may publish on it, and what we can read of it."""

from __future__ import annotations

import random
from typing import Final

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError
from rumormill.core.machine import Peer
from rumormill.core.timers import Alarm
from rumormill.libp2p.descriptor.control_message import SUFFIX
from rumormill.libp2p.descriptor.descriptor import AuthMode, EncryptionMode, TopicDescriptor
from rumormill.libp2p.descriptor.epoch_keys import EpochKeys
from rumormill.libp2p.descriptor.events import EPOCH_BEGAN, TRUST_CHANGED
from rumormill.libp2p.descriptor.sealed_data import HEAD_SIZE, about, key_id_of
from rumormill.libp2p.descriptor.shared_keys import SharedKeys
from rumormill.libp2p.descriptor.trust import TrustGraph
from rumormill.libp2p.descriptor.waiting_room import KeyName, Waiting, WaitingRoom
from rumormill.libp2p.descriptor.xchacha import Reader
from rumormill.libp2p.pubsub.guard import GuardServices
from rumormill.libp2p.wire.message import WireMessage

SETTLING: Final = 10.0
"""Seconds after a change of trust in which nobody is blamed for messages of who is not trusted: who
passes them on may not know yet what we know, or we not what it knows."""


class PrivateTopic:
    """What a node knows of such a topic."""

    def __init__(
        self,
        descriptor: TopicDescriptor,
        pubsub: GuardServices,
        entropy: random.Random,
        alarm: Alarm,
        now: float,
    ) -> None:
        self.descriptor = descriptor
        self.id = descriptor.topic_id
        self.control = self.id + SUFFIX
        self._pubsub = pubsub
        self.us = pubsub.author.peer_id
        self.trust = TrustGraph(descriptor.auth.keys)
        """Of ``KEY``, the listed ones alone."""
        mode = descriptor.encryption.mode
        self.shared: SharedKeys | None = None
        self.epochs: EpochKeys | None = None
        if mode is EncryptionMode.SHAREDKEY:
            self.shared = SharedKeys(descriptor.encryption.key_hashes, entropy)
        elif mode is EncryptionMode.WOT:
            self.epochs = EpochKeys(descriptor.digest, entropy)
        # Looked up for every message, so worked out here.
        self.open_to_all = descriptor.auth.mode is AuthMode.NONE
        """Whether anyone may publish."""
        self.encrypted = mode is not EncryptionMode.NONE
        """Whether messages are."""
        self.has_control = descriptor.auth.mode is AuthMode.WOT or self.epochs is not None
        """Whether there is a control topic: where trust is spread, or keys are."""
        self._digest = descriptor.digest
        self.waiting = WaitingRoom()
        self._alarm = alarm
        self.restless_until = now + SETTLING
        self._seen_version = 0

    # ---- who may publish

    def may_publish(self, author: bytes | None, now: float) -> bool:
        """Whether messages of the author are welcome."""
        return self.open_to_all or author in self.trust.trusted(now)

    def awaits_trust(self, now: float) -> bool:
        """Whether we may not publish, and what others say of trust may change that."""
        by_trust = self.descriptor.auth.mode is AuthMode.WOT
        return by_trust and not self.may_publish(self.us, now)

    def look_at_trust(self, now: float) -> None:
        """Notice it if somebody began or ceased to be trusted."""
        trusted = self.trust.trusted(now)
        if self.trust.version == self._seen_version:
            return
        self._seen_version = self.trust.version
        self.restless_until = now + SETTLING
        self._pubsub.emit(
            TRUST_CHANGED, self.id, trusted=len(trusted), edges=len(self.trust),
            banned=len(self.trust.banned()),
        )  # fmt: skip

    # ---- writing

    def seal(self, data: bytes, sequence: int, now: float) -> bytes:
        """What is on the wire for data of our own."""
        if not self.may_publish(self.us, now):
            why = "lists it not" if self.descriptor.auth.mode is AuthMode.KEY else "trusts it not"
            name = self.descriptor.name
            raise LocalProtocolError(
                f"{self._pubsub.node} may not publish on {name!r}: the topic {why}"
            )
        if not self.encrypted:
            return data
        bound = about(self._digest, self.us, sequence.to_bytes(8, "big"))
        if self.epochs is not None:
            return self.epochs.seal(data, bound)
        assert self.shared is not None
        sealed = self.shared.seal(data, bound)
        if sealed is None:
            name = self.descriptor.name
            raise LocalProtocolError(f"{name!r} is encrypted, and none of its keys is here")
        return sealed

    def epoch_is_over(self, now: float) -> bool:
        """Whether whom we trust has changed since we last made a key, or we have none."""
        self.trust.trusted(now)
        return self.epochs is not None and self.epochs.outlived(self.trust.version, now)

    def renew_epoch(self, now: float) -> bool:
        """Begin a new epoch if the last one is over; whether we did."""
        if self.epochs is None or not self.may_publish(self.us, now):
            return False
        if not self.epoch_is_over(now):
            return False
        readers = self.trust.trusted(now)
        without = self.epochs.renew(self.us, readers, self.trust.version, now)
        self._pubsub.emit(EPOCH_BEGAN, self.id, readers=len(readers), without=len(without))
        return True

    # ---- reading

    def key_of(self, message: WireMessage) -> KeyName:
        """Which key a message is under; :class:`RemoteProtocolError` if it is not encrypted."""
        key_id = key_id_of(message.data)
        return (b"" if self.shared is not None else message.sender_id or b""), key_id

    def reader(self, key: KeyName) -> Reader | None:
        """What reads messages under a key; None if we do not have it."""
        author, key_id = key
        if self.shared is not None:
            return self.shared.reader(key_id)
        return None if self.epochs is None else self.epochs.reader(author, key_id)

    def lacks(self, key: KeyName) -> bool:
        """Whether the key may still come."""
        author, key_id = key
        if self.shared is not None:
            # Who has none at all does not wait for one: it only relays.
            return len(self.shared) > 0 and self.shared.missing(key_id)
        return self.epochs is not None and self.epochs.lacks(author, key_id)

    def read(self, reader: Reader, message: WireMessage) -> bytes | None:
        """The data of a message; None if it was not encrypted for this."""
        bound = about(self._digest, message.sender_id or b"", message.sequence or b"")
        return reader.open(message.data, bound, HEAD_SIZE)

    def wait(self, key: KeyName, message: WireMessage, source: Peer, now: float) -> None:
        """Let a message wait for its key."""
        for each in self.waiting.add(key, message, source, now):
            self.lose(each, "waiting_room_full")
        self._alarm.soonest = min(self._alarm.soonest, self.waiting.next_expiry() or now)

    def lose(self, waiting: Waiting, reason: str) -> None:
        """A message will never be read here."""
        self._pubsub.emit(
            trace.DROPPED, self.id, waiting.message.id, waiting.source,
            what="message", reason=reason, count=1,
        )  # fmt: skip

    def key_came(self, key: KeyName, now: float) -> None:
        """Deliver what has waited for a key."""
        reader = self.reader(key)
        if reader is None:
            return
        for each in self.waiting.take(key):
            data = self.read(reader, each.message)
            if data is None:
                self.lose(each, "bad_seal")
            elif not self.may_publish(each.message.sender_id, now):
                self.lose(each, "untrusted_author")
            else:
                each.message.open(data)
                self._pubsub.deliver_late(each.message, each.source, now)
                each.message.close()
