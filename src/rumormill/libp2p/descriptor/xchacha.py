"""XChaCha20-Poly1305 at the price of ChaCha20-Poly1305, by keeping what nonces have in common.

A nonce of XChaCha20 has 24 bytes. The first 16 make, with the key, a subkey; the other 8 are the
nonce of ChaCha20-Poly1305 under it. A writer keeps the first 16, which it draws once at random, and
counts the last 8: so its nonces never repeat, within the process or across processes that share the
key, and the subkey is worked out once. A reader keeps the subkeys of the writers it hears.

What is made is XChaCha20-Poly1305 as libsodium has it, byte for byte: a test compares the two.
PyNaCl's own call costs more than both together, as it makes the subkey anew for each message.
"""

from __future__ import annotations

import random
import struct
from collections import OrderedDict
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20

from rumormill.core.errors import LocalProtocolError

KEY_SIZE: Final = 32
PREFIX_SIZE: Final = 16
NONCE_SIZE: Final = 24
TAG_SIZE: Final = 16

MOST_NONCES: Final = 1 << 64

_WORDS: Final = struct.Struct("<16L")
_EIGHT: Final = struct.Struct("<8L")
_CONSTANT: Final = struct.unpack("<4L", b"expand 32-byte k")
_ZEROS: Final = bytes(64)
_FOUR: Final = bytes(4)


def subkey(key: bytes, prefix: bytes) -> bytes:
    """HChaCha20: the key for all nonces that begin with these 16 bytes.

    It is ChaCha20's block without the final addition, which is taken back here: the words that
    were added are known, as they are no part of the key.

    >>> subkey(bytes(32), bytes(16)).hex()[:16]
    '1140704c328d1d5d'
    """
    block = _WORDS.unpack(Cipher(ChaCha20(key, prefix), None).encryptor().update(_ZEROS))
    given = struct.unpack("<4L", prefix)
    first = [(word - added) & 0xFFFFFFFF for word, added in zip(block, _CONSTANT, strict=False)]
    last = [(word - added) & 0xFFFFFFFF for word, added in zip(block[12:], given, strict=True)]
    return _EIGHT.pack(*first, *last)


class Writer:
    """Encrypts under one key; no nonce comes twice.

    >>> writer = Writer(bytes(32), random.Random(1))
    >>> sealed = writer.seal(b"rain", b"about")
    >>> Reader(bytes(32)).open(sealed, b"about"), Reader(bytes(32)).open(sealed, b"another")
    (b'rain', None)
    """

    __slots__ = ("_cipher", "_count", "_prefix")

    def __init__(self, key: bytes, entropy: random.Random) -> None:
        """``entropy`` is a :class:`random.SystemRandom` wherever it matters."""
        self._prefix = entropy.randbytes(PREFIX_SIZE)
        self._cipher = ChaCha20Poly1305(subkey(key, self._prefix))
        self._count = 0

    def seal(self, data: bytes, about: bytes, head: bytes = b"") -> bytes:
        """``head``, the nonce, and the data encrypted; ``about`` is bound to it and not sent."""
        count = self._count
        if count >= MOST_NONCES:
            raise LocalProtocolError("a key has been used for too many messages")
        self._count = count + 1
        counted = count.to_bytes(8, "little")
        sealed = self._cipher.encrypt(_FOUR + counted, data, about)
        return b"".join((head, self._prefix, counted, sealed))


class Reader:
    """Decrypts under one key; keeps the subkeys of ``most`` writers, the last heard."""

    __slots__ = ("_ciphers", "_key", "_most")

    def __init__(self, key: bytes, most: int = 64) -> None:
        self._key = key
        self._most = most
        self._ciphers: OrderedDict[bytes, ChaCha20Poly1305] = OrderedDict()

    def __len__(self) -> int:
        """How many writers are known."""
        return len(self._ciphers)

    def open(self, sealed: bytes, about: bytes, start: int = 0) -> bytes | None:
        """The data; None if it was not encrypted with this key and for this purpose.

        ``start`` is where the nonce begins in ``sealed``.
        """
        body = start + NONCE_SIZE
        if len(sealed) < body + TAG_SIZE:
            return None
        counted = start + PREFIX_SIZE
        prefix = sealed[start:counted]
        cipher = self._ciphers.get(prefix)
        known = cipher is not None
        if cipher is None:
            cipher = ChaCha20Poly1305(subkey(self._key, prefix))
        try:
            data = cipher.decrypt(_FOUR + sealed[counted:body], sealed[body:], about)
        except InvalidTag:
            return None  # nor is its prefix kept: strangers cannot push out who has the key
        if not known:
            self._ciphers[prefix] = cipher
            if len(self._ciphers) > self._most:
                self._ciphers.popitem(last=False)
        return data
