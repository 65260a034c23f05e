"""Ed25519 signatures, by libsodium or, where it is installed, by the faster ``rumormill-native``.

Both take and refuse the same signatures, byte for byte, and sign alike: which of the two is at work
changes what a message costs and nothing else.
"""

from __future__ import annotations

from nacl.bindings import crypto_sign, crypto_sign_open
from nacl.exceptions import BadSignatureError

try:
    import rumormill_native

    _installed = True
except ImportError:
    _installed = False

SIGNATURE_SIZE = 64
"""Bytes of a signature."""

_native = _installed


def native_in_use() -> bool:
    """Whether ``rumormill-native`` is at work."""
    return _native


def use_native(wanted: bool) -> bool:
    """Use ``rumormill-native`` if it is installed, or do without; returns whether it is used now.

    This holds for the whole process, from the next signature on. It is there for tests and
    measurements: left alone, what is installed is used.

    >>> use_native(False)
    False
    >>> use_native(True) == native_in_use()
    True
    """
    global _native
    _native = wanted and _installed
    return _native


def sign(secret: bytes, payload: bytes) -> bytes:
    """The signature over ``payload``; ``secret`` is the seed and, behind it, the public key."""
    if _native:
        return rumormill_native.sign(secret, payload)
    return crypto_sign(payload, secret)[:SIGNATURE_SIZE]


def verify(public_key: bytes, signature: bytes, payload: bytes) -> bool:
    """Whether ``signature`` is that key's over ``payload``; ``public_key`` has 32 bytes."""
    if _native:
        return rumormill_native.verify(public_key, signature, payload)
    # libsodium takes both in one piece: a shorter signature would borrow from the payload.
    if len(signature) != SIGNATURE_SIZE:
        return False
    try:
        crypto_sign_open(signature + payload, public_key)
    except BadSignatureError:
        return False
    return True
