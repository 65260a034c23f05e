"""The dialect of the java-sdk from 2.6.1 and of the go-sdk from 0.10.0, in use today.

The challenge is any bytes (the java-sdk sends 32 hex digits, the go-sdk up to 17 random bytes), the
proof is r, s and v of their Keccak-256.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from Crypto.Hash import keccak

from rumormill.bcos.sdk.challenges.dialect import (
    LONGEST_NUMBER,
    name_asked_for,
    number_of_nonce,
    without_v,
)
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, TopicPublicKey, signed_by_any
from rumormill.core.errors import RemoteProtocolError


class Keccak256Dialect:
    """See :class:`~rumormill.bcos.sdk.challenges.dialect.Dialect`."""

    __slots__ = ()
    name: Final = "keccak256"

    def challenge(self, nonce: bytes, topic: str) -> bytes:
        """Hex digits."""
        name_asked_for(topic)
        return number_of_nonce(nonce).encode()

    def proves(self, challenge: bytes, proof: bytes, public_keys: Sequence[TopicPublicKey]) -> bool:
        """65 bytes, one of the keys'."""
        try:
            return signed_by_any(public_keys, _digest(challenge), without_v(proof))
        except RemoteProtocolError:
            return False

    def prove(self, challenge: bytes, private_key: TopicPrivateKey) -> bytes:
        """65 bytes."""
        return private_key.sign(_digest(challenge))

    def recognises(self, challenge: bytes) -> bool:
        """Any bytes: ask the others first."""
        return 1 <= len(challenge) <= LONGEST_NUMBER


def _digest(challenge: bytes) -> bytes:
    if not 1 <= len(challenge) <= LONGEST_NUMBER:
        detail = f"{len(challenge)} bytes, 1 to {LONGEST_NUMBER} are signed"
        raise RemoteProtocolError("bad_challenge", detail)
    return keccak.new(data=challenge, digest_bits=256).digest()
