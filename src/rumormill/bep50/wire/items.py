"""Mutable items of BEP 44: a value that only the owner of a key can replace, by a newer one.

The value is kept bencoded, in the bytes that were signed.

>>> item = sign(bytes(32), bytes.fromhex("3b6a27bcceb6a42d62a3a8d02a6f0d73"
...     "653215771de243a63ac048a18b59da29"), b"", 1, b"5:hello")
>>> genuine(item), genuine(item._replace(seq=2)), item.target.hex()[:8]
(True, False, '8c30c97e')
"""

from __future__ import annotations

from hashlib import sha1
from typing import NamedTuple

from rumormill.bep50.wire.addresses import ID_SIZE
from rumormill.bep50.wire.arguments import (
    PROTOCOL,
    SALT_TOO_BIG,
    VALUE_TOO_BIG,
    BadArgument,
    bytes_of,
    int_of,
)
from rumormill.bep50.wire.bencode import Dict, decode, encode
from rumormill.core import ed25519
from rumormill.core.errors import LocalProtocolError, RemoteProtocolError

KEY_SIZE = 32
"""Bytes of a public key, and of the seed of a secret one."""

LARGEST_VALUE = 1000
"""Bytes of a bencoded value that we take."""

LARGEST_PUBLISHED = 999
"""Bytes of a bencoded value that we publish: some refuse 1000."""

LONGEST_SALT = 64

LARGEST_SEQ = 2**63 - 1
"""The last sequence number that can be."""

LARGEST_PUBLISHED_SEQ = 2**53 - 1
"""The last one that we publish: numbers beyond it are not exact in JavaScript."""


class Item(NamedTuple):
    """One version of a mutable item; ``value`` is bencoded."""

    public_key: bytes
    salt: bytes
    seq: int
    value: bytes
    signature: bytes

    @property
    def target(self) -> bytes:
        """Where the item lies in the DHT, and what the topic of its overlay is called."""
        return target_of(self.public_key, self.salt)


def target_of(public_key: bytes, salt: bytes) -> bytes:
    """The 20 bytes by which the item of this key and salt is found."""
    return sha1(public_key + salt, usedforsecurity=False).digest()


def signed_bytes(salt: bytes, seq: int, value: bytes) -> bytes:
    """What the signature is over: the inside of a bencoded dict.

    >>> signed_bytes(b"foobar", 1, b"12:Hello World!")
    b'4:salt6:foobar3:seqi1e1:v12:Hello World!'
    """
    if salt:
        return b"4:salt%d:%b3:seqi%de1:v%b" % (len(salt), salt, seq, value)
    return b"3:seqi%de1:v%b" % (seq, value)


def sign(secret: bytes, public_key: bytes, salt: bytes, seq: int, value: bytes) -> Item:
    """The item, signed; ``secret`` is the seed, alone or with the public key behind it."""
    if len(secret) == KEY_SIZE:
        secret += public_key
    if len(secret) != 2 * KEY_SIZE or secret[KEY_SIZE:] != public_key:
        raise LocalProtocolError("the secret key is not the one of this public key")
    signature = ed25519.sign(secret, signed_bytes(salt, seq, value))
    return Item(public_key, salt, seq, value, signature)


def genuine(item: Item) -> bool:
    """Whether the owner of the key signed this item; may be called in any thread."""
    payload = signed_bytes(item.salt, item.seq, item.value)
    return ed25519.verify(item.public_key, item.signature, payload)


# ---- items in packets


def item_from_put(arguments: Dict) -> Item:
    """The item that a ``put`` brings, every length checked and nothing else.

    :class:`~rumormill.bep50.wire.arguments.BadArgument` has the code of the error to answer with.
    """
    salt = arguments.get(b"salt", b"")
    if type(salt) is not bytes:
        raise BadArgument(PROTOCOL, "salt must be a string")
    if len(salt) > LONGEST_SALT:
        raise BadArgument(SALT_TOO_BIG, f"salt has {len(salt)} bytes, {LONGEST_SALT} are allowed")
    return _item(arguments, salt)


def item_from_get(values: Dict, salt: bytes) -> Item | None:
    """The item in an answer to ``get``; None if there is no value in it.

    Lengths are checked. Whether it is the item that was asked for (``item.target``), and genuine,
    is left to the caller. Salts are not sent in answers: ``salt`` is that of the topic.
    """
    return _item(values, salt) if b"v" in values else None


def _item(values: Dict, salt: bytes) -> Item:
    if b"v" not in values:
        raise BadArgument(PROTOCOL, "v is missing")
    # What was read strictly has one form in bytes only: these are the bytes that came.
    value = encode(values[b"v"])
    if len(value) > LARGEST_VALUE:
        raise BadArgument(VALUE_TOO_BIG, f"v has {len(value)} bytes, {LARGEST_VALUE} are allowed")
    return Item(
        public_key=bytes_of(values, b"k", KEY_SIZE),
        salt=salt,
        seq=int_of(values, b"seq", 0, LARGEST_SEQ),
        value=value,
        signature=bytes_of(values, b"sig", ed25519.SIGNATURE_SIZE),
    )


# ---- BEP 46: a value that names a torrent


def torrent_value(info_hash: bytes) -> bytes:
    """The bencoded value that names this torrent.

    >>> torrent_value(b"h" * 20)
    b'd2:ih20:hhhhhhhhhhhhhhhhhhhhe'
    """
    if len(info_hash) != ID_SIZE:
        raise LocalProtocolError(f"an info hash has {ID_SIZE} bytes, not {len(info_hash)}")
    return encode({b"ih": info_hash})


def torrent_of(value: bytes) -> bytes | None:
    """The info hash of the torrent that a bencoded value names; None if it names none."""
    if not value.startswith(b"d"):
        return None
    try:
        fields = decode(value)
        return bytes_of(fields, b"ih", ID_SIZE) if isinstance(fields, dict) else None
    except RemoteProtocolError:
        return None
