"""The XX pattern of the Noise specification, for one cipher suite and without libp2p.

``Noise_XX_25519_ChaChaPoly_SHA256``: both sides send their static key, encrypted, and end with two
keys that nobody else has. Whom a static key belongs to is proven one layer up.
"""

from __future__ import annotations

import hashlib
import hmac
import struct

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from rumormill.core.errors import RemoteProtocolError

PROTOCOL_NAME = b"Noise_XX_25519_ChaChaPoly_SHA256"
KEY_SIZE = 32
TAG_SIZE = 16

nonce_bytes = struct.Struct("<4xQ").pack
"""The nonce of the message with this number: four zero bytes, then the number."""


class SymmetricState:
    """The running hash and key of a handshake."""

    __slots__ = ("_chaining_key", "_cipher", "_message", "hash")

    def __init__(self, prologue: bytes = b"") -> None:
        # The name has exactly the 32 bytes of a hash, so it stands for itself.
        self.hash = PROTOCOL_NAME
        self._chaining_key = PROTOCOL_NAME
        self._cipher: ChaCha20Poly1305 | None = None
        self._message = 0
        self.mix_hash(prologue)

    def mix_hash(self, data: bytes) -> None:
        """Bind ``data`` to everything that follows."""
        self.hash = hashlib.sha256(self.hash + data).digest()

    def mix_key(self, secret: bytes) -> None:
        """Derive the next key from a shared secret."""
        self._chaining_key, key = _derive(self._chaining_key, secret)
        self._cipher = ChaCha20Poly1305(key)
        self._message = 0

    def encrypt_and_hash(self, plaintext: bytes) -> bytes:
        """Encrypt once there is a key; bind the result."""
        out = plaintext
        if self._cipher is not None:
            out = self._cipher.encrypt(nonce_bytes(self._message), plaintext, self.hash)
            self._message += 1
        self.mix_hash(out)
        return out

    def decrypt_and_hash(self, data: bytes) -> bytes:
        """The reverse of :meth:`encrypt_and_hash`; :class:`RemoteProtocolError` if altered."""
        plaintext = data
        if self._cipher is not None:
            try:
                plaintext = self._cipher.decrypt(nonce_bytes(self._message), data, self.hash)
            except InvalidTag:
                raise RemoteProtocolError(
                    "decryption_failed", "a handshake message was altered or cut"
                ) from None
            self._message += 1
        self.mix_hash(data)
        return plaintext

    def split(self) -> tuple[bytes, bytes]:
        """The two transport keys: of the initiator, and of the responder."""
        return _derive(self._chaining_key, b"")


def _derive(chaining_key: bytes, material: bytes) -> tuple[bytes, bytes]:
    """HKDF with two outputs."""
    secret = hmac.digest(chaining_key, material, "sha256")
    first = hmac.digest(secret, b"\x01", "sha256")
    return first, hmac.digest(secret, first + b"\x02", "sha256")


def _exchange(ours: X25519PrivateKey, theirs: bytes) -> bytes:
    try:
        return ours.exchange(X25519PublicKey.from_public_bytes(theirs))
    except ValueError:
        # A point of small order: the result would be all zero, whatever our key.
        raise RemoteProtocolError("bad_exchange_key", "a key exchange gave zero") from None


class XXHandshake:
    """The XX pattern: ``-> e``, ``<- e, ee, s, es``, ``-> s, se``.

    The initiator calls :meth:`write_first`, :meth:`read_second`, :meth:`write_third`; the responder
    the others. Afterwards ``symmetric.split()`` gives the keys.
    """

    __slots__ = ("_ephemeral", "_static", "_their_ephemeral", "symmetric", "their_static")

    def __init__(
        self, static: X25519PrivateKey, ephemeral: X25519PrivateKey, prologue: bytes = b""
    ) -> None:
        self._static = static
        self._ephemeral = ephemeral
        self._their_ephemeral = b""
        self.their_static = b""
        self.symmetric = SymmetricState(prologue)

    def write_first(self, payload: bytes = b"") -> bytes:
        """``-> e``."""
        ephemeral = self._ephemeral.public_key().public_bytes_raw()
        self.symmetric.mix_hash(ephemeral)
        return ephemeral + self.symmetric.encrypt_and_hash(payload)

    def read_first(self, message: bytes) -> bytes:
        """``-> e``, at the responder; returns the payload."""
        self._take_ephemeral(message)
        return self.symmetric.decrypt_and_hash(message[KEY_SIZE:])

    def write_second(self, payload: bytes) -> bytes:
        """``<- e, ee, s, es``."""
        symmetric = self.symmetric
        ephemeral = self._ephemeral.public_key().public_bytes_raw()
        symmetric.mix_hash(ephemeral)
        symmetric.mix_key(_exchange(self._ephemeral, self._their_ephemeral))
        static = symmetric.encrypt_and_hash(self._static.public_key().public_bytes_raw())
        symmetric.mix_key(_exchange(self._static, self._their_ephemeral))
        return ephemeral + static + symmetric.encrypt_and_hash(payload)

    def read_second(self, message: bytes) -> bytes:
        """``<- e, ee, s, es``, at the initiator; returns the payload."""
        self._take_ephemeral(message)
        self.symmetric.mix_key(_exchange(self._ephemeral, self._their_ephemeral))
        rest = self._take_static(message[KEY_SIZE:])
        self.symmetric.mix_key(_exchange(self._ephemeral, self.their_static))
        return self.symmetric.decrypt_and_hash(rest)

    def write_third(self, payload: bytes) -> bytes:
        """``-> s, se``."""
        static = self.symmetric.encrypt_and_hash(self._static.public_key().public_bytes_raw())
        self.symmetric.mix_key(_exchange(self._static, self._their_ephemeral))
        return static + self.symmetric.encrypt_and_hash(payload)

    def read_third(self, message: bytes) -> bytes:
        """``-> s, se``, at the responder; returns the payload."""
        rest = self._take_static(message)
        self.symmetric.mix_key(_exchange(self._ephemeral, self.their_static))
        return self.symmetric.decrypt_and_hash(rest)

    def _take_ephemeral(self, message: bytes) -> None:
        if len(message) < KEY_SIZE:
            raise RemoteProtocolError("handshake_too_short", f"{len(message)} bytes")
        self._their_ephemeral = message[:KEY_SIZE]
        self.symmetric.mix_hash(self._their_ephemeral)

    def _take_static(self, message: bytes) -> bytes:
        size = KEY_SIZE + TAG_SIZE
        if len(message) < size:
            raise RemoteProtocolError("handshake_too_short", f"{len(message)} bytes")
        self.their_static = self.symmetric.decrypt_and_hash(message[:size])
        return message[size:]
