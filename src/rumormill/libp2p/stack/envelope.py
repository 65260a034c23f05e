"""Signed envelopes: bytes of some type with a key and its signature (libp2p RFC 0002).

The signature covers a domain, too, which is not sent: what was signed for one purpose proves
nothing for another.
"""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.errors import RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, bytes_field, encode_varint, fields
from rumormill.libp2p.stack.keys import PrivateKey, PublicKey
from rumormill.libp2p.stack.peer_id import peer_id_of

LARGEST_ENVELOPE = 8192
"""Bytes. go takes no identify message beyond this, and an envelope is a part of one."""

_KEY, _TYPE, _PAYLOAD, _SIGNATURE = 1, 2, 3, 5


class Envelope(NamedTuple):
    """An envelope as it came. Nothing of it is proven before :func:`verify`.

    >>> key = PrivateKey.from_seed(bytes(32))
    >>> envelope = decode_envelope(seal(key, "example", b"type", b"payload"))
    >>> envelope.signer == key.peer_id, verify(envelope, "example"), verify(envelope, "other")
    (True, True, False)
    """

    key: bytes
    """The public key as a protobuf, not looked into yet."""
    payload_type: bytes
    payload: bytes
    signature: bytes

    @property
    def signer(self) -> bytes:
        """The peer id that belongs to the key."""
        return peer_id_of(self.key)


def seal(key: PrivateKey, domain: str, payload_type: bytes, payload: bytes) -> bytes:
    """An envelope of ours, as it is sent."""
    return encode_envelope(
        Envelope(
            key.public_key.to_protobuf(),
            payload_type,
            payload,
            key.sign(signing_input(domain, payload_type, payload)),
        )
    )


def encode_envelope(envelope: Envelope) -> bytes:
    """The envelope as it is sent, in the order in which every encoder writes it."""
    return (
        bytes_field(_KEY, envelope.key)
        + bytes_field(_TYPE, envelope.payload_type)
        + bytes_field(_PAYLOAD, envelope.payload)
        + bytes_field(_SIGNATURE, envelope.signature)
    )


def decode_envelope(raw: bytes) -> Envelope:
    """Read an envelope, without a look at its key or signature, which are dear to check.

    :class:`RemoteProtocolError` with the reason ``bad_envelope`` for what is none.
    """
    if len(raw) > LARGEST_ENVELOPE:
        raise RemoteProtocolError("bad_envelope", f"{len(raw)} bytes, {LARGEST_ENVELOPE} allowed")
    found: dict[int, bytes] = {}
    try:
        for number, kind, start, end in fields(raw, 0, len(raw)):
            if kind == LENGTH_DELIMITED:
                found[number] = raw[start:end]
    except RemoteProtocolError as error:
        raise RemoteProtocolError("bad_envelope", error.detail) from None
    missing = [each for each in (_KEY, _TYPE, _PAYLOAD, _SIGNATURE) if each not in found]
    if missing:
        raise RemoteProtocolError("bad_envelope", f"there is no field {missing[0]}")
    return Envelope(found[_KEY], found[_TYPE], found[_PAYLOAD], found[_SIGNATURE])


def verify(envelope: Envelope, domain: str) -> bool:
    """Whether the key in the envelope signed it for this domain. Never raises."""
    try:
        key = PublicKey.from_protobuf(envelope.key)
    except RemoteProtocolError:
        return False
    covered = signing_input(domain, envelope.payload_type, envelope.payload)
    return key.verify(envelope.signature, covered)


def signing_input(domain: str, payload_type: bytes, payload: bytes) -> bytes:
    """What a signature covers: each part behind its length, so that no two are taken for others.

    >>> signing_input("ab", b"c", b"").hex()
    '026162016300'
    """
    parts = (domain.encode("utf-8"), payload_type, payload)
    return b"".join(encode_varint(len(part)) + part for part in parts)
