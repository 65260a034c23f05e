"""Keys that publish: Ed25519, from a seed or in the expanded form that libtorrent keeps."""

from __future__ import annotations

from hashlib import sha512
from random import Random

from nacl.bindings import (
    crypto_core_ed25519_scalar_add,
    crypto_core_ed25519_scalar_mul,
    crypto_core_ed25519_scalar_reduce,
    crypto_scalarmult_ed25519_base_noclamp,
    crypto_sign_seed_keypair,
)

from rumormill.bep50.wire.items import KEY_SIZE, Item, signed_bytes
from rumormill.core import ed25519
from rumormill.core.errors import LocalProtocolError


class ItemKey:
    """A secret key with its public key.

    >>> key = ItemKey.from_seed(bytes(32))
    >>> key.public_key.hex()[:16], key.item(b"", 1, b"5:hello").seq
    ('3b6a27bcceb6a42d', 1)
    """

    __slots__ = ("_secret", "public_key", "seed")

    def __init__(self, public_key: bytes, secret: bytes, seed: bytes | None) -> None:
        self.public_key = public_key
        self.seed = seed
        """What the key was made of; None if only its expanded form is known."""
        self._secret = secret

    @classmethod
    def from_seed(cls, seed: bytes) -> ItemKey:
        """The key of a seed of 32 bytes; one with the public key behind it is taken, too."""
        if len(seed) in (KEY_SIZE, 2 * KEY_SIZE):
            public_key, secret = crypto_sign_seed_keypair(seed[:KEY_SIZE])
            if secret.startswith(seed):
                return cls(public_key, secret, seed[:KEY_SIZE])
        raise LocalProtocolError(
            "the secret key must be a seed of 32 bytes, or the seed and its public key"
        )

    @classmethod
    def from_expanded(cls, secret: bytes) -> ItemKey:
        """The key of libtorrent's secret of 64 bytes: the SHA-512 of the seed, clamped."""
        if len(secret) != 64 or secret[0] & 7 or secret[31] & 0xC0 != 0x40:
            raise LocalProtocolError(
                "the secret key is not of the expanded form: 64 bytes, the first 32 clamped"
            )
        return cls(crypto_scalarmult_ed25519_base_noclamp(secret[:KEY_SIZE]), secret, None)

    @classmethod
    def generate(cls, random: Random) -> ItemKey:
        """A new key. Outside of tests ``random`` is a ``random.SystemRandom``."""
        return cls.from_seed(random.randbytes(KEY_SIZE))

    def sign(self, payload: bytes) -> bytes:
        """The signature over ``payload``, the same each time."""
        if self.seed is not None:
            return ed25519.sign(self._secret, payload)
        return _sign_expanded(self._secret, self.public_key, payload)

    def item(self, salt: bytes, seq: int, value: bytes) -> Item:
        """The signed item; ``value`` is bencoded."""
        signature = self.sign(signed_bytes(salt, seq, value))
        return Item(self.public_key, salt, seq, value, signature)

    def __repr__(self) -> str:
        return f"ItemKey({self.public_key.hex()})"  # never the secret: this ends up in logs


def _sign_expanded(secret: bytes, public_key: bytes, payload: bytes) -> bytes:
    """Ed25519 (RFC 8032, 5.1.6) from the step on at which the seed is no longer needed."""
    scalar, prefix = secret[:KEY_SIZE], secret[KEY_SIZE:]
    nonce = _reduced_hash(prefix + payload)
    point = crypto_scalarmult_ed25519_base_noclamp(nonce)
    challenge = _reduced_hash(point + public_key + payload)
    product = crypto_core_ed25519_scalar_mul(challenge, scalar)
    return point + crypto_core_ed25519_scalar_add(product, nonce)


def _reduced_hash(payload: bytes) -> bytes:
    return crypto_core_ed25519_scalar_reduce(sha512(payload).digest())
