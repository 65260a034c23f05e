"""The dialect of the protocol's document, and of the go-sdk before its first release with it.

The challenge is JSON with hex digits and the plain topic, the proof is JSON with r, s and v of the
SHA-256 of these digits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from rumormill.bcos.sdk.challenges.dialect import (
    name_asked_for,
    number_of_nonce,
    read_answer,
    read_question,
    without_v,
    write_answer,
    write_question,
)
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, TopicPublicKey, signed_by_any
from rumormill.bcos.wire.verification import plain_topic
from rumormill.core.errors import RemoteProtocolError


class Sha256Dialect:
    """See :class:`~rumormill.bcos.sdk.challenges.dialect.Dialect`."""

    __slots__ = ()
    name: Final = "sha256"

    def challenge(self, nonce: bytes, topic: str) -> bytes:
        """``{"randValue":"<hex>","topic":"hello"}``."""
        return write_question(number_of_nonce(nonce), plain_topic(name_asked_for(topic)))

    def proves(self, challenge: bytes, proof: bytes, public_keys: Sequence[TopicPublicKey]) -> bool:
        """``{"signature":"<base64>"}``, one of the keys'."""
        try:
            return signed_by_any(public_keys, _digest(challenge), without_v(read_answer(proof)))
        except RemoteProtocolError:
            return False

    def prove(self, challenge: bytes, private_key: TopicPrivateKey) -> bytes:
        """``{"signature":"<base64>"}``."""
        return write_answer(private_key.sign(_digest(challenge)))

    def recognises(self, challenge: bytes) -> bool:
        """An object with hex digits."""
        try:
            return bool(read_question(challenge))
        except RemoteProtocolError:
            return False


def _digest(challenge: bytes) -> bytes:
    return hashlib.sha256(read_question(challenge)).digest()
