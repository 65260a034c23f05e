"""The dialect of the web3sdk.

Challenge and proof are JSON behind the VerifyChannel, once more, and a length of two bytes. The
proof is a signature in DER of the SHA-1 of the challenge's hex digits.

    length of the topic and 1: 1 | topic | length of the JSON: 2 | JSON
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from rumormill.bcos.sdk.challenges.dialect import (
    name_asked_for,
    number_of_nonce,
    read_answer,
    read_question,
    write_answer,
    write_question,
)
from rumormill.bcos.sdk.topic_keys import TopicPrivateKey, TopicPublicKey, signed_by_any
from rumormill.bcos.wire.topic_body import decode_body, encode_body
from rumormill.core.errors import RemoteProtocolError

_LENGTH_SIZE: Final = 2
_HALF: Final = 32


class Sha1Dialect:
    """See :class:`~rumormill.bcos.sdk.challenges.dialect.Dialect`."""

    __slots__ = ()
    name: Final = "sha1"

    def challenge(self, nonce: bytes, topic: str) -> bytes:
        """``{"randValue":"<hex>","topic":"#!$TopicNeedVerify_hello"}`` behind the topic."""
        return _framed(topic, write_question(number_of_nonce(nonce), name_asked_for(topic)))

    def proves(self, challenge: bytes, proof: bytes, public_keys: Sequence[TopicPublicKey]) -> bool:
        """``{"signature":"<base64>"}`` behind a topic, one of the keys'."""
        try:
            signature = _from_der(read_answer(_unframed(proof)[1]))
            return signed_by_any(public_keys, _digest(challenge), signature)
        except RemoteProtocolError:
            return False

    def prove(self, challenge: bytes, private_key: TopicPrivateKey) -> bytes:
        """``{"signature":"<base64>"}`` behind the topic of the challenge."""
        signature = _to_der(private_key.sign(_digest(challenge)))
        return _framed(_unframed(challenge)[0], write_answer(signature))

    def recognises(self, challenge: bytes) -> bool:
        """An object with hex digits behind a topic."""
        try:
            return bool(read_question(_unframed(challenge)[1]))
        except RemoteProtocolError:
            return False


def _digest(challenge: bytes) -> bytes:
    digits = read_question(_unframed(challenge)[1])
    return hashlib.sha1(digits, usedforsecurity=False).digest()


def _framed(topic: str, text: bytes) -> bytes:
    return encode_body(topic, len(text).to_bytes(_LENGTH_SIZE, "big") + text)


def _unframed(payload: bytes) -> tuple[str, bytes]:
    topic, rest = decode_body(payload)
    if not topic:  # it can be read, but the answer could not be written
        raise RemoteProtocolError("bad_challenge", "it is behind no topic")
    text = rest[_LENGTH_SIZE:]
    if len(rest) < _LENGTH_SIZE or int.from_bytes(rest[:_LENGTH_SIZE], "big") != len(text):
        raise RemoteProtocolError("bad_challenge", f"the length is not that of {len(text)} bytes")
    return topic, text


def _to_der(signature: bytes) -> bytes:
    r, s = signature[:_HALF], signature[_HALF : 2 * _HALF]
    return encode_dss_signature(int.from_bytes(r, "big"), int.from_bytes(s, "big"))


def _from_der(der: bytes) -> bytes:
    try:
        r, s = decode_dss_signature(der)
        return r.to_bytes(_HALF, "big") + s.to_bytes(_HALF, "big")
    except (ValueError, OverflowError):  # no DER, or a number that is negative or too large
        raise RemoteProtocolError("bad_proof", "the signature is not in DER") from None
