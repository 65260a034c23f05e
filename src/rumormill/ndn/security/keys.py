"""Keys of others, by which signatures are verified.

A key of Ed25519, ECDSA or RSA is known by its SubjectPublicKeyInfo (DER), as certificates have it.
As text it is one line, the kind, the name and these bytes in base64:

    ndn-ed25519 /alice/KEY/5d2a MCowBQYDK2VwAyEAO2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik=

A shared secret is verified by whoever has it and is no public key; it has no text of this kind.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from abc import ABC, abstractmethod
from hashlib import sha256
from typing import ClassVar, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_der_public_key,
    load_pem_public_key,
)

from rumormill.core import ed25519
from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.security.key_names import key_named_by
from rumormill.ndn.wire.name import Name, name_from_uri, name_to_uri
from rumormill.ndn.wire.signature import SignatureType

CURVES: Final = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
RSA_BITS: Final = range(2048, 4097)
LARGEST_KEY: Final = 4096
"""Bytes of a public key, or of its text."""
SHORTEST_SECRET: Final = 16
"""Bytes of a shared secret: fewer can be guessed."""

_TYPE: Final = "ndn-"
_SHA256: Final = SHA256()
_ECDSA: Final = ec.ECDSA(_SHA256)
_PKCS1: Final = padding.PKCS1v15()


class PublicKey(ABC):
    """A key that verifies; nothing of it changes, so any thread may use it."""

    __slots__ = ("digest", "name", "spki")

    kind: ClassVar[str]
    """``ed25519``, ``ecdsa``, ``rsa`` or ``hmac``."""
    signature_type: ClassVar[int]
    """One of :class:`~rumormill.ndn.wire.signature.SignatureType`."""
    cost: ClassVar[float]
    """What a signature takes to be verified, in microseconds, roughly."""

    def __init__(self, name: Name, spki: bytes) -> None:
        if not name:
            raise LocalProtocolError("a key must have a name, such as /alice/KEY/1")
        self.name = key_named_by(name)
        """``/<identity>/KEY/<id>``."""
        self.spki = spki
        """SubjectPublicKeyInfo in DER; empty for a shared secret."""
        self.digest = sha256(spki).digest() if spki else b""
        """What a key locator may have in place of a name."""

    @abstractmethod
    def verify(self, covered: bytes, value: bytes) -> bool:
        """Whether ``value`` is this key's signature of ``covered``."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PublicKey):
            return NotImplemented
        return (self.kind, self.name, self.spki) == (other.kind, other.name, other.spki)

    def __hash__(self) -> int:
        return hash((self.kind, self.name, self.spki))

    @property
    def uri(self) -> str:
        """The name, to be read."""
        return name_to_uri(self.name)

    @property
    def text(self) -> str:
        """The key in one line; see :func:`public_key_from_text`."""
        if not self.spki:
            raise LocalProtocolError(f"{self.uri} is a shared secret: it has no public part")
        return f"{_TYPE}{self.kind} {self.uri} {base64.b64encode(self.spki).decode('ascii')}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.uri})"


class Ed25519Key(PublicKey):
    """The public part of an Ed25519 key; 32 bytes."""

    __slots__ = ("point",)
    kind = "ed25519"
    signature_type = SignatureType.ED25519
    cost = 60.0

    def __init__(self, name: Name, point: bytes) -> None:
        super().__init__(name, _spki(_ed25519(point)))
        self.point = point

    def verify(self, covered: bytes, value: bytes) -> bool:
        """See :class:`PublicKey`."""
        return ed25519.verify(self.point, value, covered)


class EcdsaKey(PublicKey):
    """The public part of an ECDSA key, on P-256 as a rule; signatures are in DER."""

    __slots__ = ("_key",)
    kind = "ecdsa"
    signature_type = SignatureType.ECDSA
    cost = 80.0

    def __init__(self, name: Name, key: ec.EllipticCurvePublicKey) -> None:
        if not isinstance(key.curve, CURVES):
            problem = f"it is a key on {key.curve.name}; those on P-256, P-384 and P-521 are known"
            raise LocalProtocolError(problem)
        super().__init__(name, _spki(key))
        self._key = key

    def verify(self, covered: bytes, value: bytes) -> bool:
        """See :class:`PublicKey`."""
        try:
            self._key.verify(value, covered, _ECDSA)
        except InvalidSignature:
            return False
        return True


