"""Keys: what signs and what checks.

Our own key is Ed25519. Of others we check all four kinds that libp2p knows. A public key travels as
a protobuf of two fields whose one valid encoding is hashed into the peer id, so any other encoding
of the same key is refused: otherwise one key would have several names.
"""

from __future__ import annotations

import enum
import functools
import random
from collections.abc import Callable
from typing import Any, TypeAlias

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
)
from nacl.bindings import (
    crypto_box_seal_open,
    crypto_sign_ed25519_pk_to_curve25519,
    crypto_sign_ed25519_sk_to_curve25519,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import CryptoError

from rumormill.core import ed25519
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError
from rumormill.core.protobuf import LENGTH_DELIMITED, VARINT, bytes_field, fields, varint_field
from rumormill.libp2p.stack.peer_id import (
    LONGEST_PEER_ID,
    check_peer_id,
    peer_id_of,
    to_text,
)

LARGEST_KEY = 2048
"""Bytes of a public key's protobuf: an RSA key of 8192 bits has 1066."""

SMALLEST_RSA, LARGEST_RSA = 2048, 8192
LARGEST_RSA_EXPONENT = (1 << 31) - 1
"""As Go has it. A longer exponent makes one check cost as much as a signature."""

KNOWN_KEYS = 2048
"""Keys of authors that are kept decoded, the last used ones."""

SIGNATURE_SIZE = ed25519.SIGNATURE_SIZE
"""Of Ed25519; the others vary."""

_SHA256 = hashes.SHA256()
_ECDSA = ec.ECDSA(_SHA256)
_PKCS1V15 = padding.PKCS1v15()
_CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)

_Check: TypeAlias = Callable[[bytes, bytes], object]
"""Takes a signature and what it should cover; raises, or returns False, if it does not."""


class KeyType(enum.IntEnum):
    """The kinds of keys, with their numbers on the wire."""

    RSA = 0
    ED25519 = 1
    SECP256K1 = 2
    ECDSA = 3


class PublicKey:
    """A peer's public key, decoded once; :class:`RemoteProtocolError` if it is not one.

    >>> key = PrivateKey.from_seed(bytes(32)).public_key
    >>> key.verify(b"not a signature", b"payload")
    False
    """

    __slots__ = ("_check", "_peer", "_protobuf", "data", "peer_id", "type")

    def __init__(self, type: KeyType, data: bytes) -> None:
        self.type = type
        self.data = data
        self._check = _decode(type, data)
        self._protobuf = varint_field(1, type) + bytes_field(2, data)
        self.peer_id = peer_id_of(self._protobuf)
        self._peer = ""

    @classmethod
    def from_protobuf(cls, raw: bytes) -> PublicKey:
        """The key that a peer sent."""
        key = cls(*_read_protobuf(raw))
        if key._protobuf != raw:
            raise RemoteProtocolError("bad_key", "not in the one encoding that a key has")
        return key

    def to_protobuf(self) -> bytes:
        """The key as it is sent, and hashed into the peer id."""
        return self._protobuf

    @property
    def peer(self) -> str:
        """The peer id as text."""
        if not self._peer:
            self._peer = to_text(self.peer_id)
        return self._peer

    def verify(self, signature: bytes, payload: bytes) -> bool:
        """Whether ``signature`` is this key's over ``payload``. Never raises."""
        try:
            return self._check(signature, payload) is not False
        except Exception:
            # The libraries have a dozen ways to say no, and a thirteenth must not end the node.
            return False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PublicKey):
            return NotImplemented
        return self._protobuf == other._protobuf

    def __hash__(self) -> int:
        return hash(self._protobuf)

    def __repr__(self) -> str:
        return f"PublicKey({self.type.name}, {self.peer})"


def _read_protobuf(raw: bytes) -> tuple[KeyType, bytes]:
    """Kind and data of a key's protobuf."""
    if len(raw) > LARGEST_KEY:
        raise RemoteProtocolError("bad_key", f"{len(raw)} bytes, {LARGEST_KEY} allowed")
    kind = data = None
    try:
        for number, wire_type, start, end in fields(raw, 0, len(raw)):
            if number == 1 and wire_type == VARINT:
                kind = KeyType(start)
            elif number == 2 and wire_type == LENGTH_DELIMITED:
                data = raw[start:end]
    except (RemoteProtocolError, ValueError) as error:
        raise RemoteProtocolError("bad_key", str(error)) from None
    if kind is None or data is None:
        raise RemoteProtocolError("bad_key", "a key without type or without data")
    return kind, data


def _decode(kind: KeyType, data: bytes) -> _Check:
    """What checks signatures of this key; everything that can be wrong with a key shows here."""
    try:
        return _DECODERS[kind](data)
    except Exception as error:
        # As in verify: what the libraries raise for a hostile key is not a closed list.
        raise RemoteProtocolError("bad_key", f"{kind.name}: {error}") from None


def _ed25519(data: bytes) -> _Check:
    if len(data) != 32:
        raise ValueError(f"{len(data)} bytes instead of 32")
    return functools.partial(ed25519.verify, data)


def _secp256k1(data: bytes) -> _Check:
    if len(data) != 33:
        raise ValueError(f"{len(data)} bytes instead of 33")
    verify = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256K1(), data).verify
    return lambda signature, payload: verify(signature, payload, _ECDSA)


def _ecdsa(data: bytes) -> _Check:
    key = _public_key_info(data)
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, _CURVES):
        raise ValueError("not a key on P-256, P-384 or P-521")
    verify = key.verify
    return lambda signature, payload: verify(signature, payload, _ECDSA)


