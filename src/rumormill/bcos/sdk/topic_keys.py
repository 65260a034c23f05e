"""Keys of private topics: who has the private one may listen, who publishes has the public one.

They are on secp256k1 and come as PEM, as OpenSSL and the scripts around FISCO BCOS write them:
PKCS8 or SEC1 for a private key, SubjectPublicKeyInfo for a public one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from coincurve import PrivateKey, PublicKey
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from rumormill.core.errors import LocalProtocolError

DIGEST_SIZE: Final = 32
SIGNATURE_SIZE: Final = 64
"""Bytes of r and s."""

LARGEST_PEM: Final = 16 * 1024

_LABEL: Final = re.compile(rb"-----BEGIN ([A-Z0-9 ]{1,40})-----")
_SM2: Final = "1.2.156.10197.1.301"


class TopicPublicKey:
    """Known to publishers; see :func:`signed_by_any`."""

    __slots__ = ("_key", "point")

    def __init__(self, point: bytes) -> None:
        """Of a point on the curve, compressed or not."""
        try:
            self._key = PublicKey(point)
        except ValueError:
            raise LocalProtocolError("these bytes are no public key on secp256k1") from None
        self.point = self._key.format(compressed=False)
        """65 bytes, not compressed."""

    @classmethod
    def from_pem(cls, pem: bytes) -> TopicPublicKey:
        """Read a public key; :class:`LocalProtocolError` says what is wrong with it."""
        _check_label(pem, "public")
        try:
            key = load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm) as error:
            raise _unreadable("public", error) from None
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise LocalProtocolError("it is a key of another kind, not one on secp256k1")
        _check_curve(key.curve)
        return cls(key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TopicPublicKey) and self.point == other.point

    def __hash__(self) -> int:
        return hash(self.point)

    def __repr__(self) -> str:
        return f"TopicPublicKey({self.point[1:].hex()[:16]}...)"


class TopicPrivateKey:
    """Signs, always the same for the same digest."""

    __slots__ = ("_key", "public_key")

    def __init__(self, secret: bytes) -> None:
        """Of the 32 bytes of a number."""
        if len(secret) != DIGEST_SIZE:
            raise LocalProtocolError(f"a private key has {DIGEST_SIZE} bytes, not {len(secret)}")
        try:
            self._key = PrivateKey(secret)
        except ValueError:
            raise LocalProtocolError("these bytes are no private key on secp256k1") from None
        self.public_key = TopicPublicKey(self._key.public_key.format())

    @classmethod
    def from_pem(cls, pem: bytes) -> TopicPrivateKey:
        """Read a private key; :class:`LocalProtocolError` says what is wrong with it."""
        _check_label(pem, "private")
        try:
            key = load_pem_private_key(pem, password=None)
        except TypeError:
            raise LocalProtocolError("it is encrypted; give a key without a password") from None
        except (ValueError, UnsupportedAlgorithm) as error:
            raise _unreadable("private", error) from None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise LocalProtocolError("it is a key of another kind, not one on secp256k1")
        _check_curve(key.curve)
        return cls(key.private_numbers().private_value.to_bytes(DIGEST_SIZE, "big"))

    def sign(self, digest: bytes) -> bytes:
        """A signature as r, s (32 bytes each, low s) and v (one byte, 0 or 1)."""
        return self._key.sign_recoverable(_padded(digest), hasher=None)

    def __repr__(self) -> str:
        return f"TopicPrivateKey(of {self.public_key})"


def signed_by_any(public_keys: Sequence[TopicPublicKey], digest: bytes, signature: bytes) -> bool:
    """Whether ``signature`` (r and s, 32 bytes each) is one of ``digest`` by one of the keys.

    A digest of fewer than 32 bytes is the number that it is. Of the two forms that every signature
    has (low and high s), both are good: SDKs on OpenSSL or Java choose neither. There are only two
    keys that it can be by, so that it costs the same however many there are to choose from.
    """
    return any(signer in public_keys for signer in _signers(digest, signature))


def _signers(digest: bytes, signature: bytes) -> Iterator[TopicPublicKey]:
    for v in (b"\0", b"\1"):
        try:
            key = PublicKey.from_signature_and_message(signature + v, _padded(digest), hasher=None)
        except ValueError:  # another length, or numbers that are none of this curve
            continue
        yield TopicPublicKey(key.format())


def _padded(digest: bytes) -> bytes:
    return digest.rjust(DIGEST_SIZE, b"\0")


# ---- what is wrong with a PEM


def _check_label(pem: bytes, wanted: str) -> None:
    """That the first line says what it is to be: the libraries' own words for this say little."""
    if len(pem) > LARGEST_PEM:
        raise LocalProtocolError(f"it has {len(pem)} bytes; a key in PEM is much shorter")
    labels = [label.decode() for label in _LABEL.findall(pem)]
    if not labels:
        raise LocalProtocolError("it is not PEM: no line of it begins with -----BEGIN")
    if any(label.endswith(f"{wanted.upper()} KEY") for label in labels):
        return
    other = "private" if wanted == "public" else "public"
    if any(label.endswith(f"{other.upper()} KEY") for label in labels):
        raise LocalProtocolError(f"it is a {other} key; a {wanted} one is needed here")
    raise LocalProtocolError(f"its first line says {labels[0]}; a {wanted} key is needed here")


def _unreadable(wanted: str, error: Exception) -> LocalProtocolError:
    if _SM2 in str(error):
        return LocalProtocolError("it is a key on the curve of SM2; only secp256k1 is supported")
    if isinstance(error, UnsupportedAlgorithm):
        return LocalProtocolError("it is on a curve that is not known; only secp256k1 is supported")
    return LocalProtocolError(f"it is damaged: no {wanted} key can be read from it")


def _check_curve(curve: ec.EllipticCurve) -> None:
    if not isinstance(curve, ec.SECP256K1):
        raise LocalProtocolError(f"it is a key on {curve.name}; only secp256k1 is supported")
