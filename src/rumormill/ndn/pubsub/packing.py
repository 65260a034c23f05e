"""The packets of a publication: message, segments and notification, each signed once."""

from __future__ import annotations

from random import Random
from typing import Final, NamedTuple

from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.ndn.pubsub.parameters import PubSubParameters
from rumormill.ndn.pubsub.pending import Pending
from rumormill.ndn.pubsub.segments import SegmentSource
from rumormill.ndn.pubsub.soft_state import Kept, SoftState
from rumormill.ndn.wire.data import encode_data
from rumormill.ndn.wire.interest import Interest, encode_interest
from rumormill.ndn.wire.manifest import MANIFEST_CONTENT_TYPE, encode_manifest
from rumormill.ndn.wire.name import Name, name_from_uri
from rumormill.ndn.wire.notify import (
    NotifyParameters,
    encode_notify,
    message_name,
    notify_name,
)
from rumormill.ndn.wire.signature import Signer

SPARE: Final = 8
"""Bytes by which a packet may be longer than an empty one and its content: of a large one the
lengths take more, and signatures of one key may differ by a few."""


class Packed(NamedTuple):
    """What is sent of a message."""

    notify: Interest
    kept: Kept


class Packing:
    """Makes packets, and knows what fits into them."""

    def __init__(
        self,
        prefix: Name,
        parameters: PubSubParameters,
        random: Random,
        signer: Signer,
        pending: Pending,
        state: SoftState,
    ) -> None:
        self._prefix = prefix
        self._parameters = parameters
        self._random = random
        self._signer = signer
        self._pending = pending
        self._state = state
        self._lifetime = round(parameters.notify_lifetime * 1000)
        hint = parameters.forwarding_hint
        self.hint: Name | None = name_from_uri(hint) if hint else None
        """Where the network finds us."""

    def pack(self, topic: Name, data: bytes) -> Packed:
        """A message as packets; raises :class:`MessageTooLargeError` if none carries it."""
        nonce, name = self._new_name(topic)
        kept = self._message(name, topic, data)
        notify = encode_interest(
            notify_name(topic),
            nonce=self._pending.new_nonce(),
            lifetime=self._lifetime,
            parameters=encode_notify(NotifyParameters(self._prefix, nonce, self.hint)),
            signer=self._signer,
        )
        if len(notify.raw) > self._parameters.largest_data:
            raise LocalProtocolError("topic, prefix and hint are too long for one packet")
        return Packed(notify, kept)

    def largest_message(self, topic: Name) -> int:
        """Bytes of the largest message that can be published to a topic."""
        parameters = self._parameters
        if parameters.segments:
            return parameters.largest_segmented
        name = message_name(self._prefix, topic, bytes(parameters.nonce_size))
        heads = len(encode_data(name, b"", self._signer).raw) + SPARE
        return max(0, parameters.largest_data - heads)

    def _new_name(self, topic: Name) -> tuple[bytes, Name]:
        """A nonce, and the name of a message that no other has."""
        size = self._parameters.nonce_size
        while True:
            nonce = self._random.getrandbits(8 * size).to_bytes(size, "big")
            name = message_name(self._prefix, topic, nonce)
            if name not in self._state:
                return nonce, name

    def _message(self, name: Name, topic: Name, data: bytes) -> Kept:
        """The message as one packet, or in segments."""
        parameters = self._parameters
        most = parameters.largest_data
        if len(data) < most:
            packet = encode_data(name, data, self._signer)
            if len(packet.raw) <= most:
                return Kept(packet)
        if not parameters.segments or len(data) > parameters.largest_segmented:
            raise MessageTooLargeError(len(data), self.largest_message(topic))
        segments = SegmentSource(name, data, parameters)
        manifest = encode_data(
            name, encode_manifest(segments.manifest), self._signer,
            content_type=MANIFEST_CONTENT_TYPE,
        )  # fmt: skip
        return Kept(manifest, segments)