class RsaKey(PublicKey):
    """The public part of an RSA key; signatures are PKCS #1 v1.5."""

    __slots__ = ("_key",)
    kind = "rsa"
    signature_type = SignatureType.RSA
    cost = 50.0

    def __init__(self, name: Name, key: rsa.RSAPublicKey) -> None:
        if key.key_size not in RSA_BITS:
            problem = f"it is an RSA key of {key.key_size} bits; 2048 to 4096 are accepted"
            raise LocalProtocolError(problem)
        super().__init__(name, _spki(key))
        self._key = key

    def verify(self, covered: bytes, value: bytes) -> bool:
        """See :class:`PublicKey`."""
        try:
            self._key.verify(value, covered, _PKCS1, _SHA256)
        except InvalidSignature:
            return False
        return True


class HmacKey(PublicKey):
    """A shared secret."""

    __slots__ = ("_secret",)
    kind = "hmac"
    signature_type = SignatureType.HMAC
    cost = 3.0

    def __init__(self, name: Name, secret: bytes) -> None:
        if len(secret) < SHORTEST_SECRET:
            problem = f"a shared secret has {SHORTEST_SECRET} bytes at least, not {len(secret)}"
            raise LocalProtocolError(problem)
        super().__init__(name, b"")
        self._secret = secret

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HmacKey):
            return NotImplemented
        return self.name == other.name and hmac.compare_digest(self._secret, other._secret)

    __hash__ = PublicKey.__hash__

    def verify(self, covered: bytes, value: bytes) -> bool:
        """See :class:`PublicKey`."""
        return hmac.compare_digest(hmac.digest(self._secret, covered, "sha256"), value)


# ---- from bytes and text


def public_key(name: Name, spki: bytes) -> PublicKey:
    """The key of a SubjectPublicKeyInfo (DER); :class:`LocalProtocolError` says what is wrong."""
    if len(spki) > LARGEST_KEY:
        raise LocalProtocolError(f"a public key of {len(spki)} bytes is none")
    try:
        return _key_of(name, load_der_public_key(spki))
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise LocalProtocolError("the public key is damaged, or of an unknown kind") from None


def public_key_from_pem(name: Name, pem: bytes) -> PublicKey:
    """The key of a PEM, which has no name of its own."""
    try:
        return _key_of(name, load_pem_public_key(pem[: 4 * LARGEST_KEY]))
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise LocalProtocolError("no public key in PEM can be read from it") from None


def public_key_from_text(text: str) -> PublicKey:
    """The key of one line as :attr:`PublicKey.text` writes it.

    >>> key = public_key_from_text(Ed25519Key(name_from_uri("/a/KEY/1"), bytes(range(32))).text)
    >>> key.kind, key.uri
    ('ed25519', '/a/KEY/1')
    """
    words = text[: LARGEST_KEY + 1].split()
    if len(text) > LARGEST_KEY or len(words) != 3 or not words[0].startswith(_TYPE):
        raise LocalProtocolError("a public key is one line: ndn-KIND /NAME/KEY/ID BASE64")
    try:
        spki = base64.b64decode(words[2], validate=True)
    except (ValueError, binascii.Error):
        raise LocalProtocolError("the public key's last word is not base64") from None
    key = public_key(name_from_uri(words[1]), spki)
    if words[0] != _TYPE + key.kind:
        raise LocalProtocolError(f"the text says {words[0]}, and the key is {_TYPE}{key.kind}")
    return key


def _key_of(name: Name, key: object) -> PublicKey:
    if isinstance(key, Ed25519PublicKey):
        return Ed25519Key(name, key.public_bytes(Encoding.Raw, PublicFormat.Raw))
    if isinstance(key, ec.EllipticCurvePublicKey):
        return EcdsaKey(name, key)
    if isinstance(key, rsa.RSAPublicKey):
        return RsaKey(name, key)
    raise LocalProtocolError("it is a key of another kind than ed25519, ecdsa and rsa")


def _ed25519(point: bytes) -> Ed25519PublicKey:
    try:
        return Ed25519PublicKey.from_public_bytes(point)
    except ValueError:
        raise LocalProtocolError(f"an Ed25519 key has 32 bytes, not {len(point)}") from None


def _spki(key: Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey) -> bytes:
    return key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