def _rsa(data: bytes) -> _Check:
    key = _public_key_info(data)
    if not isinstance(key, rsa.RSAPublicKey):
        raise ValueError("not an RSA key")
    if not SMALLEST_RSA <= key.key_size <= LARGEST_RSA:
        raise ValueError(f"{key.key_size} bits, {SMALLEST_RSA} to {LARGEST_RSA} are allowed")
    if key.public_numbers().e > LARGEST_RSA_EXPONENT:
        raise ValueError("its exponent is too large")
    verify = key.verify
    return lambda signature, payload: verify(signature, payload, _PKCS1V15, _SHA256)


def _public_key_info(data: bytes) -> Any:
    """A key from its DER SubjectPublicKeyInfo, if that is the DER we would write ourselves."""
    key = load_der_public_key(data)
    if key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo) != data:
        raise ValueError("not in DER as it should be")
    return key


_DECODERS: dict[KeyType, Callable[[bytes], _Check]] = {
    KeyType.RSA: _rsa,
    KeyType.ED25519: _ed25519,
    KeyType.SECP256K1: _secp256k1,
    KeyType.ECDSA: _ecdsa,
}


class PrivateKey:
    """Our own key: Ed25519.

    >>> key = PrivateKey.from_seed(bytes(32))
    >>> key.peer
    '12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN'
    >>> key.public_key.verify(key.sign(b"payload"), b"payload")
    True
    """

    __slots__ = ("_secret", "public_key")

    def __init__(self, secret: bytes) -> None:
        """``secret`` is the seed and, behind it, the public key: the form that is stored."""
        if len(secret) != 64:
            raise LocalProtocolError(f"not a private key: {len(secret)} bytes instead of 64")
        public, expected = crypto_sign_seed_keypair(secret[:32])
        if secret != expected:
            raise LocalProtocolError("not a private key: its two halves do not belong together")
        self._secret = secret
        self.public_key = PublicKey(KeyType.ED25519, public)

    @classmethod
    def generate(cls, entropy: random.Random) -> PrivateKey:
        """A new key; ``entropy`` is a :class:`random.SystemRandom` wherever it matters."""
        return cls.from_seed(entropy.randbytes(32))

    @classmethod
    def from_seed(cls, seed: bytes) -> PrivateKey:
        """The key that grows from 32 bytes."""
        if len(seed) != 32:
            raise LocalProtocolError(f"the seed of a key has 32 bytes, not {len(seed)}")
        return cls(crypto_sign_seed_keypair(seed)[1])

    @classmethod
    def from_protobuf(cls, raw: bytes) -> PrivateKey:
        """A key as libp2p programs store it; :class:`LocalProtocolError` if it is not one."""
        try:
            kind, data = _read_protobuf(raw)
        except RemoteProtocolError as error:
            raise LocalProtocolError(f"not a private key: {error.detail}") from None
        if kind is not KeyType.ED25519:
            raise LocalProtocolError(f"a private key must be ED25519, this one is {kind.name}")
        if len(data) == 96 and data[64:] == data[32:64]:
            data = data[:64]  # old programs stored the public half twice
        return cls(data)

    def to_protobuf(self) -> bytes:
        """The key as libp2p programs store it. Whoever has these bytes is this peer."""
        return varint_field(1, KeyType.ED25519) + bytes_field(2, self._secret)

    def sign(self, payload: bytes) -> bytes:
        """The signature over ``payload``: 64 bytes."""
        return ed25519.sign(self._secret, payload)

    def unseal(self, sealed: bytes) -> bytes | None:
        """What somebody sealed to this key (libsodium's sealed box); None if it was not to us."""
        secret = crypto_sign_ed25519_sk_to_curve25519(self._secret)
        public = crypto_sign_ed25519_pk_to_curve25519(self.public_key.data)
        try:
            return crypto_box_seal_open(sealed, public, secret)
        except (CryptoError, ValueError, TypeError):
            return None

    @property
    def peer_id(self) -> bytes:
        """The peer id that others know us by."""
        return self.public_key.peer_id

    @property
    def peer(self) -> str:
        """The peer id as text."""
        return self.public_key.peer

    def __repr__(self) -> str:
        """Without the secret: this ends up in logs."""
        return f"PrivateKey({self.peer})"


def inline_public_key(raw: bytes) -> PublicKey | None:
    """The key that stands in a peer id, or None if the peer id is a hash of it.

    Raises :class:`RemoteProtocolError` if ``raw`` is no peer id or what stands in it is no key.

    >>> key = PrivateKey.from_seed(bytes(32)).public_key
    >>> inline_public_key(key.peer_id) == key
    True
    """
    if check_peer_id(raw)[0] != 0:
        return None
    return PublicKey.from_protobuf(raw[2:])


def sender_public_key(sender_id: bytes, key: bytes | None = None) -> PublicKey | None:
    """The key of a message's author, decoded and kept; ``key`` is what the message had as such.

    None if there is no right one. A key that was sent must be the one that the peer id was made
    from; it may be left out only where the peer id holds it, even if we have met it before: what
    is valid must not depend on what a node happens to remember.

    >>> author = PrivateKey.from_seed(bytes(32)).public_key
    >>> sender_public_key(author.peer_id) is sender_public_key(author.peer_id)
    True
    """
    # Before the cache: it would keep a megabyte that somebody calls a key.
    if len(sender_id) > LONGEST_PEER_ID or (key is not None and len(key) > LARGEST_KEY):
        return None
    return _known_key(sender_id, key)


@functools.lru_cache(KNOWN_KEYS)
def _known_key(sender_id: bytes, key: bytes | None) -> PublicKey | None:
    try:
        if key is None:
            return inline_public_key(sender_id)
        public_key = PublicKey.from_protobuf(key)
    except RemoteProtocolError:
        return None
    return public_key if public_key.peer_id == sender_id else None
