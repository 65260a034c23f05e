"""Ed25519 that accepts what libsodium accepts, with the GIL released."""

from typing import Final

BACKEND: Final[str]
"""What the build asked for, ``avx512`` or ``default``; the processor decides what is used."""

def verify(public_key: bytes, signature: bytes, payload: bytes, /) -> bool:
    """Whether the signature is this key's over the payload. What has a wrong length is not."""

def sign(secret: bytes, payload: bytes, /) -> bytes:
    """The signature over the payload, 64 bytes; the secret is the seed and the public key behind.

    Raises :class:`ValueError` if it is not.
    """
