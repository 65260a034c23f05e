"""What signs Interests and Data: a plain digest, a shared secret, Ed25519 or ECDSA.

All of them satisfy :class:`rumormill.ndn.wire.signature.Signer`.
"""

from __future__ import annotations

import hmac
from hashlib import sha256
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from nacl.bindings import crypto_sign_seed_keypair

from rumormill.core import ed25519
from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.wire.name import Name
from rumormill.ndn.wire.signature import SignatureType

SEED_SIZE: Final = 32
"""Bytes of the secret that an Ed25519 key is made of."""


class DigestSigner:
    """No key at all: the SHA-256 of the packet, which shows damage and nothing else.

    >>> DigestSigner().sign(b"").hex()[:16]
    'e3b0c44298fc1c14'
    """

    __slots__ = ("key_name", "type")

    def __init__(self) -> None:
        self.type: int = SignatureType.DIGEST
        self.key_name: Name | None = None

    def sign(self, covered: bytes) -> bytes:
        """The digest of what is covered."""
        return sha256(covered).digest()

    def __repr__(self) -> str:
        return "DigestSigner()"


class HmacSigner:
    """A secret that all who read and write share: whoever can verify can sign."""

    __slots__ = ("_key", "key_name", "type")

    def __init__(self, key: bytes, key_name: Name) -> None:
        self.type: int = SignatureType.HMAC
        self.key_name: Name | None = key_name
        self._key = key

    def sign(self, covered: bytes) -> bytes:
        """HMAC-SHA256 of what is covered."""
        return hmac.digest(self._key, covered, "sha256")

    def __repr__(self) -> str:
        return "HmacSigner(...)"  # never the secret: this ends up in logs


class Ed25519Signer:
    """An Ed25519 key: 64 bytes, the same each time."""

    __slots__ = ("_secret", "key_name", "public_key", "type")

    def __init__(self, seed: bytes, key_name: Name) -> None:
        if len(seed) != SEED_SIZE:
            problem = f"an Ed25519 key has a secret of {SEED_SIZE} bytes, not {len(seed)}"
            raise LocalProtocolError(problem)
        self.type: int = SignatureType.ED25519
        self.key_name: Name | None = key_name
        self.public_key, self._secret = crypto_sign_seed_keypair(seed)

    def sign(self, covered: bytes) -> bytes:
        """The signature of what is covered."""
        return ed25519.sign(self._secret, covered)

    def __repr__(self) -> str:
        return f"Ed25519Signer({self.public_key.hex()})"


def _deterministic() -> ec.ECDSA:
    """As RFC 6979 has it, where OpenSSL can: a packet that is sent again keeps its name then."""
    try:
        return ec.ECDSA(SHA256(), deterministic_signing=True)
    except UnsupportedAlgorithm:
        return ec.ECDSA(SHA256())


class EcdsaSigner:
    """An ECDSA key with SHA-256: a signature in DER, the same each time where OpenSSL can do so."""

    __slots__ = ("_algorithm", "_key", "key_name", "type")

    def __init__(self, key: ec.EllipticCurvePrivateKey, key_name: Name) -> None:
        self.type: int = SignatureType.ECDSA
        self.key_name: Name | None = key_name
        self._key = key
        self._algorithm = _deterministic()

    def sign(self, covered: bytes) -> bytes:
        """The signature of what is covered."""
        return self._key.sign(covered, self._algorithm)

    def __repr__(self) -> str:
        return f"EcdsaSigner({self._key.curve.name})"
